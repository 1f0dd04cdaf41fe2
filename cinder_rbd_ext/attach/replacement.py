# SPDX-License-Identifier: Apache-2.0
"""The mode of a server's earlier attachment, while Nova replaces it.

When a server moves to another host, Nova creates a new attachment before it
deletes the old one: the server has the volume without a gap. If a user
detaches and attaches a volume, there is a gap.

A rebuild, a resize on the same host, a reverted migration and ``nova-manage
volume_attachment refresh`` connect the same host again, after Nova has deleted
the guest or its disk. A refusal would leave a server that cannot be started,
so the new attachment keeps the mode.

A failed operation leaves an attachment that was never connected, which the
next one replaces. Only services may create one while a server has the volume
with a cache mode: a tenant could otherwise attach it without a gap.
"""

from collections.abc import Mapping
import datetime
from typing import Any

from cinder import context
from cinder import objects
from cinder.objects import fields

from cinder_rbd_ext import protocols
from rbd_volume_options import agreement
from rbd_volume_options import wire

# Statuses of an attachment that is or was connected, if it has data of a
# connection. The volume service sets ``detached`` when it deletes one.
_CONNECTED = (
    fields.VolumeAttachStatus.ATTACHED,
    fields.VolumeAttachStatus.DETACHED,
    fields.VolumeAttachStatus.DELETED,
)

#: Statuses of an attachment that was created and is not connected yet.
WAITING = (
    fields.VolumeAttachStatus.RESERVED,
    fields.VolumeAttachStatus.ATTACHING,
    fields.VolumeAttachStatus.ERROR_ATTACHING,
)

#: A failed ``nova-manage volume_attachment refresh`` deletes the attachment
#: that was not connected just before it creates the next one.
_PAUSE = datetime.timedelta(seconds=1)

# Number of attachments that are read, the newest ones: the connected ones, and
# if there are none, all of them. The deleted ones can be any number.
_MOST_READ = 20


def of_server(
    volume_id: str,
    server: str,
    since: datetime.datetime | None = None,
    new: str | None = None,
) -> agreement.Earlier | None:
    """Return the attachment of a volume that a server's new one replaces.

    Of the earlier attachments, only the last two that were connected count. In
    a live migration, the last one still exists, and only that one counts.

    :param since: when the new attachment was reserved; None if not yet
    :param new: its ID; None if it is not reserved yet
    """
    of_both = {'volume_id': volume_id, 'instance_uuid': server}
    attached = {**of_both, 'attach_status': fields.VolumeAttachStatus.ATTACHED}
    # An attachment does not replace itself.
    attachments = [
        each
        for each in _read('no', attached)
        if each.connection_info and each.id != new
    ] or [each for each in _read('yes', of_both) if each.id != new]
    connected: list[Any] = []
    for each in attachments:
        if not _is_part(each, since):
            continue
        since = min(since or each.created_at, each.created_at)
        if each.attach_status in _CONNECTED and each.connection_info:
            connected.append(each)
            if len(connected) == 2 or not each.deleted:
                break
    earlier = None
    for each in reversed(connected):
        mode = agreement.mode_of(each.connection_info)
        earlier = agreement.Earlier(mode, each.attached_host, earlier)
    return earlier


def _read(read_deleted: str, search: dict[str, str]) -> Any:
    """Return attachments, the newest first."""
    admin = context.get_admin_context(read_deleted=read_deleted)
    return objects.VolumeAttachmentList.get_all(
        admin, search_opts=search, limit=_MOST_READ
    )


def _is_part(attachment: Any, since: datetime.datetime | None) -> bool:
    """Return whether a server still had an attachment at a time.

    :param since: when the next one was created; None if not yet
    """
    if since is None or not attachment.deleted:
        return not attachment.deleted
    # Nova does not replace an attachment before it was connected.
    start = attachment.attach_time or attachment.created_at
    end = attachment.deleted_at
    if not attachment.connection_info:
        end += _PAUSE
    return bool(start <= since <= end)


def of_waiting(volume: protocols.Volume) -> agreement.Earlier | None:
    """Return the attachment that a waiting one replaces."""
    for each in volume.volume_attachment:
        if each.instance_uuid and each.attach_status in WAITING:
            earlier = of_server(volume.id, each.instance_uuid, each.created_at)
            if earlier:
                return earlier
    return None


def runs_without_plug_in(
    volume: protocols.Volume, connector: Mapping[str, Any]
) -> bool:
    """Return whether a waiting attachment is for a guest without modes.

    Only in a live migration does a server have a connected attachment on
    another host while the new one is being connected. The XML of the running
    guest is written by the source host, which ignores cache modes if it has no
    plug-in. The connector of nova-manage has none either, but its attachment
    keeps the mode.
    """
    waiting = {
        each.instance_uuid
        for each in volume.volume_attachment
        if each.attach_status in WAITING
    }
    return any(
        each.instance_uuid in waiting
        and each.attached_host != connector.get('host')
        and wire.CONNECTOR_CACHE_MODES not in each.connector
        and agreement.mode_of(each.connection_info or {}) is None
        for each in volume.volume_attachment
        if each.instance_uuid
        and each.attach_status == fields.VolumeAttachStatus.ATTACHED
        # An older Cinder did not store the connector.
        and each.connector
    )
