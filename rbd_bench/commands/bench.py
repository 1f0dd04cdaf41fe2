# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext bench``: measure a cluster."""

import argparse
import dataclasses
import pathlib
from typing import Any

from cliff import command
from cliff import lister

from rbd_bench.commands import bench_cloud
from rbd_bench.commands import bench_session
from rbd_bench.commands import libraries
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import printable

_LIMIT = '10G'


class BenchPlans(lister.Lister):
    """List the plans that are part of the package."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        headers = ('Plan', 'Title', 'Combinations', 'Data', 'Minutes')
        with libraries.of_bench():
            from rbd_bench import matrix
            from rbd_bench import shipped

            rows = []
            for name in shipped.names():
                whole_plan = shipped.load(name)
                cells = matrix.cells(whole_plan)
                seconds = sum(
                    matrix.seconds(x, whole_plan.settings) for x in cells
                )
                data = max(
                    matrix.data_bytes(x, whole_plan.settings) for x in cells
                )
                minutes = seconds * whole_plan.settings.repetitions / 60
                rows.append(
                    (
                        name,
                        whole_plan.title,
                        len(cells),
                        columns.Size(data),
                        round(minutes),
                    )
                )
        return headers, rows


class BenchRun(command.Command):
    """Run a plan and write a report.

    Only images, servers and volumes that the command has created are written
    and removed. An interrupted run continues where it ended, if it is started
    again with the same folder.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'plan',
            metavar='PLAN',
            help='Name of a plan (see bench plans), or path of a YAML file',
        )
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            required=True,
            help='Ceph pool in which images are created',
        )
        ceph_arguments.add(parser)
        parser.add_argument(
            '--output',
            metavar='<folder>',
            type=pathlib.Path,
            help='Folder for results and report (default: bench-PLAN)',
        )
        parser.add_argument(
            '--limit',
            metavar='<size>',
            default=_LIMIT,
            help='Data that the benchmark may store at one time, before '
            'replication (default: %(default)s)',
        )
        _add_settings(parser)
        parser.add_argument(
            '--select',
            metavar='<axis>=<value>',
            action='append',
            default=[],
            help='Measure only combinations with this value of an axis, such '
            'as run=caches or cache_mode=none; repeat the option for several '
            'values and axes',
        )
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show the combinations, but do not connect to Ceph',
        )
        bench_cloud.add(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with libraries.of_bench():
            from rbd_bench import matrix
            from rbd_bench import report
            from rbd_bench import shipped

            whole_plan = shipped.load(parsed_args.plan, parsed_args.short)
            whole_plan = dataclasses.replace(
                whole_plan,
                settings=_settings(parsed_args, whole_plan.settings),
            )
            chosen = matrix.parse_selection(whole_plan, parsed_args.select)
            cells = bench_cloud.left_out(
                parsed_args,
                matrix.select(matrix.cells(whole_plan), chosen),
                self._say,
            )
            if parsed_args.dry_run:
                for cell in cells:
                    self.app.stdout.write(f'{cell.ident}\n')
                return
            folder = parsed_args.output or pathlib.Path(
                f'bench-{whole_plan.name}'
            )
            measured, failure = bench_session.run(
                self.app, parsed_args, whole_plan, cells, folder
            )
            if measured.samples or not failure:
                for path in report.write(
                    folder, whole_plan, measured, self._say
                ):
                    self.app.stdout.write(f'{path}\n')
            if failure:
                raise failure

    def _say(self, line: str) -> None:
        self.app.stderr.write(f'{printable.text(line)}\n')


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--short',
        action='store_true',
        help="Use the plan's settings for a short run, which shows that "
        'everything works; its figures are not meaningful',
    )
    for name, what in (
        ('warm-up', 'Seconds of warm-up before each measurement'),
        ('runtime', 'Seconds of each measurement'),
        ('repetitions', 'Measurements of each combination'),
    ):
        parser.add_argument(
            f'--{name}', metavar='<number>', type=int, help=what
        )
    parser.add_argument(
        '--image-size', metavar='<size>', help='Size of the images'
    )


def _settings(parsed_args: argparse.Namespace, whole_plan: Any) -> Any:
    """Return the settings of a plan with those of the options."""
    from rbd_bench import plan

    names = ('warm_up', 'runtime', 'repetitions', 'image_size')
    changed = {
        name: value
        for name in names
        if (value := getattr(parsed_args, name)) is not None
    }
    return plan.read_settings(
        'options', {**dataclasses.asdict(whole_plan), **changed}
    )


class BenchReport(command.Command):
    """Write the report of results again."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'folder', metavar='FOLDER', type=pathlib.Path,
            help='Folder in which bench run has stored results',
        )  # fmt: skip
        parser.add_argument(
            '--plan',
            metavar='<file>',
            help='Path of the plan with other published ratios',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with libraries.of_bench():
            from rbd_bench import report
            from rbd_bench import results
            from rbd_bench import shipped

            measured = results.load(parsed_args.folder)
            whole_plan = shipped.of_results(measured, parsed_args.plan)
            for path in report.write(
                parsed_args.folder, whole_plan, measured, self._say
            ):
                self.app.stdout.write(f'{path}\n')

    def _say(self, line: str) -> None:
        self.app.stderr.write(f'{printable.text(line)}\n')


class BenchCompare(lister.Lister):
    """Compare two results of a plan, such as before and after a change.

    A ratio above 1 means that the second is faster.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for name, what in (('first', 'the baseline'), ('second', 'the other')):
            parser.add_argument(
                name,
                metavar=name.upper(),
                type=pathlib.Path,
                help=f'Folder with the results that are {what}',
            )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        headers = ('Combination', 'First', 'Second', 'Ratio', 'Result')
        with libraries.of_bench():
            from rbd_bench import compare
            from rbd_bench import results

            first = results.load(parsed_args.first)
            second = results.load(parsed_args.second)
            for name, (one, other) in compare.differences(
                first, second
            ).items():
                line = printable.text(f'{name}: {one} -> {other}')
                self.app.stderr.write(f'{line}\n')
            return headers, [
                (
                    printable.text(each.cell),
                    each.first and round(each.first.median, 3),
                    each.second and round(each.second.median, 3),
                    each.ratio and round(each.ratio, 3),
                    each.verdict,
                )
                for each in compare.compare(first, second)
            ]
