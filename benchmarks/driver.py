# SPDX-License-Identifier: Apache-2.0

"""Calls of our driver against the same calls of the stock one.

    python3 benchmarks/driver.py --conf /etc/ceph/ceph.conf \
        --user admin --pool volumes [--runs 20] [--workers 1 16 64] \
        [--database mysql+pymysql://...] [--csv FOLDER]

Both drivers in one run, in turns, on one cluster and one database (SQLite in
a temporary file unless you name one; its tables are created): only the ratios
and the counts mean anything on another machine. With ``--workers 16``, 16
calls of an operation run at once, and the time is that of all divided by 16.
A ratio is the median of stock to that of ours: more than 1 is faster.

The counts are of one call of each operation, see ``counts.py``: contexts,
connections, opens, statements, commands, and operations of OSDs and monitors
from the performance counters of librados. ``--csv`` also writes the tables to
files, which the page about performance shows.
"""

# As cinder-volume does, before anything else is imported.
try:
    from cinder import monkey_patch

    monkey_patch.patch()
except ImportError:
    # Before Cinder 29.
    import eventlet

    eventlet.monkey_patch()

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import concurrent.futures
import contextlib
import csv
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any

from cinder import objects
from cinder import utils
from cinder.db import api as db
from cinder.db import migration
from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
from cinder.volume.drivers import rbd as stock_rbd
import counts
from oslo_config import cfg
import rados
import rbd
import records

from cinder_rbd_ext import driver as our_driver
from cinder_rbd_ext import opts

CONF = cfg.CONF
DRIVERS = {'stock': stock_rbd.RBDDriver, 'ours': our_driver.RBDExtDriver}
_CONNECTOR = {'host': 'bench', 'ip': '192.0.2.1', 'initiator': 'iqn.bench'}
#: What an operation is measured by: its name and the call.
Step = tuple[str, Callable[[], Any]]
#: The operations, and the counts that the tables have.
_TITLES = {
    'create': 'Create',
    'snapshot': 'Create a snapshot',
    'volume from snapshot': 'Volume from a snapshot',
    'clone': 'Clone a volume',
    'extend': 'Extend',
    'initialize_connection': '``initialize_connection``',
    'retype in place': 'Retype in place, same features',
    'statistics': 'Statistics',
    'delete a clone': 'Delete a clone',
    'delete': 'Delete',
}
_COUNTED = {
    'contexts': 'Connections',
    'opens': 'Opens',
    'statements': 'Statements',
    'osd': 'OSDs',
    'monitor': 'Monitors',
}


class Backend:
    """A driver, and the volumes that are made through it.

    :param name: of the back end: the driver's, and more after a hyphen
    """

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.records = records.Records(name)
        settings = configuration.Configuration(
            cinder_driver.volume_opts, config_group=name
        )
        settings.append_config_values(stock_rbd.RBD_OPTS)
        settings.append_config_values(opts.backend_opts())
        values = {
            'volume_backend_name': name,
            'rbd_pool': args.pool,
            'rbd_user': args.user,
            'rbd_ceph_conf': args.conf,
        }
        for option, value in values.items():
            CONF.set_override(option, value, name)
        self.driver = DRIVERS[name.partition('-')[0]](
            configuration=settings, db=db, execute=utils.execute
        )
        self.driver.do_setup(self.records.context)
        self.driver.check_for_setup_error()
        self.driver.set_initialized()

    def steps(self) -> Iterator[Step]:
        """Yield the operations of a volume's life, in their order."""
        driver = self.driver
        volume = self.records.volume()
        yield 'create', lambda: driver.create_volume(volume)
        volume.status = 'available'
        volume.save()
        snapshot = self.records.snapshot(volume)
        yield 'snapshot', lambda: driver.create_snapshot(snapshot)
        clone = self.records.volume(snapshot_id=snapshot.id)
        yield (
            'volume from snapshot',
            lambda: driver.create_volume_from_snapshot(clone, snapshot),
        )
        copy = self.records.volume(source_volid=volume.id)
        yield 'clone', lambda: driver.create_cloned_volume(copy, volume)
        yield 'extend', lambda: driver.extend_volume(volume, 2)
        yield (
            'initialize_connection',
            lambda: driver.initialize_connection(volume, _CONNECTOR),
        )
        context = self.records.context
        other = objects.VolumeType.get_by_id(context, self.records.type_id)
        # A retype waits for the requests that Cinder has accepted before.
        for each in (snapshot, clone, copy):
            each.status = 'available'
            each.save()
        volume.status = 'retyping'
        volume.save()
        yield (
            'retype in place',
            lambda: driver.retype(context, volume, other, {}, {}),
        )
        volume.status = 'available'
        volume.save()
        yield 'statistics', lambda: driver.get_volume_stats(refresh=True)
        yield 'delete a clone', lambda: driver.delete_volume(clone)
        driver.delete_volume(copy)
        driver.delete_snapshot(snapshot)
        driver.delete_volume(volume)
        # One that never had a clone: Cinder's driver may only rename the
        # image of a volume that had one.
        plain = self.records.volume()
        driver.create_volume(plain)
        yield 'delete', lambda: driver.delete_volume(plain)


def measure(backend: Backend, workers: int = 1) -> list[tuple[str, float]]:
    """Return the milliseconds of each operation.

    Several workers do the same operation at the same time. The result is the
    time until all are done, divided by their number: the time of one call
    would be misleading, because calls that block the process delay others
    before their time is measured.
    """
    times = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        lives = [backend.steps() for _ in range(workers)]
        for steps in zip(*lives, strict=True):
            began = time.perf_counter()
            list(pool.map(lambda step: step[1](), steps))
            spent = time.perf_counter() - began
            times.append((steps[0][0], 1000 * spent / workers))
    return times


def count(backend: Backend) -> dict[str, dict[str, int]]:
    """Return the counts of each operation."""
    by_step = {}
    # The first volume fills the caches.
    for _ in range(2):
        for name, call in backend.steps():
            with counts.counting(backend.driver) as counted:
                call()
            by_step[name] = counted.as_dict()
    return by_step


def counted(
    args: argparse.Namespace, ioctx: rados.Ioctx
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the counts of both drivers, on connections of their own."""
    with counts.observing():
        backends = {n: Backend(f'{n}-counted', args) for n in DRIVERS}
        with removing_renamed(backends, ioctx):
            return {name: count(each) for name, each in backends.items()}


def timed(
    backends: Mapping[str, Backend], workers: int, runs: int
) -> dict[str, float]:
    """Return the ratio of each operation with a number of workers."""
    times: dict[str, dict[str, list[float]]] = {}
    for turn in range(runs):
        names = list(backends)
        # What runs later finds the cluster busy, so they take turns.
        for name in names if turn % 2 else names[::-1]:
            for step, spent in measure(backends[name], workers):
                times.setdefault(step, {}).setdefault(name, []).append(spent)
    return {step: _ratio(row) for step, row in times.items()}


def attached(
    backends: Mapping[str, Backend], runs: int, volumes: int = 10
) -> str:
    """Return the milliseconds of first attachments of several volumes.

    This is what an operator sees when servers boot: each volume is attached
    for the first time, one after the other. Each run has new volumes.
    """
    times: dict[str, list[float]] = {}
    for turn in range(runs):
        names = list(backends)
        for name in names if turn % 2 else names[::-1]:
            backend = backends[name]
            rows = [backend.records.volume() for _ in range(volumes)]
            for row in rows:
                backend.driver.create_volume(row)
            began = time.perf_counter()
            for row in rows:
                backend.driver.initialize_connection(row, _CONNECTOR)
            spent = time.perf_counter() - began
            times.setdefault(name, []).append(1000 * spent / volumes)
            for row in rows:
                backend.driver.delete_volume(row)
    stock, ours = (statistics.median(times[name]) for name in DRIVERS)
    return f'stock {stock:.1f}, ours {ours:.1f}, ratio {_ratio(times):.1f}'


def _ratio(row: Mapping[str, list[float]]) -> float:
    """Return the ratio of the medians."""
    stock, ours = (statistics.median(row[name]) for name in DRIVERS)
    return stock / ours


def tables(
    times: Mapping[int, Mapping[str, float]],
    counts_of: Mapping[str, Mapping[str, Mapping[str, int]]],
) -> dict[str, list[list[str]]]:
    """Return the ratios and the counts as the page shows them.

    :param times: the ratio of each operation, by number of workers
    :param counts_of: the counts of each operation, by driver
    """
    at_once = ['One call' if x == 1 else f'{x} at once' for x in times]
    calls = [['Operation', *at_once]]
    requests = [["Operation, Cinder's driver / ours", *_COUNTED.values()]]
    for step, title in _TITLES.items():
        # Cinder's driver does not retype in place.
        if step != 'retype in place':
            calls.append([title, *(f'{x[step]:.3g}' for x in times.values())])
        if step != 'delete a clone':
            stock, ours = (counts_of[x][step] for x in DRIVERS)
            both = [f'{stock[x]} / {ours[x]}' for x in _COUNTED]
            requests.append([title, *both])
    return {'calls': calls, 'requests': requests}


@contextlib.contextmanager
def database(url: str | None) -> Iterator[None]:
    """Use a database; a temporary one without a URL."""
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        url = url or f'sqlite:///{folder}/cinder.sqlite'
        CONF([], project='cinder', default_config_files=[])
        CONF.set_override('connection', url, 'database')
        # Otherwise the disk of this machine is measured.
        CONF.set_override('sqlite_synchronous', False, 'database')
        CONF.set_override('lock_path', folder, 'oslo_concurrency')
        objects.register_all()
        migration.db_sync()
        yield


@contextlib.contextmanager
def pool(args: argparse.Namespace) -> Iterator[rados.Ioctx]:
    """Yield a context of the pool."""
    with (
        rados.Rados(conffile=args.conf, rados_id=args.user) as connection,
        connection.open_ioctx(args.pool) as ioctx,
    ):
        yield ioctx


@contextlib.contextmanager
def removing_renamed(
    backends: Mapping[str, Backend], ioctx: rados.Ioctx
) -> Iterator[None]:
    """Remove the images that a driver only renamed.

    With Ceph 18, the stock driver keeps the image of a volume that had clones.
    """
    try:
        yield
    finally:
        for backend in backends.values():
            for ident in backend.records.idents:
                with contextlib.suppress(rbd.ImageNotFound):
                    _remove(ioctx, f'volume-{ident}.deleted')


def _remove(ioctx: rados.Ioctx, name: str) -> None:
    with rbd.Image(ioctx, name) as image:
        for snapshot in list(image.list_snaps()):
            if snapshot['namespace'] == rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH:
                image.remove_snap_by_id(snapshot['id'])
                continue
            if image.is_protected_snap(snapshot['name']):
                image.unprotect_snap(snapshot['name'])
            image.remove_snap(snapshot['name'])
    rbd.RBD().remove(ioctx, name)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--pool', default='volumes')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--workers', type=int, nargs='+', default=[1, 16, 64])
    parser.add_argument('--database', help='URL for SQLAlchemy')
    parser.add_argument('--csv', type=pathlib.Path, help='for the tables')
    args = parser.parse_args()
    with database(args.database), pool(args) as ioctx:
        backends = {name: Backend(name, args) for name in DRIVERS}
        with removing_renamed(backends, ioctx):
            for each in backends.values():
                measure(each)
            counts_of = counted(args, ioctx)
            first = attached(backends, min(args.runs, 5))
            times = {n: timed(backends, n, args.runs) for n in args.workers}
    print(f'first attachments, ms: {first}')
    for name, table in tables(times, counts_of).items():
        csv.writer(sys.stdout, lineterminator='\n').writerows([[], *table])
        if args.csv:
            path = args.csv / f'driver-{name}.csv'
            with path.open('w', newline='') as file:
                csv.writer(file, lineterminator='\n').writerows(table)


if __name__ == '__main__':
    sys.exit(main())
