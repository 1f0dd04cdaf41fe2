# SPDX-License-Identifier: Apache-2.0

"""Commands that change many images: one makes a plan, another applies it."""

import abc
import argparse
from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import sys
import threading
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import sizes
from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import plan_file
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import whole_file


class Command(exit_status.StatusLister):
    """A command for many images; its exit status shows the worst outcome.

    :cvar what: what the command changes
    :cvar columns: the attributes of outcomes by the names of their columns
    :cvar needs_ceph: whether it connects to Ceph
    :ivar least: the lowest exit status, whatever the outcomes
    """

    what = 'images'
    needs_ceph = True
    least = 0
    columns: Mapping[str, str] = {
        'Pool': 'pool',
        'Image': 'image',
        'Project': 'project',
        'Detail': 'detail',
        'What to do': 'remedy',
    }

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        if self.needs_ceph:
            ceph_arguments.add(parser)
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Status', *self.columns, 'Seconds')

    def rows(
        self, results: Iterable[outcomes.Outcome], interrupted: bool = False
    ) -> exit_status.Rows:
        """Show a summary and return the rows."""
        ended = list(results)
        self.status = max(outcomes.severity(ended, interrupted), self.least)
        say(summary(ended, self.what))
        return ('Status', *self.columns, 'Seconds'), [
            (
                each.status.value,
                *(getattr(each, name) for name in self.columns.values()),
                each.seconds,
            )
            for each in ended
        ]

    def cloud(self) -> Any:
        """Return the cloud.

        :raises CommandError: if the user is no administrator
        """
        shell: Any = self.app
        return shell.administrator()

    def cluster(self, parsed_args: argparse.Namespace) -> Any:
        """Return the cluster; None if services make the changes."""
        if not self.needs_ceph:
            return None
        return scan.of_options(parsed_args)


class PlanCommand(Command):
    """A command that writes a plan, and changes nothing else.

    :cvar noun: what the command is a part of, such as ``clean``
    """

    noun = ''

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '-o',
            '--output',
            metavar='<file>',
            type=pathlib.Path,
            required=True,
            help='File for the plan, which must not exist',
        )
        return parser

    @abc.abstractmethod
    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        """Return the options of the plan, and each change or its refusal."""

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        path: pathlib.Path = parsed_args.output
        exists = f'{path} exists. Give the name of a new file.'
        if path.exists():
            raise ValueError(exists)
        whole_file.check(path)
        cloud = self.cloud()
        cluster = self.cluster(parsed_args)
        taken = plan_file.now().isoformat(timespec='seconds')
        options, changes = self.planned(parsed_args, cloud, cluster)
        examined = list(changes)
        header = plan_file.Header(
            self.noun, *_place(cloud, cluster), taken, options
        )
        items = [
            each for each in examined if each.status is outcomes.Status.PLANNED
        ]
        try:
            whole_file.write(path, plan_file.text(header, items), is_new=True)
        except FileExistsError as error:
            raise ValueError(exists) from error
        say(f'{path}: {len(items)} items{self.note(items)}')
        return self.rows(examined)

    def note(self, items: Sequence[outcomes.Outcome]) -> str:
        """Return what is said about the items, after their number."""
        return ''


class ApplyCommand(Command):
    """A command that makes the changes of a plan.

    :cvar noun: as that of the plan
    :cvar tolerated: health checks for which it does not pause
    :cvar stopping: the message for the first Ctrl-C
    """

    noun = ''
    tolerated: Container[str] = frozenset()
    stopping = 'Stopping after the current image.'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'plan',
            metavar='<file>',
            type=pathlib.Path,
            help=f'File that {self.noun} plan has written',
        )
        parser.add_argument(
            '--limit',
            metavar='<number>',
            type=count,
            help='Maximum number of items of this run, besides those that '
            'the journal has as done (default: all)',
        )
        parser.add_argument(
            '--journal',
            metavar='<file>',
            type=pathlib.Path,
            help='File where each change is recorded before and after it is '
            'made. The same command with the same file resumes a run that was '
            'interrupted (default: the name of the plan with .journal)',
        )
        parser.add_argument(
            '--per-minute',
            metavar='<number>',
            type=number_from(0, above=True),
            help=f'Maximum number of {self.what} that are begun in a minute '
            '(default: no limit)',
        )
        if self.needs_ceph:
            parser.add_argument(
                '--ignore-health',
                action='store_true',
                help='Do not pause while the cluster reports health checks '
                'such as PG_DEGRADED, SLOW_OPS or OSD_NEARFULL',
            )
        return parser

    @abc.abstractmethod
    def maker(
        self, parsed_args: argparse.Namespace, work: run.Run
    ) -> run.Make:
        """Return the function that makes the changes of a plan."""

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        plan, items = plan_file.parsed(
            whole_file.read(parsed_args.plan), self.noun
        )
        cloud = self.cloud()
        cluster = self.cluster(parsed_args)
        place = _place(cloud, cluster if self.needs_ceph else None)
        plan.check(*place)
        path = parsed_args.journal or parsed_args.plan.with_name(
            f'{parsed_args.plan.name}.journal'
        )
        stop = threading.Event()
        with journal.Journal(path, f'{self.noun} apply', place[0]) as written:
            if written.resumed:
                say(f'Resuming the run of {path}.')
            work = run.Run(
                *(plan, items, cloud, cluster, written),
                pace.Pace(
                    stop,
                    parsed_args.per_minute,
                    getattr(parsed_args, 'bytes_per_second', None),
                ),
                *(stop, say),
                not getattr(parsed_args, 'ignore_health', True),
                self.tolerated,
                getattr(parsed_args, 'at_once', 1),
            )
            make = self.maker(parsed_args, work)
            with (
                progress.shown(self.app.stderr) as show,
                run.stoppable(stop, say, self.stopping),
            ):
                chosen = work.chosen(parsed_args.limit)
                results = list(
                    work.made(
                        make,
                        chosen,
                        lambda done, total, percentages: show(
                            progress.running(percentages), done, total
                        ),
                    )
                )
        return self.rows(results, interrupted=stop.is_set())


def _place(cloud: Any, cluster: Any) -> tuple[str, str, str]:
    """Return the fsid of a cluster, and URL and region of a cloud."""
    return (
        cluster.fsid() if cluster else '',
        str(cloud.config.get_auth_args().get('auth_url', '')),
        str(cloud.config.get_region_name() or ''),
    )


def absolute(path: str | None) -> str:
    """Return the absolute path of a file; empty for none."""
    return str(pathlib.Path(path).absolute()) if path else ''


def add_bytes_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the rate of bytes."""
    parser.add_argument(
        '--bytes-per-second',
        metavar='<size>',
        type=_size,
        help='Maximum provisioned size of images and snapshots that are '
        'looked at in a second, such as 500G (default: no limit)',
    )


def say(text: str) -> None:
    """Show a message to the operator."""
    progress.say(sys.stderr, text)


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
