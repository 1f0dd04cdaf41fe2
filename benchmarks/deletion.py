# SPDX-License-Identifier: Apache-2.0

"""How long deletions take, by size and by object map.

    python3 benchmarks/deletion.py --conf /etc/ceph/ceph.conf \\
        --user admin --pool volumes [--sizes 1 100 1024] [--written 0 256] \\
        [--at-once 1 16] [--csv FILE]

The images are empty or have data at their start. Cinder's driver and ours
delete the same number of images of each kind. The ratio is that of the time
of Cinder's driver for images without an object map to the time of the row.
"""

# Patches eventlet before anything else is imported.
import driver  # isort: skip

import argparse
from collections.abc import Iterator
import concurrent.futures
import csv
import dataclasses
import itertools
import pathlib
import sys
import time
from typing import Any

import rados
import rbd

from rbd_volume_options import features

_MIB, _GIB = 1 << 20, 1 << 30
_PLAIN = features.to_mask({features.LAYERING})
_MAP = features.to_mask(features.MAP_ON)
MAPS = ('none', 'valid', 'invalid')
_SHOWN = ('no', 'valid', 'invalid')


@dataclasses.dataclass(frozen=True)
class Kind:
    """What the images of a row have in common.

    :ivar size: in GiB
    :ivar written: MiB of data
    :ivar object_map: one of :data:`MAPS`
    """

    size: int
    written: int
    object_map: str

    def create(self, ioctx: rados.Ioctx, name: str) -> None:
        """Create an image."""
        mask = _PLAIN | (_MAP if self.object_map == 'valid' else 0)
        rbd.RBD().create(
            ioctx, name, self.size * _GIB, old_format=False, features=mask
        )
        with rbd.Image(ioctx, name) as image:
            for at in range(0, self.written, 4):
                image.write(b'x' * 4 * _MIB, at * _MIB)
            if self.object_map == 'invalid':
                # A map that is added to an image is invalid until a rebuild.
                image.update_features(_MAP, True)


def delete(
    backend: Any, kind: Kind, ioctx: rados.Ioctx, at_once: int
) -> float:
    """Create images, and return the seconds to delete them at once."""
    volumes = [backend.records.volume() for _ in range(at_once)]
    for volume in volumes:
        kind.create(ioctx, volume.name)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        began = time.perf_counter()
        list(pool.map(backend.driver.delete_volume, volumes))
        return time.perf_counter() - began


def measured(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows, and print each."""
    backends = {name: driver.Backend(name, args) for name in driver.DRIVERS}
    with (
        rados.Rados(conffile=args.conf, rados_id=args.user) as connection,
        connection.open_ioctx(args.pool) as ioctx,
    ):
        print('GiB   MiB written  at once  map      stock s   ours s   ratio')
        for size, written, at_once in itertools.product(
            args.sizes, args.written, args.at_once
        ):
            baseline = 0.0
            for object_map in MAPS:
                kind = Kind(size, written, object_map)
                took = {
                    name: delete(backend, kind, ioctx, at_once)
                    for name, backend in backends.items()
                }
                baseline = baseline or took['stock']
                ratio = baseline / took['ours']
                print(
                    f'{size:<5} {written:<12} {at_once:<8} {object_map:<8}'
                    f'{took["stock"]:8.2f} {took["ours"]:8.2f} {ratio:8.1f}',
                    flush=True,
                )
                yield {
                    **dataclasses.asdict(kind),
                    'at_once': at_once,
                    'seconds': took,
                    'ratio': ratio,
                }


def write(path: pathlib.Path, rows: list[dict[str, Any]]) -> None:
    """Write the seconds of one deletion as the page shows them."""
    table = [['Size, data', *(f'{x.capitalize()} map' for x in _SHOWN)]]
    alone = [row for row in rows if row['at_once'] == 1]
    for (size, written), group in itertools.groupby(
        alone, lambda row: (row['size'], row['written'])
    ):
        data = f'{written} MiB' if written else 'empty'
        seconds = [f'{row["seconds"]["ours"]:.2g}' for row in group]
        table.append([f'{size} GiB, {data}', *seconds])
    with path.open('w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows(table)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--pool', default='volumes')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--sizes', type=int, nargs='+', default=[1, 100, 1024])
    parser.add_argument('--written', type=int, nargs='+', default=[0, 256])
    parser.add_argument('--at-once', type=int, nargs='+', default=[1])
    parser.add_argument('--csv', type=pathlib.Path, help='for the table')
    args = parser.parse_args()
    with driver.database(None):
        rows = list(measured(args))
    if args.csv:
        write(args.csv, rows)


if __name__ == '__main__':
    sys.exit(main())
