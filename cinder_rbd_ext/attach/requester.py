# SPDX-License-Identifier: Apache-2.0

"""The consumer of a connection: a server, or a client without QEMU.

Only the QEMU process of a server has a cache mode, and no other client may be
refused because of one. Cinder's manager calls ``initialize_connection`` in the
same way for both, so Cinder's record of the volume, read again from the
database, decides. The page
:doc:`/admin/cache-modes` lists all clients.

``UNKNOWN`` occurs if a server and Cinder connect within about a second. The
connection is not refused, gets no mode, and the driver logs a warning.
"""

from collections.abc import Mapping
import enum
from typing import Any

from cinder.objects import fields

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.attach import moves
from rbd_volume_options import compute_hosts

# Statuses of a volume that may be attached to servers. In all others, Cinder
# itself works on the volume.
_FREE = (
    fields.VolumeStatus.RESERVED,
    fields.VolumeStatus.ATTACHING,
    fields.VolumeStatus.IN_USE,
    fields.VolumeStatus.DETACHING,
)

# Migration statuses of a volume that is being copied. The status of the volume
# does not show this if the volume is not locked.
MOVING = ('starting', 'migrating', 'completing')

#: Statuses of a volume to which a backup is restored. The second one is that
#: of a volume that Cinder creates for the restore.
RESTORING = (
    fields.VolumeStatus.RESTORING_BACKUP,
    fields.VolumeStatus.CREATING,
)


class Consumer(enum.Enum):
    """The consumer of a connection."""

    SERVER = 'server'
    OTHER = 'other'
    UNKNOWN = 'unknown'


class OwnConnector(dict[str, Any]):
    """The connector of this service, with which the driver attaches."""


def current(volume: protocols.Volume) -> Any:
    """Return a volume as in the database, with the request's context."""
    stored = record.stored_volume(volume.id)
    if volume._context:
        # A tenant may no longer see the type of the volume.
        stored._context = volume._context.elevated()
    return stored


def is_own(connector: Mapping[str, Any]) -> bool:
    """Return whether this service connects for itself."""
    return not connector or isinstance(connector, OwnConnector)


def of_connection(
    volume: protocols.Volume, connector: Mapping[str, Any]
) -> Consumer:
    """Return the consumer of a connection.

    :param volume: the volume, from :func:`current`
    """
    if is_own(connector):
        return Consumer.OTHER
    if compute_hosts.CONNECTOR_ITEM in connector:
        return Consumer.SERVER
    if not any(map(moves.is_waiting, volume.volume_attachment)):
        return Consumer.OTHER
    if volume.status in _FREE and volume.migration_status not in MOVING:
        return Consumer.SERVER
    return Consumer.UNKNOWN
