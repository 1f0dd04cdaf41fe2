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


"""The marker of a running conversion, in the admin metadata of its volume.

A conversion changes the layout or the data pool of an existing image. The
marker is written before the first change. When a killed service starts again,
the markers show which conversions it must complete.
"""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from cinder import context
from cinder.db import api as db
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import record
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: Status of a volume in a retype.
RETYPING = 'retyping'

#: The message for a user whose request needs a snapshot during a conversion.
CONVERTING = (
    'The volume of the snapshot is being retyped, which changes its RBD '
    'image. Try again when the volume is available.'
)


@dataclasses.dataclass(frozen=True)
class Marker:
    """A running conversion.

    :ivar type_id: the new volume type
    :ivar source_id: librbd's id of the former image
    :ivar percent: percentage of the data that is copied
    :ivar at: time of the last progress in ISO 8601, UTC
    """

    type_id: str
    source_id: str
    percent: int = 0
    at: str = ''


def read(admin_metadata: Mapping[str, str]) -> Marker | None:
    """Return the running conversion of a volume; None if there is none.

    An invalid marker is ignored.
    """
    try:
        found = json.loads(admin_metadata[wire.RECORD_CONVERSION])
        return Marker(
            str(found[wire.MARKER_TYPE]),
            str(found[wire.MARKER_SOURCE]),
            int(found[wire.MARKER_PERCENT]),
            str(found[wire.MARKER_AT]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def is_converting(volume: Any) -> bool:
    """Return whether the image of a volume is being converted."""
    return bool(volume.status == RETYPING and read(record.items_of(volume.id)))


def refusal(admin_metadata: Mapping[str, str]) -> str | None:
    """Return why the last retype did not convert the image; None if it did."""
    return admin_metadata.get(wire.RECORD_CONVERSION_REFUSED) or None


def begin(volume_id: str, found: Marker) -> None:
    """Write the marker, before the first change of the image."""
    _write(volume_id, found)
    _remove(volume_id, wire.RECORD_CONVERSION_REFUSED)


def progress(volume_id: str, found: Marker, percent: int) -> None:
    """Record how much of the data is copied.

    A failure is logged and not raised: it must not end the conversion.
    """
    try:
        _write(volume_id, dataclasses.replace(found, percent=percent))
    except Exception:
        LOG.exception('Could not record the progress of volume %s', volume_id)


def _write(volume_id: str, found: Marker) -> None:
    now = timeutils.utcnow().isoformat(timespec='seconds')
    text = json.dumps(
        {
            wire.MARKER_TYPE: found.type_id,
            wire.MARKER_SOURCE: found.source_id,
            wire.MARKER_PERCENT: found.percent,
            wire.MARKER_AT: f'{now}Z',
        }
    )
    db.volume_admin_metadata_update(
        context.get_admin_context(),
        volume_id,
        {wire.RECORD_CONVERSION: text},
        False,
    )


def forget(volume_id: str) -> None:
    """Remove the marker of a conversion that has ended."""
    _remove(volume_id, wire.RECORD_CONVERSION)


def refuse(volume_id: str, reason: str) -> None:
    """Record for the requester why a conversion is not possible.

    A failure is logged and not raised.
    """
    try:
        db.volume_admin_metadata_update(
            context.get_admin_context(),
            volume_id,
            {wire.RECORD_CONVERSION_REFUSED: record.shortened(reason)},
            False,
        )
    except Exception:
        LOG.exception(
            'Could not record why volume %s was not converted', volume_id
        )


def _remove(volume_id: str, name: str) -> None:
    admin = context.get_admin_context()
    if name in record.items_of(volume_id):
        db.volume_admin_metadata_delete(admin, volume_id, name)
