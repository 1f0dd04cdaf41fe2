# SPDX-License-Identifier: Apache-2.0

"""The marker of a retype, in the admin metadata of its volume.

The driver writes the marker before the first change and removes it after
Cinder has saved the result. With the images of the cluster, it shows what a
killed service left, and what completes or undoes it.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import json

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from rbd_volume_options import image_record
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: Status of a volume in a retype.
RETYPING = 'retyping'
#: The status of a migration that Cinder's API has accepted, of one that a
#: volume service has begun, and those of a volume that nobody uses meanwhile.
STARTING = 'starting'
MIGRATING = 'migrating'
MAINTENANCE = 'maintenance'
MIGRATED = ('available', MAINTENANCE, RETYPING)

#: Seconds after which a marker belongs to a killed service. A retype waits at
#: most :data:`cinder_rbd_ext.locks.WAIT` for the lock. Cinder needs much
#: less between the end of the driver's part and the new status.
STALE = 70.0

# Values of ``migration_status`` after a migration has ended, or before the
# first one.
_ENDED = (None, 'success', 'error', 'deleting')


class Cancelled(exception.VolumeBackendAPIException):
    """The volume is no longer being retyped or migrated."""

    message = 'The status of volume %(id)s was changed during its retype'


class Superseded(BaseException):
    """A request no longer applies to its volume; it ends here.

    The volume has got another status, from recovery, an administrator, or the
    same request that was delivered twice, and may be in use. After any
    ``Exception`` of a driver, Cinder's volume manager would migrate the
    volume, or write a status. Only if its thread is ended otherwise, it writes
    nothing. The quota reservations of the request expire.
    """

    def __init__(self, volume_id: str) -> None:
        super().__init__(volume_id)
        LOG.warning(
            'The request for volume %s ends: the volume no longer has the '
            'status of the request',
            volume_id,
        )


@dataclasses.dataclass(frozen=True)
class Marker:
    """A retype that the driver has begun.

    :ivar request: id of the request
    :ivar type_id: the new volume type
    :ivar source_id: librbd's id of the image before the retype; empty until
        the retype has begun
    :ivar copy_id: librbd's id of the verified copy; empty if there is none
    :ivar percent: percentage of the data that is copied
    :ivar at: time of the last progress in ISO 8601, UTC
    :ivar is_void: whether another request may now set the status ``retyping``
    :ivar pool: the pool to which a migration copies the image; empty for a
        retype
    :ivar left: the back end from which the volume is migrated
    :ivar destination: the back end to which the volume is migrated
    """

    request: str
    type_id: str
    source_id: str
    copy_id: str = ''
    percent: int = 0
    at: str = ''
    is_void: bool = False
    pool: str = ''
    left: str = ''
    destination: str = ''

    @property
    def age(self) -> float:
        """Seconds since the marker was written."""
        at = timeutils.normalize_time(timeutils.parse_isotime(self.at))
        passed: datetime.timedelta = timeutils.utcnow() - at
        return passed.total_seconds()

    @property
    def is_stale(self) -> bool:
        """Whether the service that wrote the marker has been killed.

        The clocks of two hosts may differ.
        """
        return abs(self.age) >= STALE


def read(admin_metadata: Mapping[str, str]) -> Marker | None:
    """Return the marker of a volume; None if there is none.

    An invalid marker is ignored.
    """
    try:
        items = json.loads(admin_metadata[wire.RECORD_CONVERSION])
        pool = str(items.get(wire.MARKER_POOL, ''))
        return Marker(
            str(items[wire.MARKER_REQUEST]),
            str(items[wire.MARKER_TYPE]),
            str(items[wire.MARKER_SOURCE]),
            str(items[wire.MARKER_COPY]),
            int(items[wire.MARKER_PERCENT]),
            str(items[wire.MARKER_AT]),
            bool(items[wire.MARKER_VOID]),
            pool,
            admin_metadata.get(wire.RECORD_MARKED, '') if pool else '',
            admin_metadata.get(wire.RECORD_DESTINATION, ''),
        )
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        return None


def of_volume(volume_id: str) -> Marker | None:
    """Return the marker of a volume in the database, or None."""
    return read(record.items_of(volume_id))


def is_migrating(volume: protocols.Volume | record.Row) -> bool:
    """Return whether Cinder migrates a volume at this moment.

    The last migration leaves its result in the same column.
    """
    return volume.migration_status not in _ENDED


def status_of(volume_id: str) -> str | None:
    """Return the status of a volume; None if it was deleted."""
    try:
        return str(record.stored_volume(volume_id).status)
    except exception.VolumeNotFound:
        return None


def of_request(volume_id: str, request: str) -> Marker | None:
    """Return the marker of a retype; None if the request no longer applies.

    A void marker belongs to an earlier request than the status.
    """
    try:
        volume = record.stored_volume(volume_id)
    except exception.VolumeNotFound:
        return None
    mark = read(volume.admin_metadata)
    if volume.status == RETYPING and mark and mark.request == request:
        return None if mark.is_void else mark
    return None


def is_requested(volume_id: str, mark: Marker) -> bool:
    """Return whether a volume is still retyped or migrated."""
    if not mark.pool:
        return of_request(volume_id, mark.request) is not None
    volume = record.stored_volume(volume_id)
    return bool(
        volume.migration_status == MIGRATING and volume.status in MIGRATED
    )


def is_unsaved(volume: protocols.Volume, mark: Marker) -> bool:
    """Return whether Cinder may be about to save the result of a migration.

    It does so even if an administrator has reset the status meanwhile.
    """
    return bool(
        mark.pool
        and mark.copy_id
        and image_record.backend_of(volume) == mark.left
    )


def beat(volume_id: str, mark: Marker, held: protocols.Lock) -> None:
    """Write a marker, which becomes stale otherwise.

    :raises Cancelled: if the request no longer applies
    """
    held.check()
    if not is_requested(volume_id, mark):
        raise Cancelled(id=volume_id)
    write(volume_id, mark)


def back_end_of(driver: protocols.Driver) -> str:
    """Return the back end of a driver, as the record of a volume has it."""
    return str(driver.cluster_name or driver.host)


def place_of(driver: protocols.Driver) -> dict[str, str]:
    """Return the filter for the volumes of a back end."""
    if driver.cluster_name:
        return {'cluster_name': driver.cluster_name}
    return {'host': driver.host}


def has_service(back_end: str, **filters: bool) -> bool:
    """Return whether Cinder has a volume service of a back end.

    :param filters: which services count; by default, also those that are down
    """
    admin = context.get_admin_context()
    whole_name = {'backend_match_level': 'backend'}
    return any(
        objects.ServiceList.get_all(
            admin, {**filters, **whole_name, place: back_end}
        )
        for place in ('host', 'cluster_name')
    )


def marked_volumes(driver: protocols.Driver) -> list[str]:
    """Return the ids of the volumes that have a marker of a back end.

    The marker of a migration belongs to the back end that the volume leaves.
    """
    place = place_of(driver)
    admin = context.get_admin_context()
    # Cinder applies this filter to the admin metadata, too.
    return [
        volume.id
        for filters in (
            {'metadata': {wire.RECORD_MARKED: wire.MARKED}, **place},
            {'metadata': {wire.RECORD_MARKED: back_end_of(driver)}},
        )
        for volume in objects.VolumeList.get_all(admin, filters=filters)
    ]


def write(volume_id: str, marker: Marker) -> Marker:
    """Write a marker with the current time, and return it."""
    marker = dataclasses.replace(marker, at=_now())
    items = {
        wire.RECORD_CONVERSION: _as_text(marker),
        wire.RECORD_MARKED: marker.left or wire.MARKED,
    }
    if marker.destination:
        items[wire.RECORD_DESTINATION] = marker.destination
    record.write(volume_id, items)
    return marker


def _now() -> str:
    return f'{timeutils.utcnow().isoformat(timespec="seconds")}Z'


def _as_text(marker: Marker) -> str:
    return json.dumps(
        {
            wire.MARKER_REQUEST: marker.request,
            wire.MARKER_TYPE: marker.type_id,
            wire.MARKER_SOURCE: marker.source_id,
            wire.MARKER_COPY: marker.copy_id,
            wire.MARKER_PERCENT: marker.percent,
            wire.MARKER_AT: marker.at,
            wire.MARKER_VOID: int(marker.is_void),
            **({wire.MARKER_POOL: marker.pool} if marker.pool else {}),
        },
        separators=(',', ':'),
    )


def begin(volume_id: str, marker: Marker) -> Marker:
    """Write the marker of a new retype, and forget why the last one failed."""
    record.write(volume_id, {}, [wire.RECORD_CONVERSION_REFUSED])
    return write(volume_id, marker)


def disown(volume_id: str, request: str) -> None:
    """Note that another request may now set the status ``retyping``.

    The driver then still removes the images that the marker names, and no
    longer changes the status of the volume. What the driver writes at the same
    moment is kept.

    :param request: the request of the marker; that of another one is not void
    """
    is_written = False
    while not is_written:
        recorded = record.items_of(volume_id)
        marker = read(recorded)
        if marker is None or marker.is_void or marker.request != request:
            return
        void = dataclasses.replace(marker, is_void=True, at=_now())
        # The model's module has different names in the releases of Cinder.
        items = objects.Volume.model.volume_admin_metadata.property
        is_written = db.conditional_update(
            context.get_admin_context(),
            items.mapper.class_,
            {'value': _as_text(void)},
            {
                'volume_id': volume_id,
                'key': wire.RECORD_CONVERSION,
                'value': recorded[wire.RECORD_CONVERSION],
            },
        )


def forget(volume_id: str) -> None:
    """Remove the marker of a retype that has ended."""
    record.write(volume_id, {}, wire.MARKER_RECORDS)


def note_kept(volume_id: str, image_id: str) -> None:
    """Note the former image of a volume that the trash is to keep.

    Earlier ones are removed (:class:`cinder_rbd_ext.retype.trash.Kept`).
    """
    record.write(volume_id, {wire.RECORD_KEPT: image_id})


def refusal(admin_metadata: Mapping[str, str]) -> str | None:
    """Return why the last retype did not convert the image, or None."""
    return admin_metadata.get(wire.RECORD_CONVERSION_REFUSED) or None


def refuse(volume_id: str, reason: str) -> None:
    """Record for the requester why a conversion is not possible.

    A failure is logged and not raised.
    """
    try:
        record.write(
            volume_id,
            {wire.RECORD_CONVERSION_REFUSED: image_record.shortened(reason)},
        )
    except Exception:
        LOG.exception(
            'Could not record why volume %s was not converted', volume_id
        )
