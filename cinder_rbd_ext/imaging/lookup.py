# SPDX-License-Identifier: Apache-2.0

"""Queries about the images and pools of a back end, and removal of images."""

import contextlib
import time
from typing import Any

from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from rbd_volume_options import bindings
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_handles
from rbd_volume_options import options
from rbd_volume_options import ownership
from rbd_volume_options import plan
from rbd_volume_options.families import data_pool

LOG = logging.getLogger(__name__)

#: Seconds for which a data pool counts as writable after a successful check.
WRITABLE_FOR = 300.0

# Seconds to wait for a data pool, if the back end has no timeout of its own.
_PATIENCE = 10


class ImageLookup:
    """Queries about the images and the pools of a back end."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        #: Until when a data pool counts as writable.
        self._writable: dict[str, float] = {}

    def check_data_pool(self, pool: str, origin: errors.Origin) -> None:
        """Check that a pool exists, and that the back end can write to it.

        librbd creates an image without that. Its writes and deletion then
        fail. A success is cached, a failure is not.

        :raises OptionError: for a pool that cannot be used
        """
        if time.monotonic() < self._writable.get(pool, float('-inf')):
            return
        try:
            self._try_write(pool)
        except self._driver.rados.Error as error:
            number = getattr(error, 'errno', None) or 0
            if number not in data_pool.UNDECIDED:
                # It names the capability that the user needs.
                raise data_pool.write_refusal(pool, origin, number) from error
            LOG.warning(
                'Could not check whether data pool %(pool)s is writable; it '
                'is used without the check: %(error)s',
                {'pool': pool, 'error': error},
            )
            return
        self._writable[pool] = time.monotonic() + WRITABLE_FOR

    def _try_write(self, pool: str) -> None:
        """Write an object to a data pool and remove it."""
        driver = self._driver
        patience = driver.configuration.rados_connect_timeout
        if patience is None or patience < 0:
            patience = _PATIENCE
        client, ioctx = driver._connect_to_rados(None, None, patience)
        try:
            with contextlib.closing(client.open_ioctx(pool)) as data:
                releases.off_the_hub(data_pool.try_write)(
                    driver.rados, data, driver.host, LOG.debug
                )
        finally:
            driver._disconnect_from_rados(client, ioctx)

    def state_of(self, name: str, **how: Any) -> options.Values:
        """Return the state of an image, or raise ``ImageNotFound``."""
        with self.opened(name, read_only=True, **how) as image:
            return self.read(image)

    def read(self, image: bindings.OpenImage) -> options.Values:
        """Return the state of an image that :meth:`opened` has opened."""
        return image_handles.state_of(
            image, lambda pool: str(image.client.pool_reverse_lookup(pool))
        )

    def stock_state(
        self, object_size: int | None = None, with_striping: bool = True
    ) -> options.Values:
        """Return the image that the stock driver creates by default."""
        with rbd.RADOSClient(self._driver) as client:
            striping = None
            if with_striping:
                striping = self._driver.rbd.default_striping(client.ioctx)
        return plan.stock_image(
            object_size or self._driver.settings.chunk_size,
            striping,
            features.from_mask(client.features),
        )

    def opened(self, name: str, **how: Any) -> Any:
        """Return a context manager that opens an image."""
        return rbd.RBDVolumeProxy(self._driver, name, **how)

    def exists(self, name: str) -> bool:
        """Return whether an image exists."""
        try:
            with self.opened(name, read_only=True):
                return True
        except self._driver.rbd.ImageNotFound:
            return False

    def clients_of(self, name: str) -> list[str]:
        """Return the addresses of clients that may write to an image."""
        with self.opened(name, read_only=True) as image:
            return image_handles.clients_of(image, self._driver.rbd)

    def pool_name(self, pool_id: int) -> str:
        """Return the name of a pool of the cluster."""
        with rbd.RADOSClient(self._driver) as client:
            return str(client.cluster.pool_reverse_lookup(pool_id))

    def mark(
        self, name: str, pool: str | None = None, always: bool = False
    ) -> None:
        """Write the mark of this cloud to an image: with an ID, or ``always``.

        A failure is logged: an image without a mark is never removed as a
        leftover, and ``cinder-rbd-ext mark`` writes it later.
        """
        cloud_id = self._driver.settings.cloud_id
        if not (cloud_id or always):
            return
        try:
            self._write_mark(name, cloud_id, pool)
        except Exception:
            LOG.exception('Could not mark image %s', name)

    def release(self, name: str) -> None:
        """Write to an image that it no longer belongs to this cloud.

        After a failure, which is raised, it could be removed as a leftover.
        """
        self._write_mark(name, ownership.RELEASED)

    def _write_mark(
        self, name: str, owner: str, pool: str | None = None
    ) -> None:
        with rbd.RADOSClient(self._driver, pool) as client:
            write = releases.off_main_thread(ownership.write_named)
            write(client.ioctx, name, owner)

    def discard(self, name: str) -> None:
        """Remove an image whose creation failed."""
        with rbd.RADOSClient(self._driver) as client:
            releases.off_the_hub(self._driver.rbd).discard(client.ioctx, name)

    def discard_clone_snapshot(self, source: str, clone: str) -> None:
        """Remove the snapshot of the source for a clone that failed."""
        snapshot = clone + image_handles.CLONE_SNAPSHOT
        with self.opened(source) as image:
            if any(s['name'] == snapshot for s in image.list_snaps()):
                image_handles.remove_snapshot(image, snapshot)
