# SPDX-License-Identifier: Apache-2.0

"""Common code of commands that change many images."""

import argparse
from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import pathlib
import sys
import threading

from rbd_volume_options import errors
from rbd_volume_options import sizes
from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress

Planned = run.Change | outcomes.Outcome


class Command(exit_status.StatusLister):
    """A command for many images; its exit status shows the worst outcome.

    :cvar what: what the command changes
    :cvar tolerated: health checks for which it does not pause
    :cvar columns: the attributes of outcomes by the names of their columns
    """

    what = 'images'
    tolerated: Container[str] = frozenset()
    columns: Mapping[str, str] = {
        'Pool': 'pool',
        'Image': 'image',
        'Project': 'project',
        'Detail': 'detail',
        'What to do': 'remedy',
    }

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        ceph_arguments.add(parser)
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return self._headers

    @property
    def _headers(self) -> tuple[str, ...]:
        return ('Status', *self.columns, 'Seconds')

    def rows(
        self, results: Iterable[outcomes.Outcome], interrupted: bool = False
    ) -> exit_status.Rows:
        """Show a summary and return the rows."""
        ended = list(results)
        self.status = outcomes.severity(ended, interrupted)
        say(summary(ended, self.what))
        return self._headers, [
            (
                each.status.value,
                *(
                    printable.text(getattr(each, name))
                    for name in self.columns.values()
                ),
                each.seconds,
            )
            for each in ended
        ]

    def changed(
        self,
        parsed_args: argparse.Namespace,
        name: str,
        cluster: scan.Cluster,
        planned: Iterable[Planned],
        planned_at: datetime.datetime | None = None,
    ) -> exit_status.Rows:
        """Make the changes and return the rows.

        :param name: name of the command, for the journal
        :param planned_at: see :class:`run.Runner`
        """
        results: list[outcomes.Outcome] = []
        stop = threading.Event()
        with (
            journal.Journal(
                parsed_args.journal, name, cluster.fsid()
            ) as written,
            progress.shown(self.app.stderr) as show,
            run.stoppable(stop, say),
        ):
            if written.resumed:
                say(f'Resuming the run of {parsed_args.journal}.')
            changes: list[run.Change] = []
            for each in planned:
                if isinstance(each, outcomes.Outcome):
                    results.append(_marked(written, each))
                elif (
                    each.outcome.status is outcomes.Status.UNCHANGED
                    and each.outcome.ident not in written.interrupted
                ):
                    results.append(_marked(written, each.outcome))
                else:
                    changes.append(each)
            runner = run.Runner(
                cluster,
                written,
                pace.Pace(
                    stop,
                    parsed_args.images_per_minute,
                    parsed_args.bytes_per_second,
                ),
                stop,
                say,
                not parsed_args.ignore_health,
                planned_at,
                self.tolerated,
            )
            results += runner.run(changes, show)
        return self.rows(results, interrupted=stop.is_set())


def add_change_options(
    parser: argparse.ArgumentParser, needs_journal: bool = False
) -> None:
    """Add the options of commands that change images."""
    parser.add_argument(
        '--journal',
        metavar='<file>',
        type=pathlib.Path,
        required=needs_journal,
        help='File where each change is recorded before and after it is '
        'made. The same command with the same file resumes a run that was '
        'interrupted. Required to change images',
    )
    parser.add_argument(
        '--images-per-minute',
        metavar='<number>',
        type=number_from(0, above=True),
        help='Maximum number of images that are begun in a minute (default: '
        'no limit)',
    )
    parser.add_argument(
        '--ignore-health',
        action='store_true',
        help='Do not pause while the cluster reports health checks such as '
        'PG_DEGRADED, SLOW_OPS or OSD_NEARFULL',
    )


def add_bytes_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the rate of bytes."""
    parser.add_argument(
        '--bytes-per-second',
        metavar='<size>',
        type=_size,
        help='Maximum provisioned size of images and snapshots that are '
        'looked at in a second, such as 500G (default: no limit)',
    )


def require_volumes(
    stored: databases.Databases, config_file: str, known: records.Records
) -> None:
    """Check that a database is that of the cloud.

    :param config_file: cinder.conf with the connection to the database
    :raises ValueError: if it does not have a volume of the cloud
    """
    for ident in sorted(known.volumes)[:1]:
        if not any(not row.is_deleted for row in stored.volumes(ident)):
            raise ValueError(
                f'The database of {config_file} does not have volume {ident} '
                'of this cloud. Give the cinder.conf of this cloud.'
            )


def dry(planned: Iterable[Planned]) -> Iterator[outcomes.Outcome]:
    """Yield the planned changes."""
    for each in planned:
        yield each if isinstance(each, outcomes.Outcome) else each.outcome


def say(text: str) -> None:
    """Show a message above the progress bar, which replaces standard error."""
    print(printable.text(text), file=sys.stderr, flush=True)


def _marked(
    written: journal.Journal, about: outcomes.Outcome
) -> outcomes.Outcome:
    """Set the status of an image that needed no change in this run only."""
    unchanged = about.status is outcomes.Status.UNCHANGED
    if unchanged and written.done(about.pool, about.image, about.ident):
        return dataclasses.replace(about, status=outcomes.Status.EARLIER)
    return about


def summary(results: Iterable[outcomes.Outcome], what: str) -> str:
    """Return the number of images, or volumes, with each status."""
    numbers: dict[str, int] = {}
    for each in results:
        numbers[each.status.value] = numbers.get(each.status.value, 0) + 1
    parts = [f'{number} {status}' for status, number in numbers.items()]
    return f'{sum(numbers.values())} {what}: {", ".join(parts) or "none"}'


def number_from(
    least: float,
    above: bool = False,
    most: float = sys.float_info.max,
    kind: type[int] | type[float] = float,
) -> Callable[[str], float]:
    """Return a function that parses a number.

    :param above: whether the minimum itself is not allowed
    :param most: the maximum
    :param kind: int for a whole number
    """

    def number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            word = 'whole number' if kind is int else 'number'
            message = f'{text} is not a {word}'
            raise argparse.ArgumentTypeError(message) from None
        if not least <= value < float('inf') or (above and value == least):
            word = 'above' if above else 'at least'
            raise argparse.ArgumentTypeError(f'{text} is not {word} {least}')
        if value > most:
            raise argparse.ArgumentTypeError(f'{text} is not at most {most}')
        return value

    return number


#: Parses a number of things.
count = number_from(1, kind=int)


def _size(text: str) -> int:
    try:
        size = sizes.parse_size('--bytes-per-second', text)
    except errors.OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not size:
        raise argparse.ArgumentTypeError('0 is not above 0')
    return size
