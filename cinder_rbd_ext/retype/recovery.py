# SPDX-License-Identifier: Apache-2.0

"""Completion of retypes that a killed service interrupted.

Everything is derived from the marker in the database and from the images in
the cluster. Recovery changes a volume's status only if the database, read
inside the volume's lock, has the status ``retyping`` without a migration and
the former type, the marker is not void, and no service has written the marker
for :data:`STALE <cinder_rbd_ext.retype.marker.STALE>` seconds. Then it
completes a swap that has begun, and otherwise returns the volume to its former
type and status. In all other cases it only removes the images that the retype
has left. If the marker is void, the status ``retyping`` belongs to another
request. If that one does not begin within these seconds, recovery returns the
volume to its former status too.

A migration that was interrupted before Cinder saved the new back end is undone
in the same way: the volume gets its former status, and the copy is removed.
Whatever the status is, a verified copy stays for these seconds: Cinder may be
about to save the new back end. Once it has, the former image is moved to the
trash (:mod:`cinder_rbd_ext.lifecycle.migration`).

An image that a client has open cannot be removed. The copy of a retype then
stays in the trash without a marker, and is removed with the kept sources. For
other images, recovery tries again for twice these seconds, continues with the
other tasks, and begins again with the next statistics.

A service that is killed before the driver has written its marker loses the
request. The next service waits for these seconds, in which it receives the
requests that were not lost. Then it returns the volumes that still have the
status of a request, no marker and no target volume, and that were not changed
since it started. A request that is received even later finds a volume that may
be used again. A retype then ends, and so does a copy by Cinder, if it would
lose data (:mod:`cinder_rbd_ext.lifecycle.migration`).

A copy of an unused volume by Cinder ends with its service. Without a cluster,
recovery ends the migration as soon as nobody uses the volume or has its image
open. The target volume stays, as with the stock driver.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import datetime
import functools
import threading
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder import quota
from cinder import quota_utils
from cinder.objects import fields
from cinder.volume import volume_types
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.cluster import capacity
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import failures
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import retypes
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import errors
from rbd_volume_options import image_record

LOG = logging.getLogger(__name__)

#: Seconds between two attempts while something is left to do.
PAUSE = 5.0

_INTERRUPTED = 'the volume service was interrupted'

#: The stock driver's part of a retype: volume, new type, difference of types.
Stock = Callable[[Any, Any, Any], tuple[bool, dict[str, Any] | None]]


class Recovery:
    """Completes or undoes the retypes that a killed service interrupted."""

    def __init__(
        self, driver: protocols.Driver, own: retypes.Retypes, stock: Stock
    ) -> None:
        self._driver = driver
        self._retypes = own
        self._stock = stock
        self._searching = threading.Lock()
        self._purging = threading.Lock()
        self._has_searched = False
        self._failures = failures.Failures()
        self._begin()
        # Cinder creates the driver once, before it forks the service. A
        # service that was killed is forked again.
        releases.after_fork(self._begin)

    def _begin(self) -> None:
        self._began = timeutils.utcnow()

    def start(self, free: object = None, total: object = None) -> None:
        """Search in the background.

        The driver calls this whenever Cinder requests its statistics, the free
        and the total capacity of the pool: when the service starts,
        periodically, and after each retype.
        """
        if self._driver.host is None or self._searching.locked():
            return
        is_full = (
            isinstance(free, (int, float))
            and isinstance(total, (int, float))
            and free < total * capacity.LOW
        )
        threading.Thread(
            target=self._run, args=(is_full,), daemon=True
        ).start()

    def _run(self, is_full: bool) -> None:
        self._alone(self._searching, self._search)
        # Other volumes must not wait while an image is removed, which can take
        # minutes.
        step = functools.partial(trash.remove_expired, self._driver, is_full)
        self._alone(self._purging, step)

    def _alone(self, lock: Any, task: Callable[[], None]) -> None:
        """Run a task unless another thread runs it."""
        if not lock.acquire(blocking=False):
            return
        try:
            task()
        except Exception:
            self._failures.log('Could not recover interrupted retypes', {})
        finally:
            lock.release()

    def _search(self) -> None:
        # Statistics are requested, and this is repeated, every minute. An
        # image can have a watcher for much longer.
        until = time.monotonic() + 2 * marker.STALE
        while self.recover_all() and time.monotonic() < until:
            time.sleep(PAUSE)
        self.return_lost()

    def recover_all(self) -> bool:
        """Settle all markers of the back end; return whether some are left."""
        return self._each(marker.marked_volumes(self._driver), self._recover)

    def _each(
        self,
        volume_ids: Iterable[str],
        settle: Callable[[str], bool],
        counts_used: bool = False,
    ) -> bool:
        """Settle volumes, each under its lock; return whether some are left.

        :param counts_used: whether those that are in use or failed count
        """
        is_left = False
        for volume_id in volume_ids:
            try:
                volume = record.stored_volume(volume_id)
                with locks.exclusive(self._driver, volume, wait=0):
                    is_left |= not settle(volume_id)
            except locks.VolumeLocked:
                LOG.debug('Volume %s is in use', volume_id)
                is_left |= counts_used
            except exception.VolumeNotFound:
                LOG.debug('Volume %s was deleted', volume_id)
            except self._driver.rbd.ImageBusy:
                LOG.debug('An image of volume %s has a watcher', volume_id)
                is_left = True
            except Exception:
                self._failures.log(
                    'Could not settle the retype of volume %(id)s',
                    {'id': volume_id},
                )
                is_left |= counts_used
        return is_left

    def return_lost(self) -> None:
        """Return the volumes whose requests were lost with another service."""
        if self._has_searched or not self._has_waited(self._began):
            return
        admin = context.get_admin_context()
        place = marker.place_of(self._driver)
        # With the next statistics, those in use are tried again.
        self._has_searched = not self._each(
            [
                volume.id
                for status in (
                    {'status': marker.RETYPING},
                    {'migration_status': marker.STARTING},
                    {'migration_status': marker.MIGRATING},
                )
                for volume in objects.VolumeList.get_all(
                    admin, filters={**status, **place}
                )
            ],
            self._return,
            counts_used=True,
        )

    def _has_waited(self, changed: datetime.datetime) -> bool:
        """Return whether a request would have been received since a change."""
        since = max(timeutils.normalize_time(changed), self._began)
        age = timeutils.utcnow() - since
        return bool(age.total_seconds() >= marker.STALE)

    def _return(self, volume_id: str) -> bool:
        """Return a volume to its former status if its request was lost.

        :returns: whether that is certain
        """
        volume = record.stored_volume(volume_id)
        changed = timeutils.normalize_time(volume.updated_at)
        if (
            changed <= self._began
            and marker.read(volume.admin_metadata) is None
            and (
                marker.is_migrating(volume) or volume.status == marker.RETYPING
            )
        ):
            # Without a migration, it is the target of an earlier one.
            may_be_copied = self._driver.cluster_name or (
                marker.is_migrating(volume)
                and volume.migration_status != marker.STARTING
            )
            if (may_be_copied and _has_target(volume)) and (
                # A service of the cluster, or Nova, may be copying the data.
                self._driver.cluster_name
                or volume.migration_status != marker.MIGRATING
                or volume.previous_status != fields.VolumeStatus.AVAILABLE
                or volume.status not in marker.MIGRATED
                or volume.volume_attachment
                or open_image.watchers_of(self._driver, volume.name)
            ):
                return False
            _end(volume)
        return True

    def _recover(self, volume_id: str) -> bool:
        """Settle the marker of a volume; return whether it is settled."""
        volume = record.stored_volume(volume_id)
        mark = marker.read(volume.admin_metadata)
        is_of_marker = mark is not None and _is_of_marker(volume, mark)
        if (
            mark
            and not mark.is_stale
            and (is_of_marker or marker.is_unsaved(volume, mark))
        ):
            return False
        is_disowned = mark is not None and _is_disowned(volume, mark)
        if is_disowned and not self._has_waited(volume.updated_at):
            return False
        if mark and is_of_marker:
            if mark.pool:
                _end(volume)
            else:
                self._resume(volume, mark)
        self._retypes.leftovers.settle(volume_id)
        if is_disowned:
            _end(volume)
        return True

    def _resume(self, volume: protocols.Volume, mark: marker.Marker) -> None:
        """Complete or undo an interrupted retype, and save the result."""
        LOG.info('Resuming the retype of volume %s', volume.id)
        admin = context.get_admin_context()
        images = swap.Images(self._driver, volume.name, mark)
        is_swapped = images.complete_swap(mark.copy_id)
        if not is_swapped:
            # A service that is only slow must not swap after the volume is
            # given back.
            trash.discard(images)
        type_id = mark.type_id if is_swapped else volume.volume_type_id
        try:
            new_type = objects.VolumeType.get_by_id(admin, type_id)
            decided = self._retypes.make_plan(volume, new_type, is_swapped)
        except (errors.OptionError, exception.VolumeTypeNotFound) as error:
            # The limits of the back end or the type have changed meanwhile.
            LOG.warning(
                'Volume %(id)s is returned to its former type. Volume type '
                '%(type)s does not fit any more: %(error)s',
                {'id': volume.id, 'type': type_id, 'error': error},
            )
            if is_swapped:
                # Nobody has used the copy yet.
                images.swap_back(mark.copy_id)
                self._resume(volume, mark)
                return
            _save(admin, volume, type_id, {})
            retypes.refuse(volume, _INTERRUPTED)
            return
        if not is_swapped:
            # Only the features may have changed. They are changed back.
            decided = dataclasses.replace(decided, target=None)
        diff, _ = volume_types.volume_types_diff(
            admin, volume.volume_type_id, type_id
        )
        # Without a type, replication is enabled again if it was disabled.
        changed = new_type if is_swapped else None
        stock = functools.partial(self._stock, volume, changed, diff)
        update = self._retypes.complete(volume, new_type, decided, stock)
        _save(admin, volume, type_id, (is_swapped and update) or {})
        if not is_swapped:
            retypes.refuse(volume, _INTERRUPTED)


def _is_of_marker(volume: protocols.Volume, mark: marker.Marker) -> bool:
    """Return whether a volume has the status that the marker's request set."""
    if mark.pool:
        return bool(
            volume.migration_status == marker.MIGRATING
            and image_record.backend_of(volume) == mark.left
            and not mark.is_void
        )
    return bool(
        volume.status == marker.RETYPING
        and not marker.is_migrating(volume)
        and volume.volume_type_id != mark.type_id
        and not mark.is_void
    )


def _is_disowned(volume: protocols.Volume, mark: marker.Marker) -> bool:
    """Return whether a volume has the status of a retype without a marker."""
    return bool(
        mark.is_void
        and not mark.pool
        and volume.status == marker.RETYPING
        and not marker.is_migrating(volume)
        and not _has_target(volume)
    )


def _has_target(volume: protocols.Volume) -> bool:
    """Return whether Cinder copies the data of a volume to another one."""
    targets = {'migration_status': f'target:{volume.id}'}
    admin = context.get_admin_context()
    return bool(objects.VolumeList.get_all(admin, filters=targets))


def _end(volume: protocols.Volume) -> None:
    """Save the failure of a retype or migration, as Cinder's manager does."""
    status = volume.status
    if status in (marker.RETYPING, marker.MAINTENANCE):
        status = volume.previous_status or 'available'
    migration_status = volume.migration_status
    if marker.is_migrating(volume):
        migration_status = 'error'
    saved = volume.conditional_update(
        {'status': status, 'migration_status': migration_status},
        {
            'status': volume.status,
            'migration_status': volume.migration_status,
            'host': volume.host,
        },
    )
    if not saved:
        raise marker.Cancelled(id=volume.id)
    user_messages.refused(
        volume, user_messages.Operation.MIGRATION, _INTERRUPTED
    )
    LOG.info('Volume %s: the interrupted request has ended', volume.id)


def _save(
    admin: Any,
    volume: protocols.Volume,
    type_id: str | None,
    update: dict[str, Any],
) -> None:
    """Save the result of a retype, as Cinder's manager does."""
    former = volume.volume_type_id
    reserved = []
    if type_id != former:
        reserved = _reserved(admin, volume, type_id)
    saved = volume.conditional_update(
        {
            'volume_type_id': type_id,
            'status': volume.previous_status or 'available',
            **update,
        },
        {
            'status': marker.RETYPING,
            'migration_status': volume.migration_status,
            'volume_type_id': former,
        },
    )
    if not saved:
        raise marker.Cancelled(id=volume.id)
    for snapshot in volume.snapshots:
        snapshot.volume_type_id = type_id
        snapshot.save()
    if reserved:
        quota.QUOTAS.commit(admin, reserved, project_id=volume.project_id)
    LOG.info('Volume %s: the interrupted retype has ended', volume.id)


def _reserved(
    admin: Any, volume: protocols.Volume, type_id: str | None
) -> list[Any]:
    """Return quota reservations for the change of the type.

    The reservations of the interrupted request expire. Without free quota,
    the usage is counted for the former type.
    """
    try:
        return [
            *quota_utils.get_volume_type_reservation(
                admin, volume, type_id, reserve_vol_type_only=True
            ),
            *quota_utils.get_volume_type_reservation(
                admin,
                volume,
                volume.volume_type_id,
                reserve_vol_type_only=True,
                negative=True,
            ),
        ]
    except exception.CinderException as error:
        LOG.warning(
            'The quota usage of volume %(id)s is still counted for its former '
            'type, run "cinder-manage quota sync": %(error)s',
            {'id': volume.id, 'error': error},
        )
        return []
