# SPDX-License-Identifier: Apache-2.0

"""How long an audit of many images takes.

    python3 benchmarks/audit_images.py --conf /etc/ceph/ceph.conf \
        --user admin --pool volumes [--images 10000] [--workers 8]

It creates small images in a pool that is otherwise empty, half of them with an
object map and each tenth with a snapshot, audits them with a record of each as
Cinder would give it, and removes them. The time of the requests to Cinder,
Glance and Nova is not measured.

With ``--simulated``, the images exist only in the memory of the program, which
writes their report: this measures the memory that an audit of more images than
a test cluster has needs, and the time that it takes beside Ceph's.
"""

import argparse
import resource
import time
from typing import Any
import uuid

import filled_pool
import rados
import rbd

from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import sizes
from rbd_volume_tools.audit import images as image_facts
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan

_CINDER_POOL = 'host@rbd#rbd'


class SimulatedCluster(scan.Cluster):
    """A cluster whose images are known without a request.

    :param idents: the IDs of the volumes
    """

    def __init__(self, idents: list[str]) -> None:
        super().__init__(rados, rbd, '', '')
        self._idents = idents

    def scan(self, pool: str, *_: Any, **__: Any) -> scan.PoolScan:
        """Return an image of each volume, each tenth with a snapshot."""
        made = tuple(
            image_facts.Image(
                pool,
                f'volume-{ident}',
                f'{number:016x}',
                sizes.GIB,
                layout.ImageLayout(4 * sizes.MIB),
                features.MAP_ON | {features.LAYERING},
                image_facts.MapState.VALID,
                snapshots=(
                    image_facts.Snapshot(
                        f'snapshot-{ident}',
                        'user',
                        sizes.GIB,
                        image_facts.MapState.VALID,
                    ),
                )
                * (number % 10 == 0),
            )
            for number, ident in enumerate(self._idents)
        )
        return scan.PoolScan(pool, made, {}, ())


def records_of(idents: list[str], pool: str) -> records.Records:
    """Return the records that Cinder would have of the images."""
    return records.Records(
        {
            ident: records.Volume(
                ident, ident, 'project', 'type', _CINDER_POOL, 'available'
            )
            for ident in idents
        },
        frozenset(idents),
        frozenset(),
        {_CINDER_POOL: pool},
    )


def show(audited: report.Report) -> None:
    """Write the report, and show what the audit needed."""
    with open('/dev/null', 'w') as output:
        output.writelines(audited.as_json())
    # Kibibytes, on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f'{audited.number} images, {len(audited.found)} findings, '
        f'{audited.seconds:.1f} s, at most {peak >> 10} MiB of memory'
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', default='/etc/ceph/ceph.conf')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--pool', default='volumes')
    parser.add_argument('--images', type=int, default=10_000)
    parser.add_argument('--workers', type=int, default=scan.WORKERS)
    parser.add_argument('--simulated', action='store_true')
    args = parser.parse_args()
    if args.simulated:
        idents = [str(uuid.uuid4()) for _ in range(args.images)]
        show(
            run.run(
                SimulatedCluster(idents),
                [args.pool],
                lambda: records_of(idents, args.pool),
            )
        )
        return
    with (
        rados.Rados(conffile=args.conf, rados_id=args.user) as connection,
        connection.open_ioctx(args.pool) as ioctx,
    ):
        images = filled_pool.Images(ioctx, args.images)
        try:
            began = time.monotonic()
            images.create()
            print(f'created in {time.monotonic() - began:.1f} s')
            show(
                run.run(
                    scan.Cluster(rados, rbd, args.conf, args.user),
                    [args.pool],
                    lambda: records_of(images.idents(), args.pool),
                    workers=args.workers,
                )
            )
        finally:
            images.remove()


if __name__ == '__main__':
    main()
