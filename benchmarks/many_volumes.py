# SPDX-License-Identifier: Apache-2.0

"""Compare layouts while many volumes are used at once.

    python3 benchmarks/slow_disks.py --osds 6 --bytes 10M --operations 100 -- \
        python3 benchmarks/many_volumes.py --ceph-conf {conf}

Volumes also spread their requests over the disks without striping, so a layout
gains less than with one volume. fio sends the requests to all volumes of a
layout, each with a client of its own. The layouts take turns, and the table
has the medians of the ratios to the default layout, and of the operations per
second of that layout.
"""

import argparse
import json
import statistics
import subprocess
import tempfile

_POOL = 'volumes'
_LAYOUTS = {
    'default': [],
    '64 KiB x 8': ['--stripe-unit', '64K', '--stripe-count', '8'],
    '1 MiB objects': ['--object-size', '1M'],
}
# Pattern, block size, requests in flight for each volume
_WORKLOADS = {
    'sequential reads of 1 MiB, 1': ('read', '1M', 1),
    'sequential writes of 16 KiB, 16': ('write', '16K', 16),
    'random reads of 16 KiB, 4': ('randread', '16K', 4),
    'random writes of 16 KiB, 4': ('randwrite', '16K', 4),
}


class Cluster:
    """The cluster and the images in it."""

    def __init__(self, conf: str, volumes: int, seconds: int) -> None:
        self._conf = conf
        self._volumes = volumes
        self._seconds = seconds

    def _names(self, layout: str) -> list[str]:
        number = list(_LAYOUTS).index(layout)
        return [f'many-{number}-{each}' for each in range(self._volumes)]

    def create(self, layout: str, size: str) -> None:
        """Create the images of a layout and fill them."""
        for name in self._names(layout):
            command = ['rbd', '--conf', self._conf, 'create', '--size', size]
            command += [*_LAYOUTS[layout], f'{_POOL}/{name}']
            subprocess.run(command, check=True)
        self._fio(layout, ('write', '1M', 4), [])

    def measure(self, layout: str, work: tuple[str, str, int]) -> float:
        """Return the operations per second of all volumes together."""
        timed = ['time_based=1', 'ramp_time=2', f'runtime={self._seconds}']
        job = self._fio(layout, work, timed)
        return float(job['read']['iops'] + job['write']['iops'])

    def uncached(self) -> None:
        """Let OSDs read from their disks each time."""
        command = ['ceph', '--conf', self._conf, 'config', 'set', 'osd']
        command += ['bluestore_default_buffered_read', 'false']
        subprocess.run(command, check=True)

    def _fio(
        self, layout: str, work: tuple[str, str, int], timed: list[str]
    ) -> dict:
        pattern, block, depth = work
        lines = ['[global]', 'ioengine=rbd', f'pool={_POOL}', *timed]
        lines += ['clientname=admin', 'group_reporting=1', f'rw={pattern}']
        lines += [f'bs={block}', f'iodepth={depth}']
        for name in self._names(layout):
            lines += [f'[{name}]', f'rbdname={name}']
        with tempfile.NamedTemporaryFile('w', suffix='.fio') as file:
            file.write('\n'.join(lines))
            file.flush()
            done = subprocess.run(
                ['fio', '--output-format=json', file.name],
                env={'PATH': '/usr/bin:/bin', 'CEPH_CONF': self._conf},
                stdout=subprocess.PIPE,
                check=True,
            )
        (job,) = json.loads(done.stdout)['jobs']
        return job


def main() -> None:
    """Create the images, measure them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ceph-conf', required=True)
    parser.add_argument('--volumes', type=int, default=16)
    parser.add_argument('--size', default='64M', help='of each volume')
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--repetitions', type=int, default=3)
    chosen = parser.parse_args()
    cluster = Cluster(chosen.ceph_conf, chosen.volumes, chosen.seconds)
    cluster.uncached()
    for layout in _LAYOUTS:
        cluster.create(layout, chosen.size)
    measured = {}
    for number in range(chosen.repetitions):
        for name, work in _WORKLOADS.items():
            for layout in _LAYOUTS:
                rate = cluster.measure(layout, work)
                measured.setdefault((name, layout), []).append(rate)
                print(f'{number} {name}, {layout}: {rate:.0f}', flush=True)
    for name in _WORKLOADS:
        plain = measured[name, 'default']
        texts = [f'{statistics.median(plain):.0f}/s']
        for layout in list(_LAYOUTS)[1:]:
            pairs = zip(measured[name, layout], plain, strict=True)
            ratios = sorted(other / own for other, own in pairs)
            texts.append(
                f'{layout}: {statistics.median(ratios):.2f} '
                f'({ratios[0]:.2f} to {ratios[-1]:.2f})'
            )
        print(f'{name}: {", ".join(texts)}')


if __name__ == '__main__':
    main()
