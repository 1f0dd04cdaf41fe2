# SPDX-License-Identifier: Apache-2.0

"""The images that need an image, and those that it needs.

The stock driver creates a clone from a snapshot of the source,
``<clone>.clone_snap``, and renames a source that is deleted before its clones
to ``<source>.deleted``. librbd keeps a snapshot that was removed before its
clones, under another name, and removes it with the last of them.

Only the cluster is asked: an image needs its parents, and is needed by its
children, which may be in the trash. A parent is released after its child is
gone. A kill before that leaves a snapshot without a clone, or a deleted source
without snapshots: :meth:`Relatives.settle` finds the second, at the next
deletion of a clone, or from the purger. An operation that holds the lock of a
source alone removes snapshots without a clone, as the deletion of the source
does.
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
from cinder_rbd_ext.trash import entries
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import trash_mark

LOG = logging.getLogger(__name__)

# Seconds to wait for the lock of a source. The operation that holds it may be
# waiting for the deletion of its clone.
_SOURCE_WAIT = 0.5


@dataclasses.dataclass(frozen=True)
class Parent:
    """A snapshot that an image was cloned from.

    :ivar source: the name of the image of the snapshot, until it was deleted
    """

    source: str
    snapshot: str


@dataclasses.dataclass(frozen=True)
class Needs:
    """Who needs an image, and whom it needs.

    :ivar children: the names of its clones that are not in the trash, with
        their pools, from all snapshots
    :ivar has_trashed_children: whether clones of it are in the trash
    :ivar snapshots: the names of the snapshots that can be removed by name
    :ivar has_snapshots: whether it has snapshots of any kind
    :ivar parents: the snapshots that it and its own snapshots are clones of,
        in the same pool
    """

    children: tuple[tuple[str, str], ...]
    has_trashed_children: bool
    snapshots: tuple[str, ...]
    has_snapshots: bool
    parents: tuple[Parent, ...]


def needs_of(librbd: Any, image: bindings.Image, pool: str) -> Needs:
    """Return who needs an open image in a pool, and whom it needs."""
    # Of the head, librbd lists the clones of all snapshots, also of removed
    # ones.
    children = list(image.list_children2())
    return Needs(
        tuple((c['pool'], c['image']) for c in children if not c['trash']),
        any(child['trash'] for child in children),
        tuple(image_handles.snapshot_names(image)),
        bool(list(image.list_snaps())),
        _parents_of(librbd, image, pool),
    )


def _parents_of(
    librbd: Any, image: bindings.Image, pool: str
) -> tuple[Parent, ...]:
    """Return the snapshots in a pool that an open image was cloned from."""
    parents = []
    # Snapshots of a flattened clone may still depend on the source.
    for snapshot in (None, *image_handles.snapshot_names(image)):
        with image_handles.at(image, snapshot):
            try:
                parent_pool, source, name = image.parent_info()
            except librbd.ImageNotFound:
                continue
        if parent_pool == pool:
            source = source.removesuffix(image_handles.DELETED_SOURCE)
            parents.append(Parent(source, name))
    return tuple(dict.fromkeys(parents))


def drop_unneeded(driver: protocols.Driver, image: bindings.Image) -> None:
    """Remove the clone snapshots of an open image that have no clone.

    This is safe only for a source that cannot be cloned meanwhile: it is
    deleted, or locked by the caller alone.
    """
    for name in image_handles.snapshot_names(image):
        clone = name.removesuffix(image_handles.CLONE_SNAPSHOT)
        if name != clone and not driver.librbd.creations.get(clone):
            _drop(driver, image, name)


def drop_unneeded_of(
    driver: protocols.Driver, name: str, pool: str | None = None
) -> None:
    """Act as :func:`drop_unneeded` for an image; a failure is logged.

    The deletion of a clone does not wait for the lock of its source.
    """
    try:
        with driver.images.opened(name, pool=pool) as image:
            drop_unneeded(driver, image)
    except driver.rbd.ImageNotFound:
        LOG.debug('Image %s does not exist', name)
    except Exception:
        LOG.exception('Could not remove snapshots of image %s', name)


def _drop(driver: protocols.Driver, image: bindings.Image, name: str) -> None:
    with image_handles.at(image, name):
        if list(image.list_children2()):
            return
    # It may just be cloned or removed.
    with contextlib.suppress(driver.rbd.ImageBusy, driver.rbd.ImageNotFound):
        image_handles.remove_snapshot(image, name)
        LOG.info('Removed snapshot %s, which had no clones', name)


def let_go(driver: protocols.Driver, snapshot: protocols.Snapshot) -> None:
    """Give up a snapshot that is deleted, if only images in the trash need it.

    Up to version 1 of clones, librbd refuses to unprotect it. It gets the name
    of a snapshot for a clone, and goes with the last of those images.
    """
    with (
        contextlib.suppress(driver.rbd.ImageNotFound),
        driver.images.opened(snapshot.volume_name) as image,
    ):
        if snapshot.name not in image_handles.snapshot_names(image):
            return
        with image_handles.at(image, snapshot.name):
            children = list(image.list_children2())
        if (
            not children
            or not all(child['trash'] for child in children)
            or not image.is_protected_snap(snapshot.name)
        ):
            return
        try:
            image.unprotect_snap(snapshot.name)
        except driver.rbd.ImageBusy:
            name = children[0]['image'] + image_handles.CLONE_SNAPSHOT
            image.rename_snap(snapshot.name, name)
            LOG.info(
                'Snapshot %(old)s is %(new)s until its clones in the trash '
                'are removed',
                {'old': snapshot.name, 'new': name},
            )


class Relatives:
    """The sources of clones in the pool of a back end."""

    def __init__(
        self, driver: protocols.Driver, client: protocols.Client
    ) -> None:
        self._driver = driver
        self._client = client

    def is_there(self, name: str) -> bool:
        """Return whether the pool has an image of a name."""
        librbd = releases.off_the_hub(self._driver.librbd)
        return bool(librbd.is_there(self._client.ioctx, name))

    def release(self, parent: Parent) -> None:
        """Remove a clone's snapshot and the sources that it required."""
        if parent.snapshot.endswith(image_handles.CLONE_SNAPSHOT):
            try:
                with self._opened(parent.source) as image:
                    if parent.snapshot in image_handles.snapshot_names(image):
                        _drop(self._driver, image, parent.snapshot)
            except self._driver.rbd.ImageNotFound:
                LOG.debug('Source image %s does not exist', parent.source)
            except locks.VolumeLocked:
                # Whoever holds it alone removes the snapshot afterwards.
                LOG.info('Source image %s is locked', parent.source)
        # This runs in all cases, because the source may have been renamed.
        self.settle(parent.source + image_handles.DELETED_SOURCE)

    def settle_marked(self) -> None:
        """Settle the deleted sources whose clones ended unseen.

        A clone can be flattened, or migrated by another program. Only sources
        that this driver has deleted are looked at.
        """
        ioctx = self._client.ioctx
        for name in self._driver.RBDProxy().list(ioctx):
            if name.endswith(image_handles.DELETED_SOURCE) and entries.mark_of(
                self._driver, ioctx, name
            ):
                self.settle(name)

    def settle(self, name: str) -> None:
        """Remove a deleted source if no clone requires it; release its own.

        A source whose removal takes long goes to the trash.
        """
        if not self.is_there(name):
            # Most sources are not deleted, and to open one takes much longer.
            return
        driver, ioctx = self._driver, self._client.ioctx
        try:
            with lockutils.lock(name, 'rbd-clone-source-'):
                with self._opened(name) as image:
                    drop_unneeded(driver, image)
                    pool = ioctx.get_pool_name()
                    needs = needs_of(driver.rbd, image, pool)
                    if needs.has_snapshots:
                        return
                    is_quick = not driver.purger.takes(image)
                LOG.info('Removing %s, which has no clones left', name)
                mark = entries.mark_of(driver, ioctx, name)
                is_removed = releases.off_main_thread(entries.end)(
                    driver,
                    ioctx,
                    name,
                    mark or trash_mark.Mark(trash_mark.DELETED, '', ''),
                    driver.purger.delay,
                    is_quick,
                )
                if not is_removed:
                    # The purge releases its own sources.
                    return
        except driver.rbd.ImageNotFound:
            return
        for parent in needs.parents:
            self.release(parent)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[Any]:
        client = self._client
        with (
            locks.image(self._driver, name, wait=_SOURCE_WAIT),
            rbd.RBDVolumeProxy(
                self._driver, name, client=client.cluster, ioctx=client.ioctx
            ) as image,
        ):
            yield image
