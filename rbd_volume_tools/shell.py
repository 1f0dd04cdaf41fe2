# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext``: commands for operators."""

import argparse
from collections.abc import Sequence
import contextlib
from importlib import metadata
import os
from typing import Any

from cliff import app
from cliff import commandmanager
from cliff import help
from keystoneauth1 import exceptions as keystone
import openstack
from osc_lib import exceptions

from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.fleet import volume_service

DISTRIBUTION = 'rbd-volume-options'
#: The group of the entry points of the commands.
COMMANDS = 'cinder_rbd_ext.commands'
#: Variables one of which selects a cloud.
_CLOUD = frozenset({'OS_CLOUD', 'OS_AUTH_URL', 'OS_ENDPOINT'})
#: Seconds for a request to an API, unless clouds.yaml has ``api_timeout``.
_API_SECONDS = 60.0


class Shell(app.App):
    """The application; OS_CLOUD or OS_* variables select the cloud."""

    def __init__(self) -> None:
        self._connection: Any = None
        super().__init__(
            description='Commands for operators of RBD volume options',
            version=metadata.version(DISTRIBUTION),
            command_manager=commandmanager.CommandManager(COMMANDS),
            deferred_help=True,
        )

    def configure_logging(self) -> None:
        """Begin to log; a file that cannot be written is a usage error.

        cliff would end the program with the status of warnings.
        """
        try:
            super().configure_logging()
        except OSError as error:
            self.parser.error(f'argument --log-file: {error}')

    def initialize_app(self, argv: list[str]) -> None:
        """Prepare the arguments of a command in place.

        cliff passes on the options that precede ``--help``, which the command
        ``help`` does not have.
        """
        if argv[:1] == ['help']:
            argv[:] = [word for word in argv if not word.startswith('-')]

    def interact(self) -> None:
        """Show the help; there is no interactive mode.

        :raises SystemExit: with the status of a usage error
        """
        with contextlib.suppress(help.HelpExit):
            self.options.deferred_help = True
            self.print_help_if_requested()
        raise SystemExit(exit_status.COMMAND)

    def run_subcommand(self, argv: list[str]) -> int:
        """Run a command; an unknown one is a usage error."""
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            super().run_subcommand(argv)
            return exit_status.COMMAND
        status: int = super().run_subcommand(argv)
        return status

    def build_option_parser(
        self, *args: Any, **kwargs: Any
    ) -> argparse.ArgumentParser:
        """Add the options of the cloud to each command."""
        parser: argparse.ArgumentParser = super().build_option_parser(
            *args, **kwargs
        )
        parser.add_argument(
            '--os-cloud',
            metavar='<name>',
            help='Cloud in clouds.yaml. Default: OS_CLOUD or OS_* variables.',
        )
        return parser

    def block_storage(self) -> Any:
        """Return Cinder's API with the user from the options."""
        return self.cloud().block_storage

    def administrator(self) -> Any:
        """Return the cloud for an administrator, whom the records need.

        Other users see a part of them, and the rest would be orphans.

        :raises CommandError: if the user is none
        """
        cloud = self.cloud()
        service = volume_service.VolumeService(cloud.block_storage)
        if not service.is_administrators():
            raise exceptions.CommandError(
                'The user is not an administrator of the cloud: Cinder '
                'refuses the list of back ends, or the volumes of other '
                'projects. Use the cloud or the OS_* variables of an '
                'administrator.'
            )
        return cloud

    def cloud(self) -> Any:
        """Return a connection to the cloud with the user from the options.

        :raises CommandError: if no cloud is selected, or it refuses the user
        """
        if self._connection is None:
            try:
                connection = openstack.connect(cloud=self.options.os_cloud)
                # keystoneauth would wait without a limit.
                if connection.session.timeout is None:
                    connection.session.timeout = _API_SECONDS
                connection.authorize()
            except (
                keystone.ClientException,
                openstack.exceptions.SDKException,
            ) as error:
                raise exceptions.CommandError(self._advice(error)) from error
            self._connection = connection
        return self._connection

    def _advice(self, error: Exception) -> str:
        if self.options.os_cloud or _CLOUD & os.environ.keys():
            text = str(error).rstrip('.')
            return (
                f'Could not sign in to the cloud: {text}. Check clouds.yaml '
                'or the OS_* variables.'
            )
        return (
            'No cloud is selected. Set --os-cloud or OS_CLOUD to a name in '
            'clouds.yaml, or OS_AUTH_URL and the other OS_* variables of an '
            'administrator.'
        )


def main(argv: Sequence[str]) -> int:
    """Run the command line; return its exit status."""
    try:
        status: int = Shell().run(list(argv))
    except SystemExit as ended:
        # argparse has ended the process.
        return exit_status.COMMAND if ended.code else 0
    return status
