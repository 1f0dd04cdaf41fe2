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

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import enum
import functools
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.objects import fields
from cinder.volume.drivers import rbd
from oslo_config import cfg
from oslo_log import log as logging

from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.i18n import _
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.lifecycle import migration
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


class _Ending(enum.Enum):
    """What becomes of the image of a deleted volume."""

    REMOVED = 'removed'
    MOVED = 'moved to the trash'
    KEPT = 'kept for its clones'


#: Deletes the image of a volume as the stock driver does.
StockVolume = Callable[[protocols.Volume, protocols.Client], None]
StockSnapshot = Callable[[protocols.Snapshot], None]


def delete_volume(
    driver: protocols.Driver,
    volume: protocols.Volume,
    settle: Callable[[protocols.Volume], None],
    stock: StockVolume,
) -> None:
    """Delete a volume, or the former image of a migrated volume.

    It stays available if it cannot be deleted now: librbd tells a client that
    was killed about the removal of a snapshot, and waits for it. This applies
    only before the removal of its data has begun, with which the image loses
    its name. After that, its owner can delete it again.

    :param settle: ends a retype of the volume that was interrupted
    :raises VolumeIsBusy: if it stays available
    """
    try:
        volume_use.check_has_no_snapshots(volume)
        locks.until_held(
            functools.partial(_delete_alone, driver, volume, settle, stock)
        )
    except exception.VolumeIsBusy as error:
        if volume.status == fields.VolumeStatus.DELETING:
            late_request.deletable(volume)
            _check_not_forgotten(
                volume.group_id or volume.encryption_key_id, error
            )
        raise
    except Exception:
        late_request.deletable(volume)
        raise


def _delete_alone(
    driver: protocols.Driver,
    volume: protocols.Volume,
    settle: Callable[[protocols.Volume], None],
    stock: StockVolume,
) -> None:
    try:
        with locks.exclusive(driver, volume, volume_use.LONG_WAIT) as lock:
            # Its status can have been reset while this waited.
            if volume.status == fields.VolumeStatus.DELETING and (
                lock.volume.status != volume.status
            ):
                raise late_request.ended(volume)
            with _busy_after_timeout(driver, volume.name):
                migration.finished(volume)
                settle(lock.volume)
            with migration.image_needed(driver, volume) as is_needed:
                if is_needed:
                    return
                lock.check()
                with rbd.RADOSClient(driver) as client:
                    if driver.librbd.creations.get(volume.name) is None:
                        _delete_image(driver, volume, client)
                    else:
                        # It is replaced, as a part of a creation.
                        stock(volume, client)
    except exception.VolumeIsBusy as error:
        # The former image of a volume must not become available, nor a volume
        # without its image.
        if volume.migration_status == 'deleting' or not (
            driver.images.exists(volume.name)
        ):
            raise exception.VolumeBackendAPIException(
                data=str(error)
            ) from error
        raise


@contextlib.contextmanager
def _busy_after_timeout(driver: protocols.Driver, name: str) -> Iterator[None]:
    try:
        yield
    except driver.rbd.Timeout as error:
        raise exception.VolumeIsBusy(volume_name=name) from error


def delete_snapshot(
    driver: protocols.Driver,
    snapshot: protocols.Snapshot,
    stock: StockSnapshot,
) -> None:
    """Delete a snapshot, which stays available if that fails now."""
    try:
        locks.until_held(
            functools.partial(delete_idle_snapshot, driver, snapshot, stock)
        )
    except exception.SnapshotIsBusy as error:
        _check_not_forgotten(snapshot.group_snapshot_id, error)
        raise
    except Exception:
        late_request.deletable(snapshot)
        raise


def delete_idle_snapshot(
    driver: protocols.Driver,
    snapshot: protocols.Snapshot,
    stock: StockSnapshot,
) -> None:
    """Delete a snapshot of a volume that nothing replaces.

    :raises SnapshotIsBusy: if a client does not answer, or the volume is
        locked
    """
    librbd = driver.rbd
    try:
        with volume_use.using_snapshot(driver, snapshot):
            try:
                if driver.purger.has_images():
                    relatives.let_go(driver, snapshot)
                stock(snapshot)
            except librbd.Timeout as error:
                if _is_kept(driver, snapshot, error):
                    raise
    except (locks.VolumeLocked, librbd.ImageBusy, librbd.Timeout) as error:
        raise exception.SnapshotIsBusy(snapshot_name=snapshot.name) from error


def _is_kept(
    driver: protocols.Driver,
    snapshot: protocols.Snapshot,
    timeout: Exception,
) -> bool:
    """Return whether a snapshot whose removal timed out is still there.

    The client that did not answer may carry out the removal later. It cannot
    remove a snapshot that is protected again.
    """
    name = snapshot.name
    try:
        with driver.images.opened(snapshot.volume_name) as image:
            is_there = any(s['name'] == name for s in image.list_snaps())
            if is_there and not image.is_protected_snap(name):
                image.protect_snap(name)
    except (driver.rbd.ImageBusy, driver.rbd.Timeout) as error:
        # Only with these would the snapshot become available.
        raise exception.VolumeBackendAPIException(
            data=f'The removal of snapshot {name} timed out ({timeout}), and '
            f'it could not be protected again ({error})'
        ) from error
    return is_there


def _delete_image(
    driver: protocols.Driver,
    volume: protocols.Volume,
    client: protocols.Client,
) -> None:
    """Delete a volume's image, then the sources that only it required.

    A failure of the latter is logged: the purger or the next deletion tries
    again.

    :raises VolumeBackendAPIException: if the image is in a group of RBD
        images, or if its removal has begun and cannot be completed
    :raises VolumeIsBusy: if it is in a live migration, or if a client does not
        answer; its data are complete
    """
    name, ioctx = volume.name, client.ioctx
    sources = relatives.Relatives(driver, client)
    mark, keep = _mark_of(volume)
    ending: _Ending | None = None
    needs: relatives.Needs | None = None
    try:
        with rbd.RBDVolumeProxy(driver, name, ioctx=ioctx) as image:
            ending, needs = _choose(driver, image, bool(keep))
            if ending is _Ending.KEPT:
                write = releases.off_main_thread(entries.write_mark)
                write(driver, ioctx, name, mark)
        if ending is _Ending.KEPT:
            kept = name + image_handles.DELETED_SOURCE
            driver.RBDProxy().rename(ioctx, name, kept)
        elif not _is_removed(driver, ioctx, name, mark, keep, ending):
            driver.purger.wake()
            return
    except driver.rbd.ImageNotFound:
        LOG.info('RBD image %s does not exist', name)
        _complete(driver, ioctx, name)
    with _clean_up(driver, name):
        if ending is _Ending.KEPT:
            sources.settle(name + image_handles.DELETED_SOURCE)
            return
        # The image does not name its source if the clone was flattened. There
        # is no image if its creation was interrupted early.
        for parent in (needs and needs.parents) or _recorded(volume):
            sources.release(parent)
            kept = parent.source + image_handles.DELETED_SOURCE
            if needs is None and not sources.is_there(kept):
                # The deletion of its last clone removes the source, too.
                _complete(driver, ioctx, kept)


def _mark_of(volume: protocols.Volume) -> tuple[trash_mark.Mark, int]:
    """Return the mark of a deleted volume, and the seconds to keep it.

    The key of an encrypted volume is destroyed before the driver is called:
    nobody could read its data. A former image is not a volume's any more.
    """
    mark = trash_mark.Mark(trash_mark.DELETED, volume.project_id, volume.id)
    specs = request.specs_of(volume.volume_type)
    if volume.encryption_key_id or volume.migration_status == 'deleting':
        return mark, 0
    try:
        hours = registry.OPTIONS[keys.KEEP_DELETED].parse(
            specs[keys.KEEP_DELETED]
        )
    except (KeyError, errors.OptionError):
        return mark, 0
    seconds = int(hours) * 3600
    if seconds:
        mark = dataclasses.replace(mark, record=_record_of(volume))
    return mark, seconds


def _choose(
    driver: protocols.Driver, image: bindings.OpenImage, is_wanted: bool
) -> tuple[_Ending, relatives.Needs]:
    """Decide how the open image of a volume ends, and prepare that.

    :param is_wanted: whether the volume can be restored for some time
    """
    name = image.get_name()
    with _busy_after_timeout(driver, name):
        driver._delete_backup_snaps(image)
    if image.group()['pool'] != _NO_POOL:
        # Of an image in the trash, this would be found too late.
        raise exception.VolumeBackendAPIException(
            data=f'RBD image {name} is in a group of RBD images. Remove it '
            'from the group (rbd group image rm), and delete the volume again'
        )
    relatives.drop_unneeded(driver, image)
    pool = driver.configuration.rbd_pool
    needs = relatives.needs_of(driver.rbd, image, pool)
    if any(
        snap.endswith(image_handles.CLONE_SNAPSHOT) for snap in needs.snapshots
    ):
        return _Ending.KEPT, needs
    if is_wanted or needs.has_snapshots or driver.purger.takes(image):
        return _Ending.MOVED, needs
    with _clean_up(driver, name):
        image_handles.rebuild_map(image)
    return _Ending.REMOVED, needs


def _is_removed(
    driver: protocols.Driver,
    ioctx: Any,
    name: str,
    mark: trash_mark.Mark,
    keep: int,
    ending: _Ending,
) -> bool:
    """Remove an image, or move it to the trash; return whether it is removed.

    It goes to the trash, too, if a client has it open.
    """
    remove = releases.off_main_thread(entries.remove_now)
    move = releases.off_main_thread(entries.move)
    try:
        if ending is _Ending.REMOVED and remove(driver, ioctx, name):
            return True
        move(driver, ioctx, name, mark, max(driver.purger.delay, keep))
    except driver.rbd.ImageNotFound as error:
        if not driver.librbd.is_there(ioctx, name):
            raise
        raise exception.VolumeBackendAPIException(
            data=_(
                'RBD image %s cannot be removed, because its pool is full and '
                'has no trash directory yet. Raise the quota or add storage, '
                'and delete the volume again'
            )
            % name
        ) from error
    except driver.rbd.ImageBusy as error:
        raise exception.VolumeIsBusy(volume_name=name) from error
    return False


def _complete(driver: protocols.Driver, ioctx: Any, name: str) -> None:
    """Complete an earlier removal of an image, if it was interrupted.

    The stock driver considers the volume of such an image deleted.

    :raises VolumeBackendAPIException: if a client has it open. A part of the
        data may be lost, so that it must not become available.
    """
    librbd = releases.off_the_hub(driver.librbd)
    until = time.monotonic() + open_image.WATCHED_FOR
    while True:
        try:
            if librbd.complete_removal(ioctx, name):
                LOG.info('Completed the removal of image %s', name)
            return
        except driver.rbd.ImageBusy as error:
            if time.monotonic() > until:
                raise exception.VolumeBackendAPIException(
                    data=f'The removal of RBD image {name} is not complete: '
                    f'{error}. Delete the volume again'
                ) from error
        time.sleep(open_image.PAUSE)


@contextlib.contextmanager
def _clean_up(driver: protocols.Driver, name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if blocklisting.is_repeated(driver, error):
            raise
        LOG.exception('Could not clean up after the deletion of %s', name)


def _check_not_forgotten(reason: str | None, busy: Exception) -> None:
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
