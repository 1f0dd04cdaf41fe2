# SPDX-License-Identifier: Apache-2.0

"""Compare layouts of several volumes that are used at the same time.

    python3 benchmarks/slow_disks.py --osds 6 --bytes 10M --operations 100 -- \
        python3 benchmarks/volumes_at_once.py --conf {conf} --volumes 16

``cinder-rbd-ext bench`` measures one image at a time. Several volumes already
spread their requests over the disks without striping: this shows how much
striping still helps. Needs fio, and the pool ``volumes``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess

_POOL = 'volumes'
_LAYOUTS = {
    'stock': (),
    '64 KiB x 8': ('--stripe-unit', '64K', '--stripe-count', '8'),
}
#: Pattern, block size, and requests in flight for each volume.
_WORKLOADS = (
    *(('read', '1M', 1), ('read', '64K', 16), ('write', '16K', 16)),
    *(('write', '1M', 4), ('randread', '16K', 16), ('randwrite', '16K', 16)),
)


class Volumes:
    """The images of a layout."""

    def __init__(
        self, args: argparse.Namespace, number: int, layout: tuple[str, ...]
    ) -> None:
        self._args = args
        self._names = [f'{number}-{each}' for each in range(args.volumes)]
        for name in self._names:
            self._rbd('create', '--size', args.size, *layout, name)
        self.fio('--rw=write', '--bs=4M', '--iodepth=4')
        for name in self._names:
            # Its cache would measure memory, not disks.
            self._rbd('config', 'image', 'set', name, 'rbd_cache', 'false')

    def _rbd(self, *words: str) -> None:
        access = ('--conf', self._args.conf, '--pool', _POOL)
        subprocess.run(['rbd', *access, *words], check=True)

    def fio(self, *words: str) -> float:
        """Return the operations of all volumes in a second."""
        command = ['fio', '--output-format=json', '--group_reporting']
        command += ['--ioengine=rbd', f'--pool={_POOL}', '--clientname=admin']
        command += [f'--size={self._args.size}', '--thread', *words]
        for name in self._names:
            command += [f'--name={name}', f'--rbdname={name}']
        done = subprocess.run(
            command,
            env={'CEPH_CONF': self._args.conf, 'PATH': '/usr/bin:/bin'},
            capture_output=True,
            text=True,
            check=True,
        )
        (job,) = json.loads(done.stdout)['jobs']
        return float(job['read']['iops'] + job['write']['iops'])


def main() -> None:
    """Show the operations in a second, and ratios to the first layout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True, help='path of ceph.conf')
    parser.add_argument('--volumes', type=int, default=16)
    parser.add_argument('--size', default='256M', help='of each volume')
    parser.add_argument('--seconds', type=int, default=20)
    parser.add_argument('--repetitions', type=int, default=3)
    args = parser.parse_args()
    layouts = {
        name: Volumes(args, number, layout)
        for number, (name, layout) in enumerate(_LAYOUTS.items())
    }
    timed = ('--time_based', '--ramp_time=5', f'--runtime={args.seconds}')
    for pattern, size, depth in _WORKLOADS:
        workload = (f'--rw={pattern}', f'--bs={size}', f'--iodepth={depth}')
        results: dict[str, list[float]] = {name: [] for name in layouts}
        for _, (name, volumes) in itertools.product(
            range(args.repetitions), layouts.items()
        ):
            results[name].append(volumes.fio(*workload, *timed))
        medians = {n: statistics.median(each) for n, each in results.items()}
        first = next(iter(medians.values()))
        for name, median in medians.items():
            low, high = min(results[name]), max(results[name])
            print(
                f'{pattern:9} {size:>3} {depth:>2} in flight  {name:10} '
                f'{median:6.0f}/s ({low:.0f} to {high:.0f})  '
                f'{median / first:.2f}',
                flush=True,
            )


if __name__ == '__main__':
    main()
