# SPDX-License-Identifier: Apache-2.0

"""Deletion of volumes, and of leftovers of their clones.

An image whose removal is quick is removed at once. Otherwise it is marked and
moved to the trash, where the purger (:mod:`cinder_rbd_ext.trash.purger`) finds
it: the volume is gone in about a second, whatever its size. So is an image
that a client has open: the purger removes it only when no client has. Only
Cinder's API refuses deletions. One that it has accepted is carried out: the
key or the group of the volume may be gone already, and Nova does not repeat a
deletion.

What a kill leaves: before the move, the image with its name. Cinder's table of
workers has the deletion, and the service repeats it when it starts. After the
move, an entry in the trash; the repeated deletion finds no image. During a
removal, an entry of librbd's own, which the repeated deletion finds by the
name. Between the removal and the release of the parent, a snapshot without a
clone, which the repeated deletion removes.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_config import cfg
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.i18n import _
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.trash import entries
from cinder_rbd_ext.trash import relatives
from rbd_volume_options import bindings
from rbd_volume_options import errors
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import trash_mark

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

_NO_POOL = -1


@dataclasses.dataclass
class _Deletion:
    """The deletion of a volume.

    :ivar keep: seconds for which it can be restored from the trash
    :ivar is_moved: whether its image goes to the trash
    :ivar is_kept: whether the image is kept for its clones
    :ivar parents: the snapshots from which its image was cloned; None if the
        image was not found
    """

    mark: trash_mark.Mark
    keep: int = 0
    is_moved: bool = False
    is_kept: bool = False
    parents: tuple[relatives.Parent, ...] | None = None


class Deletions:
    """Removes a volume's image, or moves it to the trash.

    The stock driver removes the snapshot of a clone from its source only if
    the clone itself cannot be removed immediately. A failure of that is
    logged: the purger or the next deletion tries again.
    """

    def __init__(
        self, driver: protocols.Driver, under_way: creations.Creations
    ) -> None:
        self._driver = driver
        self._under_way = under_way
        self._current: dict[str, _Deletion] = {}

    @contextlib.contextmanager
    def deleting(
        self, volume: protocols.Volume, client: protocols.Client
    ) -> Iterator[None]:
        """Delete a volume, then the sources that only it required.

        The stock driver also deletes an image to replace it. That is part of a
        creation.
        """
        if self._under_way.get(volume.name) is not None:
            yield
            return
        deletion = _Deletion(
            trash_mark.Mark(trash_mark.DELETED, volume.project_id, volume.id)
        )
        # The key of an encrypted volume is destroyed, and a former image is
        # not a volume's any more.
        is_useless = (
            volume.encryption_key_id is not None
            or volume.migration_status == 'deleting'
        )
        if self._driver.purger.is_on and not is_useless:
            deletion.keep = _seconds_to_keep(volume)
        if deletion.keep:
            deletion.mark = dataclasses.replace(
                deletion.mark, record=_record_of(volume)
            )
        sources = relatives.Relatives(self._driver, client)
        removers = self._driver.librbd.removers
        self._current[volume.name] = deletion
        removers[volume.name] = functools.partial(self._remove, deletion)
        try:
            yield
        finally:
            del self._current[volume.name], removers[volume.name]
        if deletion.is_moved:
            self._driver.purger.wake()
            return
        if deletion.parents is None:
            # The stock driver considers such a volume deleted.
            self._complete(client, volume.name)
        with self._clean_up(volume.name):
            if deletion.is_kept:
                sources.settle(volume.name + image_handles.DELETED_SOURCE)
                return
            # The image does not name its source if the clone was flattened.
            # There is no image if its creation was interrupted early.
            for parent in deletion.parents or _recorded(volume):
                sources.release(parent)
                kept = parent.source + image_handles.DELETED_SOURCE
                if deletion.parents is None and not sources.is_there(kept):
                    # The deletion of its last clone removes the source, too.
                    self._complete(client, kept)

    def opened(self, image: bindings.OpenImage) -> None:
        """Decide how the image of a volume that is being deleted goes.

        :raises VolumeBackendAPIException: if it is in a group of RBD images,
            from which it must be removed first
        """
        name = image.get_name()
        deletion = self._current.get(name)
        if deletion is None:
            return
        driver = self._driver
        if image.group()['pool'] != _NO_POOL:
            # Of an image in the trash, this would be found too late.
            raise exception.VolumeBackendAPIException(
                data=f'RBD image {name} is in a group of RBD images. Remove '
                'it from the group (rbd group image rm), and delete the '
                'volume again'
            )
        pool = driver.configuration.rbd_pool
        relatives.drop_unneeded(driver, image)
        needs = relatives.needs_of(driver.rbd, image, pool)
        deletion.parents = needs.parents
        deletion.is_kept = any(
            snapshot.endswith(image_handles.CLONE_SNAPSHOT)
            for snapshot in needs.snapshots
        )
        deletion.is_moved = not deletion.is_kept and (
            bool(deletion.keep)
            or driver.purger.takes(image)
            or (driver.purger.is_on and needs.has_snapshots)
        )
        if not (deletion.is_kept or deletion.is_moved or needs.has_snapshots):
            with self._clean_up(name):
                image_handles.rebuild_map(image)
        if deletion.is_kept:
            write = functools.partial(entries.write_mark, driver)
            releases.off_main_thread(write)(image.ioctx, name, deletion.mark)

    def _remove(
        self,
        deletion: _Deletion,
        librbd: Any,
        ioctx: bindings.Ioctx,
        name: str,
    ) -> None:
        """Remove an image, or move it to the trash, as the stock driver asks.

        It goes to the trash if a client has it open.
        """
        driver = self._driver
        if not deletion.is_moved:
            try:
                librbd.remove(ioctx, name)
                return
            except driver.rbd.ImageNotFound as error:
                if not driver.librbd.is_there(ioctx, name):
                    raise
                raise exception.VolumeBackendAPIException(
                    data=_(
                        'RBD image %s cannot be removed, because its pool is '
                        'full and has no trash directory yet. Raise the quota '
                        'or add storage, and delete the volume again'
                    )
                    % name
                ) from error
            except driver.rbd.ImageBusy:
                if not driver.purger.is_on:
                    raise
            deletion.is_moved = True
        delay = max(driver.purger.delay, deletion.keep)
        entries.move(driver, ioctx, name, deletion.mark, delay)

    def _complete(self, client: protocols.Client, name: str) -> None:
        """Complete an earlier removal of an image, if it was interrupted.

        :raises VolumeBackendAPIException: if a client has it open. A part of
            the data may be lost, so that it must not become available.
        """
        librbd = releases.off_the_hub(self._driver.librbd)
        until = time.monotonic() + open_image.WATCHED_FOR
        while True:
            try:
                if librbd.complete_removal(client.ioctx, name):
                    LOG.info('Completed the removal of image %s', name)
                return
            except self._driver.rbd.ImageBusy as error:
                if time.monotonic() > until:
                    raise exception.VolumeBackendAPIException(
                        data=f'The removal of RBD image {name} is not '
                        f'complete: {error}. Delete the volume again'
                    ) from error
            time.sleep(open_image.PAUSE)

    @contextlib.contextmanager
    def _clean_up(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if blocklisting.is_repeated(self._driver, error):
                raise
            LOG.exception('Could not clean up after the deletion of %s', name)


def check_not_forgotten(reason: str | None, busy: Exception) -> None:
    """Check that what could not be deleted may become available again.

    If a volume or a snapshot of a group is busy, its manager goes on, removes
    the records of the whole group, and leaves the image or its snapshot. The
    key of an encrypted volume was destroyed before the driver was called.

    :param reason: id of the group, of the group snapshot, or of the key; None
        if there is none
    :raises VolumeBackendAPIException: if there is one; Cinder then sets an
        error status (:func:`cinder_rbd_ext.late_request.deletable`)
    """
    if reason:
        raise exception.VolumeBackendAPIException(data=str(busy)) from busy


def _seconds_to_keep(volume: protocols.Volume) -> int:
    """Return for how long the type of a volume keeps deleted ones.

    The key of an encrypted volume is destroyed before the driver is called:
    nobody could read its data.
    """
    specs = request.specs_of(volume.volume_type)
    try:
        hours = registry.OPTIONS[keys.KEEP_DELETED].parse(
            specs[keys.KEEP_DELETED]
        )
    except (KeyError, errors.OptionError):
        return 0
    return int(hours) * 3600


def _record_of(volume: Any) -> dict[str, Any]:
    """Return what a restored volume needs, as Cinder's API takes it."""
    admin = context.get_admin_context()
    try:
        rows = db.volume_glance_metadata_get(admin, volume.id)
    except exception.GlanceMetadataNotFound:
        rows = []
    return {
        'host': volume.host,
        'cluster': volume.cluster_name,
        'name': volume.display_name,
        'description': volume.display_description,
        'volume_type': volume.volume_type_id,
        'availability_zone': volume.availability_zone,
        'bootable': bool(volume.bootable),
        'metadata': dict(volume.metadata or {}),
        'image_metadata': {row['key']: row['value'] for row in rows},
    }


def _recorded(volume: protocols.Volume) -> tuple[relatives.Parent, ...]:
    """Return the snapshot for a clone, from the source that Cinder has."""
    if not volume.source_volid:
        return ()
    try:
        source = objects.Volume.get_by_id(
            context.get_admin_context(read_deleted='yes'), volume.source_volid
        ).name
    except exception.VolumeNotFound:
        source = CONF.volume_name_template % volume.source_volid
    return (
        relatives.Parent(source, volume.name + image_handles.CLONE_SNAPSHOT),
    )
