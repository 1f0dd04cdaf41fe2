# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext bench``: measure a cluster.

Libraries of the extra ``bench`` are imported only when a command runs.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import functools
import pathlib
from typing import Any

from cliff import command
from cliff import lister
from osc_lib import exceptions

from rbd_volume_options import errors
from rbd_volume_options import sizes
from rbd_volume_tools.bench.guest import server_arguments
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import ceph_connection
from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import running

#: The extra of the distribution that installs the libraries.
_EXTRA = 'rbd-volume-options[bench]'
#: Options of the connection that creates and removes images. The measured
#: programs have connections of their own.
OPTIONS = {
    # By default, calls wait until a lost cluster returns.
    'client_mount_timeout': '60',
    'rados_mon_op_timeout': '60',
    'rados_osd_op_timeout': '60',
    # The removal of an image would only move it to the trash.
    'rbd_move_to_trash_on_remove': 'false',
}
_SETTINGS = {
    'warm_up': 'Seconds of warm-up before each measurement',
    'runtime': 'Seconds of each measurement',
    'repetitions': 'Measurements of each combination',
}


@contextlib.contextmanager
def libraries() -> Iterator[None]:
    """Name the extra that a missing library belongs to.

    :raises CommandError: if one is missing, or for an invalid value
    """
    try:
        yield
    except ImportError as error:
        raise exceptions.CommandError(
            f'{error}. Install {_EXTRA}, and python3-rados and python3-rbd '
            'of the distribution.'
        ) from error
    except errors.OptionError as error:
        raise exceptions.CommandError(printable.text(str(error))) from error


class BenchPlans(lister.Lister):
    """List the plans that are part of the package."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        headers = ('Plan', 'Title', 'Combinations', 'Data', 'Minutes')
        with libraries():
            from rbd_volume_tools.bench import matrix
            from rbd_volume_tools.bench import plan

            rows = []
            for name in plan.names():
                shipped = plan.load(name)
                cells = matrix.cells(shipped)
                settings = shipped.settings
                seconds = sum(matrix.seconds(x, settings) for x in cells)
                data = max(matrix.data_bytes(x, settings) for x in cells)
                minutes = round(seconds * settings.repetitions / 60)
                rows.append(
                    (
                        *(name, shipped.title, len(cells)),
                        *(columns.Size(data), minutes),
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
            default='10G',
            help='Data that the benchmark may store at one time, before '
            'replication (default: %(default)s)',
        )
        parser.add_argument(
            '--short',
            action='store_true',
            help="Use the plan's settings for a short run, which shows that "
            'everything works; its figures are not meaningful',
        )
        for name, what in _SETTINGS.items():
            option = f'--{name.replace("_", "-")}'
            parser.add_argument(
                option, metavar='<number>', type=int, help=what
            )
        parser.add_argument(
            '--image-size', metavar='<size>', help='Size of the images'
        )
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
        group = parser.add_argument_group(
            'runs in a guest',
            'Runs of the path guest need a cloud, for which the command uses '
            'the OS_* variables or clouds.yaml. It creates a server and '
            'volumes, and removes them at the end. Without --server-image '
            'these runs are left out.',
        )
        server_arguments.add(group)
        group.add_argument(
            '--volume-type',
            metavar='<type>',
            help='Volume type of the volumes, which must be in the pool '
            "(default: Cinder's default volume type)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with libraries():
            from rbd_volume_tools.bench import matrix
            from rbd_volume_tools.bench import plan
            from rbd_volume_tools.bench import report

            settings = {
                name: value
                for name in (*_SETTINGS, 'image_size')
                if (value := getattr(parsed_args, name)) is not None
            }
            chosen = plan.load(parsed_args.plan, parsed_args.short, settings)
            selection = matrix.parse_selection(chosen, parsed_args.select)
            cells = measurable(
                parsed_args,
                matrix.select(matrix.cells(chosen), selection),
                self._say,
            )
            if parsed_args.dry_run:
                for cell in cells:
                    self.app.stdout.write(f'{cell.ident}\n')
                return
            folder = parsed_args.output or pathlib.Path(f'bench-{chosen.name}')
            measured, failure = self._run(parsed_args, chosen, cells, folder)
            if measured.samples or not failure:
                for path in report.write(folder, measured):
                    self.app.stdout.write(f'{path}\n')
            if failure:
                raise failure

    def _say(self, line: str) -> None:
        self.app.stderr.write(f'{printable.text(line)}\n')

    def _run(
        self,
        parsed_args: argparse.Namespace,
        chosen: Any,
        cells: Sequence[Any],
        folder: pathlib.Path,
    ) -> tuple[Any, exceptions.CommandError | None]:
        """Measure; return the results, and why the run ended early.

        :raises CommandError: if nothing can be measured
        """
        import rados
        import rbd

        from rbd_volume_tools.bench import facts

        cleaning = Cleaning(self.app.stderr, self._say)
        failure = None
        try:
            with running.ended_by_signals(cleaning):
                self._measure(parsed_args, chosen, cells, folder, cleaning)
        except KeyboardInterrupt:
            failure = exceptions.CommandError(
                'Interrupted. To continue, use the same command with '
                f'--output {folder}'
            )
        except (rados.Error, rbd.Error, facts.Unavailable) as error:
            text = f'{parsed_args.ceph_conf}: {error}'
            if cleaning.session is None and isinstance(error, rados.Error):
                # The command could not connect.
                advice = ceph_connection.advice(
                    rados, error, parsed_args.ceph_conf, parsed_args.ceph_user
                )
                text = f'{text}. {advice}'
            failure = exceptions.CommandError(printable.text(text))
        if failure and cleaning.session is None:
            raise failure
        return cleaning.session.results, failure

    def _measure(
        self,
        parsed_args: argparse.Namespace,
        chosen: Any,
        cells: Sequence[Any],
        folder: pathlib.Path,
        cleaning: 'Cleaning',
    ) -> None:
        import rados
        import rbd

        from rbd_volume_tools.bench import facts
        from rbd_volume_tools.bench import results
        from rbd_volume_tools.bench import session
        from rbd_volume_tools.bench.guest import cloud
        from rbd_volume_tools.bench.paths import surroundings

        client = {
            'conffile': parsed_args.ceph_conf,
            'rados_id': parsed_args.ceph_user,
        }
        with (
            rados.Rados(**client, conf=OPTIONS) as cluster,
            results.locked(folder),
            progress.shown(self.app.stderr) as show,
        ):
            # The options of the measured programs; the monitors store some.
            with rados.Rados(**client) as plain:
                options = facts.options(plain)
            target = surroundings.Target(
                cluster,
                rbd,
                pathlib.Path(parsed_args.ceph_conf),
                parsed_args.ceph_user,
                parsed_args.pool,
                sizes.parse_size('--limit', parsed_args.limit),
                options,
            )
            place = None
            if parsed_args.server_image:
                shell: Any = self.app
                place = cloud.Cloud(
                    shell.cloud(),
                    server_arguments.wanted(parsed_args),
                    f'{cluster.get_fsid()}/{parsed_args.pool}',
                )
            cleaning.session = session.Session(
                target, chosen, folder, self._say, place
            )
            watched = 0.3 if parsed_args.short else session.WATCHED
            cleaning.session.run(
                cells, functools.partial(show, 'measured'), watched
            )


class Cleaning(running.Cleaning):
    """Messages about the removal of the images of a run.

    :ivar session: the session, when there is one
    """

    def __init__(self, stream: Any, say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say
        self.session: Any = None

    def begun(self) -> None:
        """Say that the removal has begun."""
        self._say(
            'Removing what the run has created. Press Ctrl-C again to end '
            'without that.'
        )

    def abandoned(self) -> None:
        """Say what remains, because the process ends now."""
        for line in self.session.not_removed if self.session else ():
            self._say(line)
        self._stream.flush()


def measurable(
    parsed_args: argparse.Namespace,
    cells: list[Any],
    say: Callable[[str], None],
) -> list[Any]:
    """Return the combinations that can be measured with the options.

    :raises OptionError: if there is none, or if an option is missing
    """
    from rbd_volume_tools.bench import plan

    others = [cell for cell in cells if cell.run.path != plan.GUEST]
    if parsed_args.server_image or not others:
        server_arguments.wanted(parsed_args)
        return cells
    names = {x.run.name for x in cells} - {x.run.name for x in others}
    for name in sorted(names):
        say(f'Run {name} is left out, because --server-image is not set.')
    return others


class BenchReport(command.Command):
    """Write the report of results again."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'folder',
            metavar='FOLDER',
            type=pathlib.Path,
            help='Folder in which bench run has stored results',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with libraries():
            from rbd_volume_tools.bench import report
            from rbd_volume_tools.bench import results

            folder = parsed_args.folder
            for path in report.write(folder, results.load(folder)):
                self.app.stdout.write(f'{path}\n')


class BenchCompare(lister.Lister):
    """Compare two results of a plan, such as before and after a change.

    A ratio above 1 means that the second is faster. If the measurements
    overlap, their spread can explain the difference. Facts that differ are
    shown too, such as the number of OSDs.
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
        headers = ('Combination', 'First', 'Second', 'Ratio', 'Overlap')
        with libraries():
            from rbd_volume_tools.bench import compare
            from rbd_volume_tools.bench import results

            first = results.load(parsed_args.first)
            second = results.load(parsed_args.second)
            for name, (one, other) in compare.differences(
                first, second
            ).items():
                line = printable.text(f'{name}: {one} -> {other}')
                self.app.stderr.write(f'{line}\n')
            return headers, [
                columns.row(*row) for row in compare.rows(first, second)
            ]
