# SPDX-License-Identifier: Apache-2.0

"""Use of a volume's image, under the volume's lock.

Cinder's statuses keep most requests from a volume whose image is replaced or
removed, but not those that were accepted just before, and none about its
snapshots. Those wait for the lock (:mod:`cinder_rbd_ext.locks`).
"""

from collections.abc import Iterator
import contextlib
import functools
import threading
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.objects import fields

from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.trash import relatives
from rbd_volume_options import image_handles

#: Seconds for which a request waits that would leave a volume in an error
#: status. The longest operation that holds the lock is a clone that copies
#: all data.
LONG_WAIT = 600.0

#: Seconds for which an attachment waits. Cinder's API and cinder-backup wait
#: for 60 seconds. A backup whose attachment fails gets the status ``error``.
SHORT_WAIT = 45.0

# Seconds for which any attachment waits, and the maximum number of those that
# wait longer.
_MOMENT = 1.0
_MOST_WAITING = 8

# Migration statuses of a volume whose data Cinder copies, or has copied.
_COPIED = (marker.MIGRATING, 'completing')


@contextlib.contextmanager
def using(
    driver: protocols.Driver,
    volume: protocols.Volume,
    wait: float = locks.WAIT,
) -> Iterator[Any]:
    """Hold the lock of a volume together with other users of its image.

    :returns: the volume as in the database, with the context of the given one
    :raises VolumeLocked: if not in time, or if the volume was migrated
    """
    with locks.shared(driver, volume, wait) as current:
        take(driver, current)
        yield current


@contextlib.contextmanager
def alone(driver: protocols.Driver, volume: protocols.Volume) -> Iterator[Any]:
    """Act as :func:`using` alone, to replace the data of the volume.

    :raises VolumeLocked: if a client has its image open, too
    :raises VolumeBackendAPIException: if it no longer has the status of the
        request
    """
    with locks.exclusive(driver, volume, LONG_WAIT) as lock:
        current = lock.volume
        take(driver, current)
        check_not_copied(current)
        if current.status != volume.status:
            raise late_request.ended(volume)
        # Its status can have been reset while a server uses it.
        clients = functools.partial(driver.images.clients_of, current.name)
        # The image does not exist if an earlier re-image was interrupted.
        with contextlib.suppress(driver.rbd.ImageNotFound):
            if open_image.stays_open(current.name, clients):
                raise locks.VolumeLocked(
                    f'Volume {volume.id}: {image_handles.IN_USE}'
                )
        lock.check()
        try:
            yield current
        finally:
            relatives.drop_unneeded_of(driver, current.name)


@contextlib.contextmanager
def using_snapshot(
    driver: protocols.Driver,
    snapshot: protocols.Snapshot,
    wait: float = locks.WAIT,
    is_here: bool = True,
) -> Iterator[Any]:
    """Act as :func:`using` for the volume of a snapshot, which then has it.

    :param is_here: whether the volume must be on the back end of the driver
    """
    with locks.shared_by_id(
        driver, snapshot.volume_id, snapshot._context, wait
    ) as current:
        take(driver, current, is_here)
        snapshot.volume = current
        # Cinder does not save a snapshot with another volume.
        snapshot.obj_reset_changes(['volume'])
        yield current


class Attaching:
    """The attachments of a back end.

    A tenant can request any number. Each that waits holds one of the threads
    for requests (64 by default), so only a few wait.
    """

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(_MOST_WAITING)

    @contextlib.contextmanager
    def holding(
        self, driver: protocols.Driver, volume: protocols.Volume
    ) -> Iterator[Any]:
        """Hold the lock of a volume, shared.

        :returns: the volume as in the database
        :raises VolumeLocked: if it could not be taken in time
        """
        with contextlib.ExitStack() as stack:
            lock = functools.partial(locks.shared, driver, volume)
            try:
                current = stack.enter_context(lock(_MOMENT))
            except locks.VolumeLocked:
                if not self._places.acquire(blocking=False):
                    raise
                try:
                    current = stack.enter_context(lock(SHORT_WAIT))
                finally:
                    self._places.release()
            yield current


def renamed(image_id: str) -> list[Any]:
    """Return the volumes whose images have this id, of another volume.

    They have been migrated by Cinder. Former images are left out.
    """
    volumes = objects.VolumeList.get_all(
        context.get_admin_context(), filters={'_name_id': image_id}
    )
    return [each for each in volumes if each.migration_status != 'deleting']


def take(
    driver: protocols.Driver, volume: protocols.Volume, is_here: bool = True
) -> None:
    """Check, and begin, the use of a volume whose lock is held.

    A request that copies it, and has lost its lock, ends with that.

    :param volume: as in the database, read inside the lock
    :param is_here: whether it must be on the back end of the driver
    :raises VolumeLocked: if it was migrated
    """
    if is_here:
        check_not_migrated(driver, volume)
    commit.void(volume)


def check_not_migrated(
    driver: protocols.Driver, volume: protocols.Volume
) -> None:
    """Check that a volume was not migrated to another back end.

    :param volume: as in the database, read inside the lock
    :raises VolumeLocked: if it was
    """
    # The volume of a request does not show it: a snapshot comes without its
    # volume, and Cinder reads the source of a clone when the request arrives.
    if not marker.is_here(driver, volume):
        raise locks.VolumeLocked(volume_id=volume.id)


def check_not_copied(volume: protocols.Volume) -> None:
    """Check that Cinder does not copy the data of an unused volume.

    What a client writes meanwhile would be lost: Cinder deletes the former
    image. The connection of the copy itself has no attachment.

    :param volume: as in the database
    :raises VolumeLocked: if it does, and another client is about to connect
    """
    if is_copied(volume) and (
        volume.volume_attachment or volume.status not in marker.MIGRATED
    ):
        raise locks.VolumeLocked(volume_id=volume.id)


def check_has_no_snapshots(volume: protocols.Volume) -> None:
    """Check that Cinder has no snapshots of a volume that is being deleted.

    After SnapshotIsBusy, its manager goes on and deletes the volume, and would
    keep the record of the snapshot for ever. Its API can also have accepted a
    snapshot at the same moment.

    :raises VolumeIsBusy: if it has; the volume becomes available
    """
    if volume.status == fields.VolumeStatus.DELETING and (
        objects.SnapshotList.get_all_for_volume(
            context.get_admin_context(), volume.id
        )
    ):
        raise exception.VolumeIsBusy(volume_name=volume.name)


def is_copied(volume: protocols.Volume) -> bool:
    """Return whether Cinder copies the data of an unused volume."""
    return bool(
        volume.migration_status in _COPIED
        and volume.previous_status == fields.VolumeStatus.AVAILABLE
    )
