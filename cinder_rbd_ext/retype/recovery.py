# SPDX-License-Identifier: Apache-2.0

"""Completion of requests that a killed service interrupted.

The marker and the row tell what to do, inside the exclusive lock of the volume
(:mod:`cinder_rbd_ext.retype.replacement`). A status is released only if the
service that had set it is down, or does not run the request any more: it was
started again, or the database did not save the end. The update that releases
it also voids the token, and expects the image and the token that were looked
at. If the row names the copy, the request is completed; otherwise the volume
gets its former status and keeps its type. The back end that a volume has left
finds it by its marker, and the one that it has moved to if the other is down.

A service that is killed before the driver has written a marker loses the
request. The next one receives waiting requests for :data:`LOST` seconds, and
then returns the volumes that still have the status of a request, no marker and
no target volume. A request that comes even later saves no status
(:mod:`cinder_rbd_ext.late_request`). A copy of an unused volume by Cinder ends
with its service. Without a cluster, recovery ends the migration when nobody
uses the volume; the target volume stays, as with the stock driver.
"""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
import dataclasses
import functools
import threading
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder import quota
from cinder import quota_utils
from cinder.objects import fields
from cinder.volume import volume_types
from cinder.volume import volume_utils
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.retype import retypes
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)

#: Seconds in which a service that starts receives the requests that wait.
LOST = 70.0

_INTERRUPTED = 'the volume service was interrupted'

#: The stock driver's part of a retype: volume, new type, difference of types.
Stock = Callable[[Any, Any, Any], tuple[bool, dict[str, Any] | None]]


class Recovery:
    """Completes or undoes the retypes that a killed service interrupted."""

    def __init__(
        self,
        driver: protocols.Driver,
        replacements: replacement.Replacements,
        own: retypes.Retypes,
        stock: Stock,
    ) -> None:
        self._driver = driver
        self._replacements = replacements
        self._retypes = own
        self._stock = stock
        self._searching = threading.Lock()
        self._has_searched = False
        self._begin()
        # Cinder creates the driver once, before it forks the service. A
        # service that was killed is forked again.
        releases.after_fork(self._begin)

    def _begin(self) -> None:
        self._began = timeutils.utcnow()

    def start(self) -> None:
        """Search in the background, unless another thread does.

        The driver calls this whenever Cinder requests its statistics: when the
        service starts, periodically, and after each retype.
        """
        if self._driver.host is not None and not self._searching.locked():
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with self._searching:
            try:
                self.recover_all()
                self.return_lost()
                self._replacements.settle_deleted()
            except Exception:
                LOG.exception('Could not search for interrupted requests')

    def recover_all(self) -> bool:
        """Settle all markers of the back end; return whether some are left."""
        return self._each(marker.marked_volumes(self._driver), self._recover)

    def _each(
        self,
        volume_ids: Iterable[str],
        settle: Callable[[str, locks.Held], bool],
    ) -> bool:
        """Settle volumes, each under its lock; return whether some are left.

        They are tried again with the next statistics.
        """
        is_left = False
        for volume_id in volume_ids:
            try:
                volume = record.stored_volume(volume_id)
                with locks.exclusive(self._driver, volume, wait=0) as held:
                    is_left |= not settle(volume_id, held)
            except exception.VolumeNotFound:
                LOG.debug('Volume %s was deleted', volume_id)
            except (locks.VolumeLocked, self._driver.rbd.ImageBusy) as error:
                LOG.debug('Volume %s is in use: %s', volume_id, error)
                is_left = True
            except Exception:
                LOG.exception(
                    'Could not settle the request for volume %s', volume_id
                )
                is_left = True
        return is_left

    def return_lost(self) -> None:
        """Return the volumes whose requests were lost with another service."""
        age = timeutils.utcnow() - self._began
        if self._has_searched or age.total_seconds() < LOST:
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
        )

    def _return(self, volume_id: str, held: locks.Held) -> bool:
        """Return a volume to its former status if its request was lost.

        :returns: whether that is certain
        """
        volume = held.volume
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

    def _recover(self, volume_id: str, held: locks.Held) -> bool:
        """Settle the marker of a volume; return whether it is settled."""
        volume = held.volume
        mark = marker.read(volume.admin_metadata)
        if mark is None:
            return True
        if mark.left and volume.name_id == mark.image:
            # The other back end has the volume, and may be using it.
            held.add(mark.image_id, mark.pool)
            volume = record.stored_volume(volume_id)
            if marker.read(volume.admin_metadata) != mark:
                return False
        if marker.is_requested(volume, mark):
            if self._replacements.is_alive(mark):
                return False
            self._release(volume, mark, held)
        self._replacements.settle(volume)
        return True

    def _release(
        self, volume: protocols.Volume, mark: marker.Marker, held: locks.Held
    ) -> None:
        """End a request whose service is gone, as Cinder's manager does."""
        LOG.info('Resuming the request for volume %s', volume.id)
        is_committed = mark.has_begun and volume.name_id == mark.image
        if mark.left:
            _end(volume, is_committed, mark.type_id)
            return
        type_id = mark.type_id if is_committed else volume.volume_type_id
        update = None
        try:
            update = self._complete(volume, type_id, is_committed, held)
        except (errors.OptionError, exception.VolumeTypeNotFound) as error:
            # The limits of the back end or the type have changed meanwhile.
            LOG.warning(
                'Volume %(id)s is returned to its former type. Volume type '
                '%(type)s does not fit any more: %(error)s',
                {'id': volume.id, 'type': type_id, 'error': error},
            )
            is_committed, type_id = False, volume.volume_type_id
        released = {'status': volume.previous_status or 'available'}
        saved = (is_committed and update) or {}
        _save(volume, {**released, **saved}, type_id)
        if not is_committed:
            user_messages.refused(
                volume, user_messages.Operation.LAYOUT, _INTERRUPTED
            )

    def _complete(
        self,
        volume: protocols.Volume,
        type_id: str | None,
        is_committed: bool,
        held: locks.Held,
    ) -> dict[str, Any] | None:
        """Give the image the features, limits and keys of a type."""
        admin = context.get_admin_context()
        new_type = objects.VolumeType.get_by_id(admin, type_id)
        decided = self._retypes.make_plan(volume, new_type, is_committed)
        if not is_committed:
            # Only the features may have changed. They are changed back.
            decided = dataclasses.replace(decided, target=None)
        diff, _ = volume_types.volume_types_diff(
            admin, volume.volume_type_id, type_id
        )
        # Without a type, replication is enabled again if it was disabled.
        changed = new_type if is_committed else None
        stock = functools.partial(self._stock, volume, changed, diff)
        return self._retypes.complete(volume, new_type, decided, stock, held)


def _has_target(volume: protocols.Volume) -> bool:
    """Return whether Cinder copies the data of a volume to another one."""
    targets = {'migration_status': f'target:{volume.id}'}
    admin = context.get_admin_context()
    return bool(objects.VolumeList.get_all(admin, filters=targets))


def _end(
    volume: protocols.Volume, has_moved: bool = False, type_id: str = ''
) -> None:
    """Save the end of a retype or migration, as Cinder's manager does.

    :param has_moved: whether the row has the other back end
    :param type_id: the new type of a volume that has moved; empty for none
    """
    values: dict[str, Any] = {'status': volume.status}
    if volume.status in (marker.RETYPING, marker.MAINTENANCE):
        values['status'] = volume.previous_status or 'available'
    if has_moved:
        values['migration_status'] = 'success'
        with contextlib.suppress(exception.ServiceNotFound):
            service = objects.Service.get_by_args(
                context.get_admin_context(),
                volume_utils.extract_host(volume.host),
                'cinder-volume',
            )
            values['availability_zone'] = service.availability_zone
            values['service_uuid'] = service.uuid
    elif marker.is_migrating(volume):
        values['migration_status'] = 'error'
    new_type = type_id if has_moved and type_id else volume.volume_type_id
    _save(volume, values, new_type)
    if not has_moved:
        user_messages.refused(
            volume, user_messages.Operation.MIGRATION, _INTERRUPTED
        )


def _save(
    volume: protocols.Volume, values: dict[str, Any], type_id: str | None
) -> None:
    """Save the end of a request, and the type of the volume."""
    admin = context.get_admin_context()
    reservations = []
    if type_id != volume.volume_type_id:
        reservations = _reserved(admin, volume, type_id)
    expected = {
        name: getattr(volume, name)
        for name in (
            *('status', 'migration_status', 'host', 'volume_type_id'),
            *('_name_id', 'provider_geometry'),
        )
    }
    columns = {'volume_type_id': type_id, 'provider_geometry': None}
    if not volume.conditional_update({**values, **columns}, expected):
        raise late_request.ended(volume)
    for snapshot in volume.snapshots:
        snapshot.volume_type_id = type_id
        snapshot.save()
    if reservations:
        quota.QUOTAS.commit(admin, reservations, project_id=volume.project_id)
    LOG.info('Volume %s: the interrupted request has ended', volume.id)


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
