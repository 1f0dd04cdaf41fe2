# SPDX-License-Identifier: Apache-2.0

"""Snapshots and sources that clones leave behind.

The stock driver creates a clone from a snapshot of the source,
``<clone>.clone_snap``, and renames a source that is deleted before its clones
to ``<source>.deleted``. This module removes both as soon as librbd reports no
children, not even in the trash, for a snapshot.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

from cinder.volume.drivers import rbd
from oslo_concurrency import lockutils
from oslo_log import log as logging

from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import creations
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Seconds to wait for the lock of a source. The operation that holds it may be
# waiting for the deletion of its clone.
_SOURCE_WAIT = 0.5


@dataclasses.dataclass(frozen=True)
class Reference:
    """A clone's snapshot on its source, which had this name until deleted."""

    source: str
    snapshot: str
    is_deleted: bool = dataclasses.field(default=False, compare=False)


class CloneSources:
    """The sources of clones in the pool of a back end."""

    def __init__(
        self,
        driver: protocols.Driver,
        client: protocols.Client,
        under_way: creations.Creations,
    ) -> None:
        self._driver = driver
        self._client = client
        self._under_way = under_way

    def is_there(self, name: str) -> bool:
        """Return whether the pool has an image of a name."""
        librbd = releases.off_the_hub(self._driver.rbd)
        return bool(librbd.is_there(self._client.ioctx, name))

    def drop_unneeded(self, image: bindings.Image) -> None:
        """Remove the clone snapshots that have no clone.

        This is safe only for a source that is deleted or being deleted,
        because it can no longer be cloned.
        """
        for name in image_handles.snapshot_names(image):
            clone = name.removesuffix(wire.CLONE_SNAPSHOT)
            if name != clone and not self._under_way.get(clone):
                self._drop(image, name)

    def release(self, reference: Reference) -> None:
        """Remove a clone's snapshot and the sources that it required."""
        try:
            with self._opened(reference.source) as image:
                if reference.snapshot in image_handles.snapshot_names(image):
                    self._drop(image, reference.snapshot)
        except self._driver.rbd.ImageNotFound:
            LOG.debug('Source image %s does not exist', reference.source)
        except locks.VolumeLocked:
            # The source is being deleted, which removes the snapshot too, or
            # replaced. Then the snapshot is removed with the source.
            LOG.info('Source image %s is being replaced', reference.source)
        # This runs in both cases, because the source may have been renamed.
        self.settle(reference.source + wire.DELETED_SOURCE)

    def settle(self, name: str) -> None:
        """Remove a deleted source if no clone requires it; release its own."""
        if not self.is_there(name):
            # Most sources are not deleted, and to open one takes much longer.
            return
        try:
            with lockutils.lock(name, 'rbd-clone-source-'):
                with self._opened(name) as image:
                    above = reference_of(self._driver, image)
                    self.drop_unneeded(image)
                    if list(image.list_snaps()):
                        return
                LOG.info('Removing %s, which has no clones left', name)
                self._remove(name)
        except self._driver.rbd.ImageNotFound:
            return
        if above:
            self.release(above)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[Any]:
        client = self._client
        with (
            locks.image(self._driver, name, _SOURCE_WAIT),
            rbd.RBDVolumeProxy(
                self._driver, name, client=client.cluster, ioctx=client.ioctx
            ) as image,
        ):
            yield image

    def _remove(self, name: str) -> None:
        if self._driver.configuration.enable_deferred_deletion:
            delay = self._driver.configuration.deferred_deletion_delay
            self._driver.RBDProxy().trash_move(self._client.ioctx, name, delay)
        else:
            self._driver._try_remove_volume(self._client, name)

    def _drop(self, image: bindings.Image, name: str) -> None:
        with image_handles.at(image, name):
            if list(image.list_children2()):
                return
        try:
            image_handles.remove_snapshot(image, name)
        except (
            self._driver.rbd.ImageBusy,
            self._driver.rbd.ImageNotFound,
        ) as error:
            # The snapshot is being cloned or removed.
            LOG.debug('Could not remove snapshot %s: %s', name, error)
        else:
            LOG.info('Removed snapshot %s, which had no clones', name)


def reference_of(
    driver: protocols.Driver, image: bindings.Image
) -> Reference | None:
    """Return the snapshot from which the stock driver cloned an image.

    None for another parent, or one in another pool. Snapshots of a flattened
    clone may still depend on the source.
    """
    for snapshot in (None, *image_handles.snapshot_names(image)):
        with image_handles.at(image, snapshot):
            try:
                parent_pool, source, name = image.parent_info()
            except driver.rbd.ImageNotFound:
                continue
        if parent_pool != driver.configuration.rbd_pool or not name.endswith(
            wire.CLONE_SNAPSHOT
        ):
            return None
        volume = source.removesuffix(wire.DELETED_SOURCE)
        return Reference(volume, name, is_deleted=source != volume)
    return None
