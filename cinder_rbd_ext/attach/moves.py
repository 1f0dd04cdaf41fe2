# SPDX-License-Identifier: Apache-2.0

"""Whether a server gets a volume for the first time, or Nova moves it.

Cinder's records of attachments decide, without their times, because Nova
creates and deletes attachments in an order that depends on the operation. An
attachment is a move if one of these is true:

- The same server has, or had, another attachment of the volume that was
  connected. Nova deletes that one before or after it connects the new one.
- It is ``attached`` and was never connected: the volume was attached while the
  server was shelved and offloaded.
- It was reserved more than a day ago: the server was shelved, and the record
  of its former attachment was purged.
- The volume is the target of a migration, to which Nova swaps the server.

An error is one towards attaching: a volume that is detached from a server and
attached to it again is not refused, and gets what the host can do.
"""

import datetime
from typing import Any

from cinder import context
from cinder import objects
from cinder.objects import fields
from oslo_utils import timeutils

from cinder_rbd_ext import protocols
from rbd_volume_options import agreement

_Status = fields.VolumeAttachStatus

# Statuses of an attachment that was created and is not connected yet.
_RESERVED = (_Status.RESERVED, _Status.ATTACHING, _Status.ERROR_ATTACHING)

_LONGEST_RESERVED = datetime.timedelta(days=1).total_seconds()

# Deleted attachments of a server that are read, the newest ones. Attempts that
# failed were not connected.
_MOST_READ = 50


def is_waiting(attachment: Any) -> bool:
    """Return whether a server's attachment is yet to be connected."""
    return bool(attachment.instance_uuid) and (
        attachment.attach_status in _RESERVED or _was_offloaded(attachment)
    )


def _was_offloaded(attachment: Any) -> bool:
    return bool(
        attachment.attach_status == _Status.ATTACHED
        and not attachment.connection_info
    )


def of_waiting(volume: protocols.Volume) -> agreement.Move | None:
    """Return the move of a volume's waiting attachment; None for a first one.

    The driver is not told which attachment it connects.
    """
    for attachment in volume.volume_attachment:
        if is_waiting(attachment):
            move = of_server(volume, attachment.instance_uuid, attachment.id)
            if move is not None:
                return move
    return None


def of_server(
    volume: protocols.Volume, server: str | None, new: str | None = None
) -> agreement.Move | None:
    """Return the move of a server's attachment; None if it is the first one.

    :param new: the ID of the attachment; None if it does not exist yet
    """
    if (volume.migration_status or '').startswith('target:'):
        return {}
    if server is None:
        return None
    existing = [
        attachment
        for attachment in volume.volume_attachment
        if attachment.instance_uuid == server
    ]
    connected = _connected(existing, new) or _connected(
        _deleted(volume.id, server), new
    )
    if connected:
        connection: agreement.Move = connected[0].connection_info
        return connection
    if any(map(_is_old, existing)):
        return {}
    return None


def _is_old(attachment: Any) -> bool:
    return _was_offloaded(attachment) or (
        attachment.attach_status in _RESERVED
        and timeutils.is_older_than(attachment.created_at, _LONGEST_RESERVED)
    )


def _connected(attachments: Any, new: str | None) -> list[Any]:
    """Return the other attachments that were connected, the newest first."""
    others = [
        attachment
        for attachment in attachments
        if attachment.connection_info and attachment.id != new
    ]
    return sorted(others, key=lambda other: other.created_at, reverse=True)


def _deleted(volume_id: str, server: str) -> Any:
    return objects.VolumeAttachmentList.get_all(
        context.get_admin_context(read_deleted='only'),
        search_opts={'volume_id': volume_id, 'instance_uuid': server},
        limit=_MOST_READ,
    )
