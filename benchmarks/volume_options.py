#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What layout, object map and cache mode change, against stock's defaults.

    python3 benchmarks/volume_options.py --conf /etc/ceph/ceph.conf \
        --pool volumes --user admin [--runs 3] [--scale 1] [--plots FOLDER]

Everything is compared within one run, in turns, with an image as the stock
driver makes it: only the ratios mean anything on another machine. The best
of several runs counts, since what else the machine does can only make them
slower. A small ``--scale`` shows that all of it works, and measures nothing:
it is the part of each amount (bytes, requests) that is done.

layouts
    ``rbd bench`` with librbd's cache off, as a guest's disk has it whose
    cache mode is none: small and large requests, sequential and random.
object map
    Deletion of an empty image of 1 TiB.
cache modes
    ``qemu-img bench``: the same block driver that a guest's disk uses, with
    a flush after each 16 writes, as a file system's journal would ask for.
"""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import pathlib
import re
import subprocess
import time
import uuid

import bar_chart

#: Features that librbd gives an image where nobody lowered them.
_FEATURES = 'layering,exclusive-lock,object-map,fast-diff,deep-flatten'


@dataclasses.dataclass(frozen=True)
class Workload:
    """Requests of one kind."""

    name: str
    io_type: str
    pattern: str
    size: str
    in_flight: int
    mebibytes: int


#: The first is what the stock driver makes.
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    '4 MiB objects (stock)': (),
    '64 KiB x 8': ('--stripe-unit', '64K', '--stripe-count', '8'),
    '16 KiB x 16': ('--stripe-unit', '16K', '--stripe-count', '16'),
    '1 MiB objects': ('--object-size', '1M'),
    '32 MiB objects': ('--object-size', '32M'),
}
WORKLOADS = (
    Workload('write 16K sequential', 'write', 'seq', '16K', 16, 256),
    Workload('read 16K sequential', 'read', 'seq', '16K', 32, 256),
    Workload('write 4K random', 'write', 'rand', '4K', 16, 32),
    Workload('write 1M sequential', 'write', 'seq', '1M', 8, 1024),
)
#: The first is what the stock driver and Nova make of an RBD volume.
CACHE_MODES = ('none', 'writethrough', 'writeback', 'directsync', 'unsafe')
#: How many requests, and of what kind.
CACHE_WORKLOADS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    'write 4K, 16 in flight': (
        4000,
        ('-w', '-s', '4096', '-d', '16', '--flush-interval', '16'),
    ),
    'write 4K, one by one': (
        800,
        ('-w', '-s', '4096', '-d', '1', '--flush-interval', '16'),
    ),
    'read 4K, the same 8 MiB twice': (
        4096,
        ('-s', '4096', '-d', '1', '-S', '4096'),
    ),
}
#: What one run found: workload, then variant, then operations a second.
Found = dict[str, dict[str, float]]


class Cluster:
    """The pool that is measured, through Ceph's own commands."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._rbd = ['rbd', '--conf', args.conf, '--id', args.user]
        self._pool = args.pool
        self._qemu = f'conf={args.conf}:id={args.user}'
        self._scale = args.scale

    def scaled(self, amount: int) -> int:
        """Return the part of an amount that is to be done, one at least."""
        return max(1, round(amount * self._scale))

    def rbd(self, *arguments: str) -> str:
        """Run ``rbd``; return what it says."""
        done = subprocess.run(
            [*self._rbd, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return done.stdout

    def create(self, size: str, *options: str) -> str:
        """Create an image; return its name."""
        name = f'{self._pool}/bench-{uuid.uuid4()}'
        if '--image-feature' not in options:
            options = ('--image-feature', _FEATURES, *options)
        self.rbd('create', '--size', size, *options, name)
        return name

    def remove(self, name: str) -> None:
        """Remove an image."""
        self.rbd('rm', '--no-progress', name)

    def bench(self, name: str, work: Workload) -> float:
        """Return the operations a second of a workload on an image."""
        said = self.rbd(
            *('--rbd-cache=false', 'bench', '--io-type', work.io_type),
            *('--io-pattern', work.pattern, '--io-size', work.size),
            *('--io-threads', str(work.in_flight)),
            *('--io-total', f'{self.scaled(work.mebibytes)}M', name),
        )
        found = re.search(r'ops/sec: ([\d.e+]+)', said)
        if not found:
            raise SystemExit(f'rbd bench said nothing of use: {said}')
        return float(found[1])

    def qemu_bench(
        self, name: str, mode: str, count: int, options: tuple[str, ...]
    ) -> float:
        """Return the operations a second of QEMU's block driver."""
        count = self.scaled(count)
        done = subprocess.run(
            [
                *('qemu-img', 'bench', '-f', 'raw', '-t', mode, *options),
                *('-c', str(count), f'rbd:{name}:{self._qemu}'),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = re.search(r'completed in ([\d.]+) seconds', done.stdout)
        if not found:
            raise SystemExit(f'qemu-img said nothing of use: {done.stdout}')
        return count / float(found[1])


def _keep_best(found: Found, work: str, variant: str, value: float) -> None:
    row = found.setdefault(work, {})
    row[variant] = max(value, row.get(variant, 0))


def layouts(cluster: Cluster, runs: int) -> Found:
    """Measure each workload on each layout."""
    found: Found = {}
    for _ in range(runs):
        for variant, options in LAYOUTS.items():
            name = cluster.create('2G', *options)
            try:
                # What is read has to be there; the write that comes first
                # in the table covers it.
                for work in WORKLOADS:
                    value = cluster.bench(name, work)
                    _keep_best(found, work.name, variant, value)
            finally:
                cluster.remove(name)
    return found


def deletion(cluster: Cluster, runs: int) -> Found:
    """Measure deletions a second of an empty image of 1 TiB."""
    found: Found = {}
    for _ in range(runs):
        for variant, features in (
            ('without object map', 'layering'),
            ('with object map', _FEATURES),
        ):
            size = f'{cluster.scaled(1024)}G'
            name = cluster.create(size, '--image-feature', features)
            began = time.monotonic()
            cluster.remove(name)
            value = 1 / (time.monotonic() - began)
            _keep_best(found, 'delete 1 TiB, empty', variant, value)
    return found


def cache_modes(cluster: Cluster, runs: int) -> Found:
    """Measure each workload with each cache mode."""
    found: Found = {}
    name = cluster.create('2G')
    try:
        cluster.bench(name, Workload('', 'write', 'seq', '4M', 4, 256))
        for _ in range(runs):
            for work, how in CACHE_WORKLOADS.items():
                for mode in CACHE_MODES:
                    value = cluster.qemu_bench(name, mode, *how)
                    _keep_best(found, work, mode, value)
    finally:
        cluster.remove(name)
    return found


def show(title: str, found: Found) -> None:
    """Print operations a second and the ratios against the first variant."""
    print(f'\n{title}')
    for work, row in found.items():
        first = next(iter(row.values()))
        print(f'  {work}')
        for variant, value in row.items():
            print(f'    {variant:24}{value:10.1f}/s   x {value / first:.2f}')


PARTS: Mapping[str, Callable[[Cluster, int], Found]] = {
    'layouts': layouts,
    'object-map': deletion,
    'cache-modes': cache_modes,
}


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--pool', default='volumes')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--only', choices=PARTS, help='run one part')
    parser.add_argument(
        '--plots', type=pathlib.Path, help='folder for bar charts, as SVG'
    )
    args = parser.parse_args()
    cluster = Cluster(args)
    for title, measure in PARTS.items():
        if args.only in (None, title):
            found = measure(cluster, args.runs)
            show(title, found)
            if args.plots:
                bar_chart.draw(args.plots / f'{title}.svg', found)


if __name__ == '__main__':
    main()
