# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext bench control-plane``: compare two volume types."""

import argparse
from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any
import uuid

from cliff import columns
from cliff import lister
from osc_lib import exceptions

from rbd_bench.commands import libraries
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import running

_FOLDER = 'bench-control-plane'
#: Options that override settings of the plan.
_NUMBERS = {
    'size': 'Size of each volume in GiB',
    'rounds': 'Number of rounds, in which the volume types take turns',
    'times': 'Minimum number of iterations of each workload',
    'server-times': 'The same, for scenarios that boot servers',
}
_LEVELS = {
    'at-once': 'Numbers of iterations that run at the same time',
    'servers-at-once': 'The same, for scenarios that boot servers',
}


class _Task(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """A task of rally."""

    def human_readable(self) -> str:
        return json.dumps(self._value, indent=1, ensure_ascii=False)


class BenchControlPlane(lister.Lister):
    """Compare two volume types through the APIs, with rally.

    Rally creates, clones, attaches and deletes volumes of both types in turns.
    A ratio above 1 means that the second type is faster. The program rally and
    its plug-in rally-openstack are required, in any environment.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--types',
            metavar=('<first>', '<second>'),
            nargs=2,
            required=True,
            help='Volume types, such as one of the stock driver and one with '
            'RBD volume options',
        )
        parser.add_argument(
            '--output',
            metavar='<folder>',
            type=pathlib.Path,
            default=pathlib.Path(_FOLDER),
            help='Folder for results and report (default: %(default)s)',
        )
        parser.add_argument(
            '--rally',
            metavar='<program>',
            default='rally',
            help='Name or path of the program rally (default: %(default)s)',
        )
        parser.add_argument(
            '--plan',
            metavar='<file>',
            type=pathlib.Path,
            help='Path of a plan (default: the plan of the package)',
        )
        _add_settings(parser)
        _add_servers(parser)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show the tasks of rally, but do not connect to the cloud',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        with libraries.of_bench():
            from rbd_bench.control_plane import ratios
            from rbd_bench.control_plane import report
            from rbd_bench.control_plane import tasks

            whole_plan = _plan(parsed_args)
            choices = _choices(parsed_args)
            for each in whole_plan.scenarios:
                if each not in tasks.scenarios(whole_plan, choices):
                    self._say(
                        f'{each.name}: not run; it needs --image and --flavor'
                    )
            if parsed_args.dry_run:
                return ('At once', 'Task'), [
                    (level, _Task(tasks.task(whole_plan, choices, level)))
                    for level in tasks.levels(whole_plan, choices)
                ]
            samples = self._measure(parsed_args, whole_plan, choices)
            for name in report.NAMES:
                self._say(str(parsed_args.output / name))
            for error in sorted({each.error for each in samples} - {''}):
                self._say(error)
            rows = ratios.rows(whole_plan, choices, samples)
            return report.HEADERS, [report.cells(each) for each in rows]

    def _measure(
        self, parsed_args: argparse.Namespace, whole_plan: Any, choices: Any
    ) -> list[Any]:
        """Run the tasks, write the report, and return the results.

        :raises CommandError: if rally fails, or for an interrupt. The results
            of the levels that have ended remain.
        """
        from rbd_bench import processes
        from rbd_bench import results
        from rbd_bench.control_plane import cloud
        from rbd_bench.control_plane import rally
        from rbd_bench.control_plane import report

        shell: Any = self.app
        prefix = f'{cloud.PREFIX}{uuid.uuid4().hex[:8]}'
        folder = parsed_args.output
        measured: list[Any] = []
        try:
            with (
                results.locked(folder),
                tempfile.TemporaryDirectory(prefix=cloud.PREFIX) as scratch,
            ):
                program = rally.Rally(
                    parsed_args.rally, pathlib.Path(scratch), prefix
                )
                facts = program.versions()
                connection = shell.cloud()
                user = _checked_user(connection, whole_plan, choices)
                with (
                    running.ended_by_signals(),
                    self._left(connection, prefix),
                ):
                    program.prepare(user)
                    facts['project'] = user.project
                    for samples in self._run(
                        program, whole_plan, choices, folder
                    ):
                        measured += samples
                        report.write(
                            folder, whole_plan, choices, facts, measured
                        )
        except KeyboardInterrupt:
            raise exceptions.CommandError(
                f'Interrupted. rally has ended.{_kept(folder, measured)}'
            ) from None
        except processes.EngineError as error:
            lines = map(printable.text, str(error).splitlines())
            raise exceptions.CommandError(
                '\n'.join(lines) + _kept(folder, measured)
            ) from None
        return measured

    def _run(
        self, program: Any, whole_plan: Any, choices: Any, folder: pathlib.Path
    ) -> Iterator[list[Any]]:
        """Run a task for each level, and yield its results."""
        from rbd_bench.control_plane import ratios
        from rbd_bench.control_plane import tasks

        levels = tasks.levels(whole_plan, choices)
        numbers = {
            level: len(list(tasks.workloads(whole_plan, choices, level)))
            for level in levels
        }
        total = sum(numbers.values())
        ended = 0
        began = time.monotonic()
        with progress.with_time_left(self.app.stderr) as bar:

            def show(number: int) -> None:
                done = ended + number
                took = time.monotonic() - began
                left = took / done * (total - done) if done else 0.0
                bar(done, total, left)

            for level in levels:
                task = tasks.text(tasks.task(whole_plan, choices, level))
                poll = whole_plan.settings.poll(level)
                log = folder / f'rally-{level}.log'
                reported = program.run(task, poll, log, show)
                ended += numbers[level]
                yield list(ratios.samples(reported))

    @contextlib.contextmanager
    def _left(self, connection: Any, prefix: str) -> Iterator[None]:
        """Name what remains when rally has ended, however it ended."""
        from rbd_bench.control_plane import cloud

        try:
            yield
        finally:
            for each in cloud.remaining(connection, prefix):
                self._say(f'Not removed by rally: {each}')

    def _say(self, line: str) -> None:
        self.app.stderr.write(f'{printable.text(line)}\n')


def _checked_user(connection: Any, whole_plan: Any, choices: Any) -> Any:
    """Return the user of the cloud, whose project has types and quota."""
    from rbd_bench.control_plane import cloud
    from rbd_bench.control_plane import tasks

    user = cloud.user(connection)
    cloud.check_types(connection.block_storage, choices.types)
    cloud.check_quota(
        connection.block_storage,
        tasks.volumes(whole_plan, choices),
        whole_plan.settings.size,
    )
    return user


def _kept(folder: pathlib.Path, samples: list[Any]) -> str:
    """Return where the results of the levels that have ended are."""
    from rbd_bench.control_plane import report

    if not samples:
        return ''
    return (
        '\nThe results of the levels that have ended are in '
        f'{printable.text(str(folder / report.REPORT))}.'
    )


def _add_settings(parser: argparse.ArgumentParser) -> None:
    for name, what in _LEVELS.items():
        parser.add_argument(
            f'--{name}', metavar='<number>', type=int, nargs='+', help=what
        )
    for name, what in _NUMBERS.items():
        parser.add_argument(
            f'--{name}', metavar='<number>', type=int, help=what
        )


def _add_servers(parser: argparse.ArgumentParser) -> None:
    for name, what in (
        ('image', 'Name of the Glance image of servers'),
        ('flavor', 'Name of the flavor of servers'),
    ):
        parser.add_argument(
            f'--{name}',
            metavar='<name>',
            help=f'{what}. Without it, no servers are booted, and scenarios '
            'that need them are not run.',
        )
    parser.add_argument(
        '--network',
        metavar='<id>',
        help='ID of the network of servers (default: the choice of Nova)',
    )


def _plan(parsed_args: argparse.Namespace) -> Any:
    """Return the plan, with the settings of the options."""
    from rbd_bench.control_plane import plan

    whole_plan = plan.load(parsed_args.plan)
    settings = dataclasses.asdict(whole_plan.settings)
    for option in (*_LEVELS, *_NUMBERS):
        name = option.replace('-', '_')
        value = getattr(parsed_args, name)
        if value is not None:
            settings[name] = value
    for name in ('at_once', 'servers_at_once'):
        settings[name] = list(settings[name])
    return dataclasses.replace(
        whole_plan, settings=plan.read_settings('options', settings)
    )


def _choices(parsed_args: argparse.Namespace) -> Any:
    from rbd_bench.control_plane import tasks

    first, second = parsed_args.types
    return tasks.Choices(
        (first, second),
        parsed_args.image,
        parsed_args.flavor,
        parsed_args.network,
    )
