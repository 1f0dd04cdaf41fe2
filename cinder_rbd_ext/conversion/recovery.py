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


"""Completion of the conversions that a killed service interrupted."""

from collections.abc import Callable
import datetime
import threading
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder import quota
from cinder import quota_utils
from cinder.volume import volume_types
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import record
from cinder_rbd_ext.conversion import conversions
from cinder_rbd_ext.conversion import marker
from cinder_rbd_ext.conversion import progress
from cinder_rbd_ext.conversion import protection

LOG = logging.getLogger(__name__)

#: Seconds between two searches for interrupted conversions.
INTERVAL = 60.0

# Seconds without progress until another service of a cluster continues.
_STALE = 3 * progress.HEARTBEAT


class Recovery:
    """Completes the conversions that a killed service interrupted.

    The retype is repeated: librbd continues the interrupted step, and does not
    repeat completed steps. Then the new type is saved, as Cinder's manager
    does after a retype.

    :param driver: the driver
    :param found: the conversions of the driver
    :param clock: returns the time in seconds
    """

    def __init__(
        self,
        driver: Any,
        found: conversions.Conversions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = driver
        self._conversions = found
        self._clock = clock
        self._next = clock()
        self._running = False

    def start(self) -> None:
        """Search in the background, at most every :data:`INTERVAL` seconds.

        The driver calls this whenever Cinder requests its statistics: when the
        service starts, and then periodically.
        """
        if (
            self._driver.host is None
            or self._running
            or self._clock() < self._next
        ):
            return
        self._next = self._clock() + INTERVAL
        self._running = True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.resume_all()
        except Exception:
            LOG.exception('Could not search for interrupted conversions')
        finally:
            self._running = False

    def resume_all(self) -> None:
        """Complete all interrupted conversions of the back end."""
        self._forget_saved()
        driver = self._driver
        place = {'host': driver.host}
        if driver.cluster_name:
            place = {'cluster_name': driver.cluster_name}
        left = objects.VolumeList.get_all(
            context.get_admin_context(),
            filters={'status': marker.RETYPING, **place},
        )
        for volume in left:
            found = marker.read(record.items_of(volume.id))
            if (
                found is None
                or found.type_id == volume.volume_type_id
                # The image is converted, and Cinder's manager is about to save
                # the type.
                or volume.id in self._conversions.ended
            ):
                continue
            if driver.cluster_name and not _is_stale(found):
                continue
            try:
                self._resume(volume.id)
            except protection.Busy:
                LOG.debug('Volume %s is being converted', volume.id)
            except Exception:
                LOG.exception(
                    'Could not resume the conversion of volume %s',
                    volume.id,
                )

    def _forget_saved(self) -> None:
        """Remove the markers of conversions whose type Cinder has saved."""
        for volume_id in list(self._conversions.ended):
            try:
                if not conversions.is_retyping(volume_id):
                    marker.forget(volume_id)
                    self._conversions.ended.discard(volume_id)
            except exception.VolumeNotFound:
                self._conversions.ended.discard(volume_id)

    def _resume(self, volume_id: str) -> None:
        with self._conversions.locks.locked(volume_id):
            self._conversions.resumed.add(volume_id)
            try:
                self._resume_locked(volume_id)
            finally:
                self._conversions.resumed.discard(volume_id)
                self._conversions.ended.discard(volume_id)

    def _resume_locked(self, volume_id: str) -> None:
        admin = context.get_admin_context()
        volume = objects.Volume.get_by_id(admin, volume_id)
        found = marker.read(record.items_of(volume_id))
        if volume.status != marker.RETYPING or found is None:
            return
        LOG.info('Resuming the conversion of volume %s', volume_id)
        self._conversions.steps_of(volume, found).finish(found.source_id)
        try:
            done, update = self._retyped(admin, volume, found.type_id)
        except Exception:
            LOG.exception('Could not complete the retype of %s', volume_id)
            done, update = False, None
        if done:
            _save(admin, volume, found.type_id, update or {})
        else:
            # The image may already be converted. The record must match it.
            state = self._driver.images.state_of(volume.name)
            record.made(volume_id, state, record.backend_of(volume))
            volume.update({'status': _status_of(volume)})
            volume.save()
        marker.forget(volume_id)

    def _retyped(
        self, admin: Any, volume: Any, type_id: str
    ) -> tuple[bool, dict[str, Any] | None]:
        new_type = objects.VolumeType.get_by_id(admin, type_id)
        diff, _ = volume_types.volume_types_diff(
            admin, volume.volume_type_id, type_id
        )
        host = {'host': volume.host, 'cluster_name': volume.cluster_name}
        found: tuple[bool, dict[str, Any] | None] = self._driver.retype(
            admin, volume, new_type, diff, host
        )
        return found


def _is_stale(found: marker.Marker) -> bool:
    at = timeutils.normalize_time(timeutils.parse_isotime(found.at))
    limit = datetime.timedelta(seconds=_STALE)
    return bool(timeutils.utcnow() - at > limit)


def _status_of(volume: Any) -> str:
    """Return the status of a volume before its retype."""
    return str(volume.previous_status or 'available')


def _save(
    admin: Any, volume: Any, type_id: str, update: dict[str, Any]
) -> None:
    """Save a completed retype, as Cinder's manager does."""
    reserved = _reserved(admin, volume, type_id)
    volume.update(
        {
            'volume_type_id': type_id,
            'status': _status_of(volume),
            **update,
        }
    )
    volume.save()
    for snapshot in volume.snapshots:
        snapshot.volume_type_id = type_id
        snapshot.save()
    if reserved:
        quota.QUOTAS.commit(admin, reserved, project_id=volume.project_id)
    LOG.info('Volume %s: completed the interrupted retype', volume.id)


def _reserved(admin: Any, volume: Any, type_id: str) -> list[Any]:
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
