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


"""librbd's migration of an image within its pool, on the fake cluster."""

from collections.abc import Callable
from typing import Any

from tests.fakes import fake_images
from tests.fakes import fake_rados

PREPARING, PREPARED, EXECUTING, EXECUTED = 1, 2, 3, 4

Progress = Callable[[int, int], int]

_PIECES = 4


class Migrations:
    """The calls of ``rbd.RBD``."""

    _cluster: fake_rados.Cluster

    def migration_prepare(
        self,
        ioctx: fake_rados.Ioctx,
        image_name: str,
        dest_ioctx: fake_rados.Ioctx,
        dest_image_name: str,
        features: int,
        order: int,
        stripe_unit: int,
        stripe_count: int,
        data_pool: bytes,
    ) -> None:
        """Replace an image by a new one that reads its data."""
        images = ioctx.images('RBD.migration_prepare')
        there = images[image_name]
        if there.source or self._is_open(there):
            raise fake_images.ImageBusy('error migrating image')
        if any(each.original_name for each in there.snapshots):
            raise fake_images.ImageBusy('error migrating image')
        asked = {
            'features': features,
            'order': order,
            'stripe_unit': stripe_unit,
            'stripe_count': stripe_count,
        }
        made = fake_images.make(
            image_name,
            there.size,
            asked,
            (0, 0, 0),
            fake_images.data_pool_number(ioctx, data_pool.decode()),
        )
        made.metadata = dict(there.metadata)
        made.snapshots, made.parent = there.snapshots, there.parent
        made.source, made.state = there, PREPARED
        images[image_name] = made

    def _is_open(self, stored: fake_images.StoredImage) -> bool:
        return any(
            handle.stored is stored and not handle.read_only
            for handle in self._cluster.open_images
        )

    def migration_execute(
        self, ioctx: fake_rados.Ioctx, image_name: str, on_progress: Progress
    ) -> None:
        """Copy the data."""
        image = self._migrating(ioctx, image_name, PREPARED, EXECUTING)
        image.state = EXECUTING
        for piece in range(_PIECES):
            on_progress(piece, _PIECES)
            self._cluster.reach('RBD.migration_execute')
        image.state = EXECUTED

    def migration_commit(
        self, ioctx: fake_rados.Ioctx, image_name: str, on_progress: Progress
    ) -> None:
        """Remove the former image."""
        image = self._migrating(ioctx, image_name, EXECUTED)
        self._cluster.reach('RBD.migration_commit')
        image.source, image.state = None, 0

    def migration_abort(
        self, ioctx: fake_rados.Ioctx, image_name: str, on_progress: Progress
    ) -> None:
        """Restore the former image."""
        image = self._migrating(ioctx, image_name)
        source: Any = image.source
        ioctx.images('RBD.migration_abort')[image_name] = source

    def migration_status(
        self, ioctx: fake_rados.Ioctx, image_name: str
    ) -> dict[str, Any]:
        """Return the state."""
        image = self._migrating(ioctx, image_name)
        source: Any = image.source
        return {
            'state': image.state,
            'source_image_id': source.ident,
            'dest_image_id': image.ident,
        }

    def _migrating(
        self, ioctx: fake_rados.Ioctx, name: str, *states: int
    ) -> fake_images.StoredImage:
        images = ioctx.images('RBD.migration')
        if name not in images:
            raise fake_images.ImageNotFound('no such image')
        image: fake_images.StoredImage = images[name]
        if not image.source or (states and image.state not in states):
            raise fake_images.InvalidArgument('not migrating')
        return image
