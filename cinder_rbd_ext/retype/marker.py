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

"""The marker of a retype, in the admin metadata of its volume.

The driver writes the marker before the first change and removes it after
Cinder has saved the result. With the images of the cluster, it shows what a
killed service left, and what completes or undoes it.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import json
from typing import Any

from cinder import context
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import record
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: Status of a volume in a retype.
RETYPING = 'retyping'

#: The message for a user whose request needs a snapshot during a retype.
CONVERTING = (
    'The volume of the snapshot is being retyped, which changes its RBD '
    'image. Try again when the volume is available.'
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
    """

    request: str
    type_id: str
    source_id: str
    copy_id: str = ''
    percent: int = 0
    at: str = ''
    is_void: bool = False

    @property
    def age(self) -> float:
        """Seconds since the marker was written."""
        at = timeutils.normalize_time(timeutils.parse_isotime(self.at))
        passed: datetime.timedelta = timeutils.utcnow() - at
        return passed.total_seconds()


def read(admin_metadata: Mapping[str, str]) -> Marker | None:
    """Return the marker of a volume; None if there is none.

    An invalid marker is ignored.
    """
    try:
        items = json.loads(admin_metadata[wire.RECORD_CONVERSION])
        return Marker(
            str(items[wire.MARKER_REQUEST]),
            str(items[wire.MARKER_TYPE]),
            str(items[wire.MARKER_SOURCE]),
            str(items[wire.MARKER_COPY]),
            int(items[wire.MARKER_PERCENT]),
            str(items[wire.MARKER_AT]),
            bool(items[wire.MARKER_VOID]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def of_volume(volume_id: str) -> Marker | None:
    """Return the marker of a volume in the database, or None."""
    return read(record.items_of(volume_id))


def is_converting(volume_id: str) -> bool:
    """Return whether the database has a retype of a volume in progress."""
    if of_volume(volume_id) is None:
        return False
    admin = context.get_admin_context()
    volume = objects.Volume.get_by_id(admin, volume_id)
    return bool(volume.status == RETYPING)


def marked_volumes(driver: Any) -> list[str]:
    """Return the ids of the volumes of a back end that have a marker."""
    place = {'host': driver.host}
    if driver.cluster_name:
        place = {'cluster_name': driver.cluster_name}
    # Cinder applies this filter to the admin metadata, too.
    volumes = objects.VolumeList.get_all(
        context.get_admin_context(),
        filters={'metadata': {wire.RECORD_MARKED: wire.MARKED}, **place},
    )
    return [volume.id for volume in volumes]


def write(volume_id: str, marker: Marker) -> Marker:
    """Write a marker with the current time, and return it."""
    now = timeutils.utcnow().isoformat(timespec='seconds')
    marker = dataclasses.replace(marker, at=f'{now}Z')
    text = json.dumps(
        {
            wire.MARKER_REQUEST: marker.request,
            wire.MARKER_TYPE: marker.type_id,
            wire.MARKER_SOURCE: marker.source_id,
            wire.MARKER_COPY: marker.copy_id,
            wire.MARKER_PERCENT: marker.percent,
            wire.MARKER_AT: marker.at,
            wire.MARKER_VOID: int(marker.is_void),
        },
        separators=(',', ':'),
    )
    _update(
        volume_id,
        {wire.RECORD_CONVERSION: text, wire.RECORD_MARKED: wire.MARKED},
    )
    return marker


def begin(volume_id: str, marker: Marker) -> Marker:
    """Write the marker of a new retype, and forget why the last one failed."""
    _remove(volume_id, wire.RECORD_CONVERSION_REFUSED)
    return write(volume_id, marker)


def disown(volume_id: str) -> None:
    """Note that another request may now set the status ``retyping``.

    The driver then still removes the images that the marker names, and no
    longer changes the status of the volume.
    """
    marker = of_volume(volume_id)
    if marker and not marker.is_void:
        write(volume_id, dataclasses.replace(marker, is_void=True))


def forget(volume_id: str) -> None:
    """Remove the marker of a retype that has ended."""
    _remove(volume_id, wire.RECORD_CONVERSION, wire.RECORD_MARKED)


def note_kept(volume_id: str) -> None:
    """Note that the trash has a former image of a volume."""
    _update(volume_id, {wire.RECORD_KEPT: wire.MARKED})


def refusal(admin_metadata: Mapping[str, str]) -> str | None:
    """Return why the last retype did not convert the image, or None."""
    return admin_metadata.get(wire.RECORD_CONVERSION_REFUSED) or None


def refuse(volume_id: str, reason: str) -> None:
    """Record for the requester why a conversion is not possible.

    A failure is logged and not raised.
    """
    try:
        _update(
            volume_id,
            {wire.RECORD_CONVERSION_REFUSED: record.shortened(reason)},
        )
    except Exception:
        LOG.exception(
            'Could not record why volume %s was not converted', volume_id
        )


def _update(volume_id: str, items: dict[str, str]) -> None:
    db.volume_admin_metadata_update(
        context.get_admin_context(), volume_id, items, False
    )


def _remove(volume_id: str, *names: str) -> None:
    admin = context.get_admin_context()
    for name in sorted(set(names) & record.items_of(volume_id).keys()):
        db.volume_admin_metadata_delete(admin, volume_id, name)
