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
import contextlib
import json
import pathlib
import signal
import statistics
import sys
import threading
import time

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / 'tools')]

import openstack  # noqa: E402
import sandbox_guest  # noqa: E402

from rbd_volume_tools.bench import plan  # noqa: E402
from tests.cloud import librbd_sockets  # noqa: E402

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


def measure_rates(
    guest: sandbox_guest.Guest, volume: str, runtime: int
) -> dict[str, float]:
    """Print the rates with each limit; return the differences."""
    differences = {}
    for depth in _DEPTHS:
        for pattern in ('randread', 'randwrite'):
            work = plan.Workload(pattern, pattern, 4 * _KIB, depth)
            rate = guest.measure(volume, work, 5).figures.rate
            print(f'no limit, {pattern}, depth {depth}: {rate:.0f}')
    for key, limit, pattern, size in _CASES:
        guest.set_metadata(volume, **{key: str(limit)})
        for depth in _DEPTHS:
            work = plan.Workload(pattern, pattern, size, depth)
            report = json.loads(guest.measure(volume, work, runtime).report)
            (done,) = report['jobs']
            # The average of short intervals: that of the run includes the time
            # at its end in which fio only waits for the requests in flight.
            rate = sum(done[side]['iops_mean'] for side in ('read', 'write'))
            value = rate * size if 'bps' in key else rate
            name = f'{key} {limit}, {pattern}, depth {depth}'
            differences[name] = value / limit - 1
            print(f'{name}: {value:.1f} ({differences[name]:+.1%})')
            sys.stdout.flush()
    guest.set_metadata(volume)
    return differences


def measure_changes(
    guest: sandbox_guest.Guest, volume: str, changes: int
) -> dict[str, list[float]]:
    """Return the seconds until limits are in force, and until they are gone.

    Those of the requests to Cinder are measured, too.
    """
    work = plan.Workload('writes', 'randwrite', 4 * _KIB, 32)
    number = guest.start(volume, work, changes * 16 + 20)
    counter = Counter(librbd_sockets.disk(f'volumes/volume-{volume}'))
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
            guest.set_metadata(volume, **values)
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
    sandbox_guest.add_arguments(parser)
    args = parser.parse_args()
    connection = openstack.connect()
    names = ','.join(sorted({f'rbd:{case[0]}' for case in _CASES}))
    with contextlib.ExitStack() as stack:
        kind = stack.enter_context(
            sandbox_guest.volume_type(connection, rbd_tenant_options=names)
        )
        guest = stack.enter_context(sandbox_guest.running(args.image))
        volume = guest.attached(kind)
        fill = plan.Workload('fill', 'write', sandbox_guest.MIB, 4)
        guest.measure(volume, fill, 10)
        differences = measure_rates(guest, volume, args.runtime)
        seconds = measure_changes(guest, volume, args.changes)
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
