# SPDX-License-Identifier: Apache-2.0

"""Measure limits of a volume in a server, and how soon a change is in force.

    OS_CLOUD=admin python3 benchmarks/guest_limits.py

fio in the server sends requests with different limits and numbers of requests
in flight. Then limits are set and removed in the metadata of the volume while
fio writes. A limit is in force when QEMU completes at most 1.5 times the
limit, over half a second, and gone when it completes more than twice the
limit: the benchmark reads the counters of librbd in the QEMU process. The time
is that since the request to Cinder. It runs in a sandbox, and removes what it
has created.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time
from typing import Any
import uuid

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / 'tools')]

import openstack  # noqa: E402
import rados  # noqa: E402
import rbd  # noqa: E402

from rbd_volume_tools.bench import images  # noqa: E402
from rbd_volume_tools.bench import plan  # noqa: E402
from rbd_volume_tools.bench.guest import api  # noqa: E402
from rbd_volume_tools.bench.guest import cloud  # noqa: E402
from rbd_volume_tools.bench.guest import job  # noqa: E402
from tests.cloud import librbd_sockets  # noqa: E402

_POOL = 'volumes'
#: The part of the volume that fio reads and writes.
_SIZE = 64 * 2**20
_DEPTHS = (1, 32)
_KIB = 2**10
#: Key, limit, pattern and size of the requests.
_CASES = (
    ('iops_limit', 100, 'randread', 4 * _KIB),
    ('iops_limit', 100, 'randwrite', 4 * _KIB),
    ('read_iops_limit', 150, 'randread', 4 * _KIB),
    ('write_iops_limit', 50, 'randwrite', 4 * _KIB),
    ('bps_limit', 2**21, 'randwrite', 64 * _KIB),
    ('read_bps_limit', 2**21, 'randread', 64 * _KIB),
)
_KEY = 'write_iops_limit'
_CHANGED = 20
_WINDOW = 0.5
_PERIOD = 0.02
_LATE = 60.0


class Guest:
    """A server of the sandbox with one volume, in which fio sends requests.

    :param image: the Glance image of the server
    :param volume_type: that of the volume
    """

    def __init__(
        self, connection: Any, image: str, volume_type: str, ioctx: Any
    ) -> None:
        self._storage = connection.block_storage
        self._name = f'{images.PREFIX}{uuid.uuid4().hex[:8]}'
        wanted = cloud.Wanted(
            image, 'small', volume_type=volume_type, user_data=False
        )
        self._cloud = cloud.Cloud(connection, wanted, 'bench')
        self._ioctx = ioctx
        self._number = 0
        self._server = self.volume = ''

    def boot(self) -> None:
        """Boot the server, and attach a volume."""
        self._cloud.check()
        self._server = str(self._cloud.boot(self._name, b'')['id'])
        api.wait(
            lambda: job.is_ready(self._cloud.console(self._server)),
            'the guest is not ready',
        )
        self.volume = self._cloud.create_volume(self._name, 1, {})
        self._cloud.attach(self._server, self.volume)

    def remove(self) -> None:
        """Remove the server and the volume."""
        self._cloud.remove(self._name)

    def set_keys(self, **values: str) -> None:
        """Replace the ``rbd:`` keys of the volume."""
        keys = {f'rbd:{name}': value for name, value in values.items()}
        body = {'metadata': {cloud.POOL: 'bench', **keys}}
        path = f'/volumes/{self.volume}/metadata'
        api.request(self._storage, 'PUT', path, body)

    def start(self, work: plan.Workload, runtime: int) -> int:
        """Begin to send requests; return the number of the job."""
        self._number += 1
        settings = plan.Settings(2, runtime, 1, _SIZE)
        with rbd.Image(self._ioctx, f'volume-{self.volume}') as image:
            image.write(job.encode(self._number, work, settings), 0)
        return self._number

    def answer(self, number: int) -> job.Answer:
        """Wait for the results of a job."""
        answer: job.Answer = api.wait(
            lambda: job.answer(self._cloud.console(self._server), number),
            'the guest has written no results',
        )
        return answer

    def measure(self, work: plan.Workload, runtime: int) -> job.Answer:
        """Send requests; return the results."""
        number = self.start(work, runtime)
        time.sleep(runtime)
        return self.answer(number)


@contextlib.contextmanager
def running(path: str | None) -> Iterator[Guest]:
    """Yield a guest; remove it and what it needs afterwards.

    :param path: the file of the boot image, if it exists
    """
    if not path:
        command = [str(_ROOT / 'tools/sandbox'), 'guest-image', '--with-fio']
        path = subprocess.check_output(
            command, stdin=subprocess.DEVNULL, text=True
        ).strip()
    connection: Any = openstack.connect()
    names = ','.join(sorted({f'rbd:{case[0]}' for case in _CASES}))
    with contextlib.ExitStack() as stack:
        client = rados.Rados(
            conffile=os.environ['CEPH_CONF'], rados_id='admin'
        )
        ioctx = stack.enter_context(
            stack.enter_context(client).open_ioctx(_POOL)
        )
        image = connection.image.create_image(
            name='bench-fio',
            disk_format='raw',
            container_format='bare',
            data=stack.enter_context(pathlib.Path(path).open('rb')),
            allow_duplicates=True,
        )
        stack.callback(connection.image.delete_image, image.id)
        kind = connection.block_storage.create_type(
            name=f'bench-{uuid.uuid4().hex[:8]}',
            extra_specs={
                'volume_backend_name': 'rbd',
                'rbd:tenant_options': names,
            },
        )
        stack.callback(connection.block_storage.delete_type, kind.id)
        guest = Guest(connection, image.id, kind.name, ioctx)
        stack.callback(guest.remove)
        guest.boot()
        yield guest


class Counter(threading.Thread):
    """Records how many writes QEMU has completed, with times."""

    def __init__(self, disk: librbd_sockets.Disk) -> None:
        super().__init__(daemon=True)
        self._disk = disk
        self.ended = threading.Event()
        self.samples: list[tuple[float, int]] = []

    def run(self) -> None:
        """Record until the end."""
        while not self.ended.wait(_PERIOD):
            writes = self._disk.counters['wr']
            self.samples.append((time.monotonic(), writes))

    def first(self, since: float, matches: Callable[[float], bool]) -> float:
        """Wait until the rate in a window matches.

        :returns: the seconds from a time to the beginning of the window
        """
        while time.monotonic() < since + _LATE:
            samples = [each for each in self.samples if each[0] >= since]
            for place, (begin, writes) in enumerate(samples):
                for end, later in samples[place:]:
                    if end - begin >= _WINDOW:
                        if matches((later - writes) / (end - begin)):
                            return begin - since
                        break
            time.sleep(_PERIOD)
        raise RuntimeError('the change was not in force')


def measure_rates(guest: Guest, runtime: int) -> dict[str, float]:
    """Print the rates with each limit; return the differences."""
    differences = {}
    for depth in _DEPTHS:
        for pattern in ('randread', 'randwrite'):
            work = plan.Workload(pattern, pattern, 4 * _KIB, depth)
            rate = guest.measure(work, 5).figures.rate
            print(f'no limit, {pattern}, depth {depth}: {rate:.0f}')
    for key, limit, pattern, size in _CASES:
        guest.set_keys(**{key: str(limit)})
        for depth in _DEPTHS:
            work = plan.Workload(pattern, pattern, size, depth)
            report = json.loads(guest.measure(work, runtime).report)
            (done,) = report['jobs']
            # The average of short intervals: that of the run includes the time
            # at its end in which fio only waits for the requests in flight.
            rate = sum(done[side]['iops_mean'] for side in ('read', 'write'))
            value = rate * size if 'bps' in key else rate
            name = f'{key} {limit}, {pattern}, depth {depth}'
            differences[name] = value / limit - 1
            print(f'{name}: {value:.1f} ({differences[name]:+.1%})')
            sys.stdout.flush()
    guest.set_keys()
    return differences


def measure_changes(guest: Guest, changes: int) -> dict[str, list[float]]:
    """Return the seconds until limits are in force, and until they are gone.

    Those of the requests to Cinder are measured, too.
    """
    work = plan.Workload('writes', 'randwrite', 4 * _KIB, 32)
    number = guest.start(work, changes * 16 + 20)
    counter = Counter(librbd_sockets.disk(f'{_POOL}/volume-{guest.volume}'))
    counter.start()
    # fio takes a while to start.
    counter.first(time.monotonic(), _is_free)
    seconds: dict[str, list[float]] = {
        'request': [],
        'in force': [],
        'gone': [],
    }
    for _ in range(changes):
        for name, values, matches in (
            ('in force', {_KEY: str(_CHANGED)}, _is_limited),
            ('gone', {}, _is_free),
        ):
            began = time.monotonic()
            guest.set_keys(**values)
            seconds['request'].append(time.monotonic() - began)
            seconds[name].append(counter.first(began, matches))
            time.sleep(2)
    counter.ended.set()
    counter.join()
    guest.answer(number)
    return seconds


def _is_limited(rate: float) -> bool:
    return rate <= 1.5 * _CHANGED


def _is_free(rate: float) -> bool:
    return rate > 2 * _CHANGED


def main() -> int:
    """Run the benchmark; print the figures."""
    # SIGTERM removes the server and the volumes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--runtime', type=int, default=20, help='seconds')
    parser.add_argument('--changes', type=int, default=5)
    parser.add_argument(
        '--image',
        help='file of the boot image (default: from tools/sandbox '
        'guest-image; that needs the network, which a sandbox with a name '
        'does not have)',
    )
    parser.add_argument('--json', help='file for the results')
    args = parser.parse_args()
    with running(args.image) as guest:
        fill = plan.Workload('fill', 'write', 2**20, 4)
        guest.measure(fill, 10)
        differences = measure_rates(guest, args.runtime)
        seconds = measure_changes(guest, args.changes)
    for name, values in seconds.items():
        print(
            f'{name}: {min(values):.2f} to {max(values):.2f} s, '
            f'median {statistics.median(values):.2f} s'
        )
    if args.json:
        results = {'differences': differences, 'seconds': seconds}
        pathlib.Path(args.json).write_text(json.dumps(results))
    return 0


if __name__ == '__main__':
    sys.exit(main())
