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

"""What the driver looks up in its pool, and takes out of it again."""

import functools
from typing import Any

from cinder.volume.drivers import rbd

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import write_probe
from cinder_rbd_ext.imaging import sources
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import layout
from rbd_volume_options import plan


class ImageLookupDriver(rbd.RBDDriver):
    """The stock driver, with questions about images and pools."""

    # The stock driver's, untyped: librbd's module as the driver sees it.
    rbd: Any

    @functools.cached_property
    def settings(self) -> backend_settings.BackendSettings:
        """The backend's section of cinder.conf."""
        try:
            return backend_settings.BackendSettings.read(self.configuration)
        except errors.OptionError as error:
            raise exceptions.InvalidBackendOptions(
                backend=self._backend_name, reason=str(error)
            ) from error

    def _state_of(self, name: str) -> plan.ImageState:
        with rbd.RBDVolumeProxy(self, name, read_only=True) as image:
            state: plan.ImageState = self.rbd.state_of(image)
        return state

    def _source(self, volume: Any) -> inheritance.Source:
        """Return a volume as the source of another one."""
        return sources.of_volume(
            volume,
            self._state_of(volume.name),
            record.items_of(volume.id),
            self.settings.chunk_size,
        )

    def _stock_state(self) -> plan.ImageState:
        """Return the image that stock would make of a new, empty volume."""
        with rbd.RADOSClient(self) as client:
            striping = self.rbd.default_striping(client.ioctx)
            mask = client.features
        return plan.ImageState(
            layout.ImageLayout(self.settings.chunk_size, striping),
            features.from_mask(mask),
        )

    def _exists(self, name: str) -> bool:
        try:
            with rbd.RBDVolumeProxy(self, name, read_only=True):
                return True
        except self.rbd.ImageNotFound:
            return False

    def _pool_name(self, pool_id: int) -> str:
        with rbd.RADOSClient(self) as client:
            return str(client.cluster.pool_reverse_lookup(pool_id))

    @functools.cached_property
    def _pool_probe(self) -> write_probe.PoolProbe:
        return write_probe.PoolProbe(self)

    def _check_pool(self, name: str, origin: errors.Origin) -> None:
        self._pool_probe.check(name, origin)

    def _undo_image(self, name: str) -> None:
        with rbd.RADOSClient(self) as client:
            releases.off_the_hub(self.rbd).discard(client.ioctx, name)

    def _undo_clone_snapshot(self, source: str, clone: str) -> None:
        snapshot = f'{clone}.clone_snap'
        with rbd.RBDVolumeProxy(self, source) as image:
            if all(s['name'] != snapshot for s in image.list_snaps()):
                return
            if image.is_protected_snap(snapshot):
                image.unprotect_snap(snapshot)
            image.remove_snap(snapshot)
