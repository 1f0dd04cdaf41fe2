# SPDX-License-Identifier: Apache-2.0

"""The exit status of commands, in one table.

======  ====================================================
Status  Meaning
======  ====================================================
0       Nothing to do, or all was done
1       Something was refused or needs attention
2       Something failed, or could not be read
3       The command itself failed, was interrupted, or its
        command line is wrong
======  ====================================================
"""

import abc
import argparse
import traceback
from typing import Any

from cliff import command

from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import printable

ATTENTION = 1
FAILED = 2
COMMAND = 3

#: The names of columns, and the rows of a table.
Rows = tuple[tuple[str, ...], list[tuple[Any, ...]]]


class StatusCommand(command.Command):
    """A command whose exit status shows its worst result.

    :ivar status: the exit status of a check that was completed
    """

    status = 0

    def check_output(self, parsed_args: argparse.Namespace) -> None:
        """Check the options of the output.

        :raises ValueError: if the result could not be shown
        """

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; return the exit status."""
        try:
            self.check_output(parsed_args)
            super().run(parsed_args)
        except KeyboardInterrupt:
            self.app.stderr.write('Cancelled.\n')
            return COMMAND
        except BrokenPipeError:
            # The reader of the output has ended, as in "| head". cliff ends
            # the program with the status of SIGPIPE.
            raise
        except Exception as error:
            if self.app.options.debug:
                # cliff would end it with the status of warnings.
                traceback.print_exc(file=self.app.stderr)
            self.app.stderr.write(f'{printable.text(str(error))}\n')
            return COMMAND
        return self.status


class StatusLister(StatusCommand, columns.SafeCells):
    """A command that shows a list."""

    @abc.abstractmethod
    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the names of the columns."""

    def check_output(self, parsed_args: argparse.Namespace) -> None:
        """Check that the columns of ``-c`` exist.

        cliff does it after the command, whose result would then be lost.

        :raises ValueError: if none of them exists
        """
        names = self.headers(parsed_args)
        try:
            self._generate_columns_and_selector(parsed_args, names)
        except ValueError as error:
            raise ValueError(str(error)) from error
