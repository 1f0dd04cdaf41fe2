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

"""How long an audit of many images takes.

    python3 benchmarks/audit_images.py --conf /etc/ceph/ceph.conf \
        --user admin --pool volumes [--images 10000] [--workers 8]

It creates small images in a pool that is otherwise empty, half of them with an
object map and each tenth with a snapshot, audits them with a record of each as
Cinder would give it, and removes them. The time of the requests to Cinder,
Glance and Nova is not measured.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from concurrent import futures
import time
import uuid

import rados
import rbd

from cinder_rbd_ext.audit import records
from cinder_rbd_ext.audit import run
from cinder_rbd_ext.audit import scan
from rbd_volume_options import features

_SIZE = 2**30
_LAYERED = features.to_mask({features.LAYERING, features.DEEP_FLATTEN})
_MAPPED = _LAYERED | features.to_mask(features.MAP_ON)
_THREADS = 4
_CINDER_POOL = 'host@rbd#rbd'


class Images:
    """The images of the benchmark.

    :param ioctx: a context of their pool
    :param number: how many
    """

    def __init__(self, ioctx: rados.Ioctx, number: int) -> None:
        self._ioctx = ioctx
        self._names: list[tuple[int, str]] = [
            (at, f'volume-{uuid.uuid4()}') for at in range(number)
        ]

    def create(self) -> None:
        """Create them."""
        _all(self._create, self._names)

    def remove(self) -> None:
        """Remove those that exist."""
        _all(self._remove, self._names)

    def known(self, pool: str) -> records.Records:
        """Return a record of each."""
        idents = [name.removeprefix('volume-') for _, name in self._names]
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

    def _create(self, numbered: tuple[int, str]) -> None:
        at, name = numbered
        rbd.RBD().create(
            self._ioctx,
            name,
            _SIZE,
            old_format=False,
            features=_MAPPED if at % 2 else _LAYERED,
        )
        if at % 10 == 0:
            with rbd.Image(self._ioctx, name) as image:
                image.create_snap(name.replace('volume-', 'snapshot-'))

    def _remove(self, numbered: tuple[int, str]) -> None:
        _, name = numbered
        try:
            with rbd.Image(self._ioctx, name) as image:
                for each in list(image.list_snaps()):
                    image.remove_snap(each['name'])
            rbd.RBD().remove(self._ioctx, name)
        except rbd.ImageNotFound:
            return


def _all(
    action: Callable[[tuple[int, str]], None],
    names: Iterable[tuple[int, str]],
) -> None:
    with futures.ThreadPoolExecutor(_THREADS) as executor:
        list(executor.map(action, names))


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
        images = Images(ioctx, args.images)
        try:
            began = time.monotonic()
            images.create()
            print(f'created in {time.monotonic() - began:.1f} s')
            found = run.run(
                scan.Cluster(rados, rbd, args.conf, args.user),
                [args.pool],
                lambda: images.known(args.pool),
                workers=args.workers,
            )
            print(
                f'{found.number} images, {len(found.found)} findings, '
                f'{found.seconds:.1f} s'
            )
        finally:
            images.remove()


if __name__ == '__main__':
    main()
