# SPDX-License-Identifier: Apache-2.0

"""How long an audit of many images takes.

    python3 benchmarks/audit_images.py --conf /etc/ceph/ceph.conf \
        --user admin --pool volumes [--images 10000] [--workers 8]

It creates small images in a pool that is otherwise empty, half of them with an
object map and each tenth with a snapshot, audits them with a record of each as
Cinder would give it, and removes them. The time of the requests to Cinder,
Glance and Nova is not measured.
"""

import argparse
import resource
import time

import filled_pool
import rados
import rbd

from rbd_operator.audit import records
from rbd_operator.audit import run
from rbd_operator.audit import scan

_CINDER_POOL = 'host@rbd#rbd'


def records_of(images: filled_pool.Images, pool: str) -> records.Records:
    """Return the records that Cinder would have of the images."""
    idents = images.idents()
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


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', default='/etc/ceph/ceph.conf')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--pool', default='volumes')
    parser.add_argument('--images', type=int, default=10_000)
    parser.add_argument('--workers', type=int, default=scan.WORKERS)
    args = parser.parse_args()
    with (
        rados.Rados(conffile=args.conf, rados_id=args.user) as connection,
        connection.open_ioctx(args.pool) as ioctx,
    ):
        images = filled_pool.Images(ioctx, args.images)
        try:
            began = time.monotonic()
            images.create()
            print(f'created in {time.monotonic() - began:.1f} s')
            found = run.run(
                scan.Cluster(rados, rbd, args.conf, args.user),
                [args.pool],
                lambda: records_of(images, args.pool),
                workers=args.workers,
            )
            # Kibibytes, on Linux.
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(
                f'{found.number} images, {len(found.found)} findings, '
                f'{found.seconds:.1f} s, at most {peak >> 10} MiB of memory'
            )
        finally:
            images.remove()


if __name__ == '__main__':
    main()
