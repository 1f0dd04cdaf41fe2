# SPDX-License-Identifier: Apache-2.0

"""Attributes of volumes that show the created RBD image.

The driver records it in the row of the volume and its admin metadata. Cinder's
show and detail have read both and the attachments, so no query is required.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext.retype import marker
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts
from rbd_volume_options import image_record
from rbd_volume_options import registry


def show_volume(req: protocols.Request, shown: dict[str, Any]) -> None:
    """Add the attributes of the RBD image to a volume of a response."""
    show_volumes(req, [shown])


def show_volumes(req: protocols.Request, shown: list[dict[str, Any]]) -> None:
    """Add the attributes of the RBD images to volumes of a response."""
    # The caller may see all these volumes, so one check is sufficient.
    context = req.environ['cinder.context']
    if policies.allows(context, policies.GET):
        shows_pools = policies.allows(context, policies.GET_POOLS)
        for each in shown:
            volume = req.get_db_volume(each['id'])
            each.update(of_volume(volume, shows_pools))


def of_volume(
    volume: protocols.Volume, shows_pools: bool = True
) -> dict[str, Any]:
    """Return the attributes of a volume; None for what is not recorded."""
    rows: Mapping[str, str] = {}
    attached = any(each.instance_uuid for each in _attached(volume))
    if volume.obj_attr_is_set('admin_metadata'):
        rows = volume.admin_metadata or {}
    recorded = image_record.unpacked(rows, volume.replication_extended_status)
    return {
        **image_record.attributes_of(volume, recorded, shows_pools),
        **{
            attribute: _of_attachments(volume, item)
            for attribute, item in registry.attributes_of_connections().items()
        },
        image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE: _in_force(volume),
        image_record.ATTRIBUTE_CONVERSION: _conversion(
            volume, recorded, shows_pools
        ),
        # The refusal of a migration leaves a volume attached to its server.
        **({image_record.ATTRIBUTE_ATTACH_REFUSED: None} if attached else {}),
    }


def _conversion(
    volume: protocols.Volume, recorded: Mapping[str, str], shows_type: bool
) -> dict[str, Any] | None:
    """Return the progress of a conversion, or why it was not possible.

    :param shows_type: whether the caller may see the id of the new type,
        which tenants may not see
    """
    shown: dict[str, Any] = dict.fromkeys(
        (
            'percent',
            'at',
            'reason',
            'new_type_id',
        )
    )
    running = marker.read(recorded)
    if running is not None and volume.status == marker.RETYPING:
        shown['percent'] = running.percent
        shown['at'] = running.at
        if shows_type:
            shown['new_type_id'] = running.type_id
        return shown
    refused = image_record.reason(
        recorded, image_record.REASON_RETYPE, image_record.REASON_LAYOUT
    )
    return {**shown, 'reason': refused.text} if refused else None


def _of_attachments(volume: protocols.Volume, item: str) -> dict[str, Any]:
    return {
        attachment.id: (attachment.connection_info or {}).get(item)
        for attachment in _attached(volume)
    }


def _in_force(volume: protocols.Volume) -> dict[str, str | None]:
    """Return the modes of attachments, as their hosts choose them."""
    modes: dict[str, str | None] = {}
    for attachment in _attached(volume):
        requested = agreement.mode_of(attachment.connection_info or {})
        host = compute_hosts.host_in_connector(attachment.connector)
        modes[attachment.id] = (
            host.in_force(requested).value
            if requested is not None and host is not None
            else None
        )
    return modes


def _attached(volume: protocols.Volume) -> Iterator[Any]:
    return (
        attachment
        for attachment in volume.volume_attachment
        if attachment.attach_status == 'attached'
    )
