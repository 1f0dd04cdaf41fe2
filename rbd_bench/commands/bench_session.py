# SPDX-License-Identifier: Apache-2.0

"""The connection to Ceph and the end of a run of ``bench run``."""

import argparse
from collections.abc import Callable
from collections.abc import Sequence
import pathlib
from typing import Any

from osc_lib import exceptions

from rbd_bench.commands import bench_cloud
from rbd_volume_options import sizes
from rbd_volume_tools.command_line import ceph_connection
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import running

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
#: Shows the cursor, which the progress bar hides.
_SHOW_CURSOR = '\x1b[?25h'


class Cleaning(running.Cleaning):
    """Messages about the removal of the images of a run.

    :ivar measured: the session, when there is one
    """

    def __init__(self, stream: Any, say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say
        self.measured: Any = None

    def begun(self) -> None:
        """Say that the removal has begun."""
        self._say(
            'Removing what the run has created. Press Ctrl-C again to end '
            'without that.'
        )

    def abandoned(self) -> None:
        """Say what remains, because the process ends now."""
        for line in self.measured.not_removed if self.measured else ():
            self._say(line)
        if self._stream.isatty():
            self._stream.write(_SHOW_CURSOR)
        self._stream.flush()


def run(
    app: Any,
    parsed_args: argparse.Namespace,
    whole_plan: Any,
    cells: Sequence[Any],
    folder: pathlib.Path,
) -> tuple[Any, exceptions.CommandError | None]:
    """Measure; return the results, and why the run ended early.

    :param whole_plan: the plan
    :raises CommandError: if nothing can be measured
    """
    import rados
    import rbd

    from rbd_bench import facts

    def say(line: str) -> None:
        app.stderr.write(f'{printable.text(line)}\n')

    cleaning = Cleaning(app.stderr, say)
    failure = None
    try:
        with running.ended_by_signals(cleaning):
            _measure(
                app, parsed_args, whole_plan, cells, folder, cleaning, say
            )
    except KeyboardInterrupt:
        failure = exceptions.CommandError(
            f'Interrupted. To continue, use the same command with --output '
            f'{folder}'
        )
    except (rados.Error, rbd.Error, facts.Unavailable) as error:
        text = f'{parsed_args.ceph_conf}: {error}'
        if cleaning.measured is None and isinstance(error, rados.Error):
            # The command could not connect.
            advice = ceph_connection.advice(
                rados, error, parsed_args.ceph_conf, parsed_args.ceph_user
            )
            text = f'{text}. {advice}'
        failure = exceptions.CommandError(printable.text(text))
    if failure and cleaning.measured is None:
        raise failure
    return cleaning.measured.results, failure


def _measure(
    app: Any,
    parsed_args: argparse.Namespace,
    whole_plan: Any,
    cells: Sequence[Any],
    folder: pathlib.Path,
    cleaning: Cleaning,
    say: Callable[[str], None],
) -> None:
    import rados
    import rbd

    from rbd_bench import facts
    from rbd_bench import results
    from rbd_bench import session
    from rbd_bench.paths import surroundings

    limit = sizes.parse_size('--limit', parsed_args.limit)
    client = {
        'conffile': parsed_args.ceph_conf,
        'rados_id': parsed_args.ceph_user,
    }
    with (
        rados.Rados(**client, conf=OPTIONS) as cluster,
        results.locked(folder),
        progress.with_time_left(app.stderr) as show,
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
            limit,
            options,
        )
        place = bench_cloud.cloud(parsed_args, app.cloud, cluster.get_fsid())
        measured = session.Session(target, whole_plan, folder, say, place)
        cleaning.measured = measured
        watched = 0.3 if parsed_args.short else session.WATCHED
        measured.run(cells, show, watched)
