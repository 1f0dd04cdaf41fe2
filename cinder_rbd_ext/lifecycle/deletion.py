# SPDX-License-Identifier: Apache-2.0

"""Deletion of volumes, and of leftovers of their clones.

The image is marked and moved to the trash, and the volume is gone in about a
second, whatever its size. If its removal is quick, it follows at once. What
stays in the trash, the purger (:mod:`cinder_rbd_ext.trash.purger`) removes:
large images, and one that a client has open when no client has. Only Cinder's
API refuses deletions. One that it has accepted is carried out: the key or the
group of the volume may be gone already, and Nova does not repeat a deletion.

What a kill leaves: before the move, the image with its name. Cinder's table of
workers has the deletion, and the service repeats it when it starts. After the
move, an entry in the trash; the repeated deletion finds no image. Between the
removal and the release of the parent, a snapshot without a clone, which the
repeated deletion removes.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
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


StockSnapshot = Callable[[protocols.Snapshot], None]


def delete_volume(
    driver: protocols.Driver,
    volume: protocols.Volume,
    settle: Callable[[protocols.Volume], None],
) -> None:
    """Delete a volume, or the former image of a migrated volume.

    It stays available if it cannot be deleted now: librbd tells a client that
    was killed about the removal of a snapshot, and waits for it. This applies
    only before the image loses its name. After that, its owner can delete it
    again.

    :param settle: ends a retype of the volume that was interrupted
    :raises VolumeIsBusy: if it stays available
    """
    is_deleted = volume.status == fields.VolumeStatus.DELETING
    reason = is_deleted and (volume.group_id or volume.encryption_key_id)
    with _repeatable(volume, reason):
        volume_use.check_has_no_snapshots(volume)
        locks.until_held(
            functools.partial(_delete_alone, driver, volume, settle)
        )


def _delete_alone(
    driver: protocols.Driver,
    volume: protocols.Volume,
    settle: Callable[[protocols.Volume], None],
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
                    _delete_image(driver, volume, client)
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
    with _repeatable(snapshot, snapshot.group_snapshot_id):
        locks.until_held(
            functools.partial(delete_idle_snapshot, driver, snapshot, stock)
        )


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

    :raises VolumeBackendAPIException: if the image is in a group of RBD images
    :raises VolumeIsBusy: if it is in a live migration, or if a client does not
        answer; its data are complete
    """
    name, ioctx = volume.name, client.ioctx
    sources = relatives.Relatives(driver, client)
    kept = name + image_handles.DELETED_SOURCE
    is_kept = False
    parents: tuple[relatives.Parent, ...] = ()
    try:
        with rbd.RBDVolumeProxy(driver, name, ioctx=ioctx) as image:
            needs = _examined(driver, image)
            is_kept = any(
                each.endswith(image_handles.CLONE_SNAPSHOT)
                for each in needs.snapshots
            )
            mark, keep = _mark_of(volume)
            delay = max(driver.purger.delay, keep)
            is_quick = not driver.purger.takes(image)
            if driver.librbd.creations.get(name) is not None:
                # It is empty, and an import replaces it.
                delay, is_quick = 0, True
            is_quick = is_quick and not needs.has_snapshots
            if is_quick:
                with _clean_up(driver, name):
                    image_handles.rebuild_map(image)
        if is_kept:
            write = releases.off_main_thread(entries.write_mark)
            write(driver, ioctx, name, mark)
            driver.RBDProxy().rename(ioctx, name, kept)
        elif not _is_removed(driver, ioctx, name, mark, delay, is_quick):
            # The purge releases its sources.
            return
        parents = needs.parents
    except driver.rbd.ImageNotFound:
        LOG.info('RBD image %s does not exist', name)
        # The undo of its creation may have been interrupted, or its removal by
        # the stock driver.
        releases.off_the_hub(driver.librbd).complete_removal(ioctx, name)
    with _clean_up(driver, name):
        if is_kept:
            sources.settle(kept)
            return
        # The image names no source if the clone was flattened.
        for parent in parents or _recorded(volume):
            sources.release(parent)


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


def _examined(
    driver: protocols.Driver, image: bindings.OpenImage
) -> relatives.Needs:
    """Return who needs the open image of a volume, after what can go."""
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
    return relatives.needs_of(driver.rbd, image, driver.configuration.rbd_pool)


def _is_removed(
    driver: protocols.Driver,
    ioctx: Any,
    name: str,
    mark: trash_mark.Mark,
    delay: int,
    is_quick: bool,
) -> bool:
    """Move an image to the trash; return whether it is removed from there."""
    end = releases.off_main_thread(entries.end)
    try:
        return bool(end(driver, ioctx, name, mark, delay, is_quick))
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


@contextlib.contextmanager
def _clean_up(driver: protocols.Driver, name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if blocklisting.is_repeated(driver, error):
            raise
        LOG.exception('Could not clean up after the deletion of %s', name)


@contextlib.contextmanager
def _repeatable(
    deleted: protocols.Volume | protocols.Snapshot, reason: object
) -> Iterator[None]:
    """Let the owner of what could not be deleted repeat that.

    If a volume or a snapshot of a group is busy, its manager goes on, removes
    the records of the whole group, and leaves the image or its snapshot. The
    key of an encrypted volume was destroyed before the driver was called.

    :param reason: id of the group, of the group snapshot, or of the key, with
        which it must not become available
    :raises VolumeBackendAPIException: if it is busy, with such a reason;
        Cinder then sets an error status
    """
    try:
        yield
    except (exception.SnapshotIsBusy, exception.VolumeIsBusy) as error:
        late_request.deletable(deleted)
        if reason:
            raise exception.VolumeBackendAPIException(
                data=str(error)
            ) from error
        raise
    except Exception:
        late_request.deletable(deleted)
        raise


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
