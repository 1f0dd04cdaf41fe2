# SPDX-License-Identifier: Apache-2.0

"""The marker of a retype or a migration, in the admin metadata of its volume.

It is written before anything changes, and removed when what the request has
left is removed and Cinder has saved its end. With the volume's row, it shows
what a killed service left. It exists only for that time.
"""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from oslo_config import cfg
from oslo_utils import timeutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from rbd_volume_options import image_record

#: Status of a volume in a retype.
RETYPING = 'retyping'
#: The status of a migration that Cinder's API has accepted, of one that a
#: volume service has begun, and those of a volume that nobody uses meanwhile.
STARTING = 'starting'
MIGRATING = 'migrating'
MAINTENANCE = 'maintenance'
MIGRATED = ('available', MAINTENANCE, RETYPING)

# Values of ``migration_status`` after a migration has ended, or before the
# first one.
_ENDED = (None, 'success', 'error', 'deleting')


@dataclasses.dataclass(frozen=True)
class Marker:
    """A retype or a migration that the driver has begun.

    :ivar image: the uuid in the name of the new image, which is also the token
        of the request in the volume's row
    :ivar host: the service that runs the request
    :ivar type_id: the new volume type; empty for a migration without a retype
    :ivar former: the uuid in the name of the image before
    :ivar former_id: librbd's id of that image; empty until a copy begins
    :ivar image_id: librbd's id of the verified copy; empty if there is none
    :ivar former_pool: the pool of the image before
    :ivar pool: the pool of the copy
    :ivar left: the back end from which the volume is migrated
    :ivar percent: percentage of the data that is copied
    :ivar at: time of the last progress in ISO 8601, UTC
    """

    image: str
    host: str = ''
    type_id: str = ''
    former: str = ''
    former_id: str = ''
    image_id: str = ''
    former_pool: str = ''
    pool: str = ''
    left: str = ''
    percent: int = 0
    at: str = ''

    @property
    def has_begun(self) -> bool:
        """Whether there may be a copy."""
        return bool(self.former_id)

    @property
    def name(self) -> str:
        """The name of the new image."""
        return name_of(self.image)

    @property
    def former_name(self) -> str:
        """The name of the image before."""
        return name_of(self.former)


def name_of(name_id: str) -> str:
    """Return the name of the image that a row names."""
    return str(cfg.CONF.volume_name_template % name_id)


def read(admin_metadata: Mapping[str, str]) -> Marker | None:
    """Return the marker of a volume; None if there is none.

    An invalid marker is ignored.
    """
    text = ''.join(
        admin_metadata.get(key, '') for key in image_record.MARKER_TEXTS
    )
    if not text:
        return None
    try:
        return Marker(**json.loads(text))
    except (TypeError, ValueError):
        return None


def of_volume(volume_id: str) -> Marker | None:
    """Return the marker of a volume in the database, or None."""
    return read(record.items_of(volume_id))


def write(volume_id: str, mark: Marker) -> Marker:
    """Write a marker with the current time, and return it.

    :raises VolumeBackendAPIException: if the volume has that of another
        request
    """
    now = f'{timeutils.utcnow().isoformat(timespec="seconds")}Z'
    mark = dataclasses.replace(mark, at=now)
    fields = {k: v for k, v in dataclasses.asdict(mark).items() if v}
    text = json.dumps(fields, separators=(',', ':'))
    items = image_record.in_rows(image_record.MARKER_TEXTS, text)
    items[image_record.RECORD_MARKED] = mark.left or image_record.MARKED

    def written(rows: Mapping[str, str]) -> dict[str, str]:
        current = read(rows)
        if current and current.image != mark.image:
            raise exception.VolumeBackendAPIException(
                data=f'Another request for volume {volume_id} has not ended'
            )
        return {**_without(rows), **items}

    record.change(volume_id, written)
    return mark


def forget(volume_id: str, mark: Marker) -> None:
    """Remove the marker of a request that has ended, but no other one."""

    def left(rows: Mapping[str, str]) -> Mapping[str, str]:
        current = read(rows)
        is_own = current and current.image == mark.image
        return _without(rows) if is_own else rows

    record.change(volume_id, left)


def _without(rows: Mapping[str, str]) -> dict[str, str]:
    return {
        k: v for k, v in rows.items() if k not in image_record.MARKER_RECORDS
    }


def is_migrating(volume: protocols.Volume | record.Row) -> bool:
    """Return whether Cinder migrates a volume at this moment.

    The last migration leaves its result in the same column.
    """
    return volume.migration_status not in _ENDED


def is_requested(volume: protocols.Volume, mark: Marker) -> bool:
    """Return whether a volume has the status that the request had set.

    A request that was given up has neither its token nor its image in the row.
    The status is then that of a later one.
    """
    if mark.has_begun and mark.image not in (
        volume.provider_geometry,
        volume.name_id,
    ):
        return False
    if mark.left:
        return volume.migration_status == MIGRATING
    return (
        volume.status == RETYPING
        and not is_migrating(volume)
        and volume.volume_type_id != mark.type_id
    )


def back_end_of(driver: protocols.Driver) -> str:
    """Return the back end of a driver, as the record of a volume has it."""
    return str(driver.cluster_name or driver.host)


def back_end_of_host(host: Mapping[str, Any]) -> str:
    """Return a back end as Cinder's scheduler describes it."""
    return str(host.get('cluster_name') or host['host']).partition('#')[0]


def is_here(driver: protocols.Driver, volume: protocols.Volume) -> bool:
    """Return whether the row has a volume on the back end of a driver."""
    return not driver.host or (
        image_record.backend_of(volume) == back_end_of(driver)
    )


def place_of(driver: protocols.Driver) -> dict[str, str]:
    """Return the filter for the volumes of a back end."""
    if driver.cluster_name:
        return {'cluster_name': driver.cluster_name}
    return {'host': driver.host}


def marked_volumes(driver: protocols.Driver) -> list[str]:
    """Return the ids of the volumes that have a marker of a back end.

    The marker of a migration belongs to the back end that the volume leaves,
    whose service may be gone when the volume has moved.
    """
    admin = context.get_admin_context()
    migrating = objects.VolumeList.get_all(
        admin, filters={'migration_status': MIGRATING, **place_of(driver)}
    )
    arrived = []
    for volume in migrating:
        mark = read(volume.admin_metadata)
        if mark and mark.image == volume.name_id:
            arrived.append(volume.id)
    # Cinder applies this filter to the admin metadata, too.
    return arrived + [
        volume.id
        for filters in (
            {
                'metadata': {image_record.RECORD_MARKED: image_record.MARKED},
                **place_of(driver),
            },
            {'metadata': {image_record.RECORD_MARKED: back_end_of(driver)}},
        )
        for volume in objects.VolumeList.get_all(admin, filters=filters)
    ]
