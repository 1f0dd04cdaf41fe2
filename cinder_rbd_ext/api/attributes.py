# SPDX-License-Identifier: Apache-2.0

"""Attributes of volumes that show the created RBD image.

The driver records it in the row of the volume and its admin metadata. Cinder's
show and detail have read both and the attachments, so no query is required.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import functools
from typing import Any

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext.retype import marker
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import volume_items


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
        **_of_record(
            image_record.text_of(volume),
            image_record.backend_of(volume),
            frozenset(recorded.items()),
            shows_pools,
        ),
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


@functools.lru_cache(maxsize=256)
def _of_record(
    text: str,
    backend: str,
    frozen: frozenset[tuple[str, str]],
    shows_pools: bool,
) -> dict[str, Any]:
    """Return the attributes that depend on the record of a volume only.

    Most volumes in a list have one of a few records.
    """
    items = dict(frozen)
    state = image_record.state_at(text, backend, items)
    values: dict[str, Any] = {}
    if state is not None:
        replaced = volume_items.families_set(items)
        values = state.by_option() | {
            key: number
            for key, number in volume_items.qos_limits(items).items()
            if key in registry.OPTIONS
            and registry.OPTIONS[key].family not in replaced
        }
    shown: dict[str, Any] = {}
    for option in registry.OPTIONS.values():
        if option.attribute is None:
            continue
        if option.is_item:
            shown_items = shown.setdefault(option.attribute, {})
            if option.key in values:
                shown_items[option.name] = values[option.key]
            continue
        value = values.get(option.key)
        if option.kind is definitions.Kind.DATA_POOL and not shows_pools:
            value = None
        shown[option.attribute] = definitions.as_json(value)
    creation = reasons.stored(items, reasons.CREATION)
    refused = reasons.stored(items, reasons.ATTACHMENT)
    return {
        **shown,
        image_record.ATTRIBUTE_ORIGINS: (
            _labels(state.origins) if state and state.origins else None
        ),
        image_record.ATTRIBUTE_REFUSED: creation.text if creation else None,
        image_record.ATTRIBUTE_ATTACH_REFUSED: (
            {'reason': refused.text, 'at': refused.at} if refused else None
        ),
    }


def _labels(by_part: Mapping[str, errors.Origin]) -> dict[str, str]:
    """Return where each part of an image was set, as responses have it.

    An object size that no key sets is that of the back end
    (``rbd_store_chunk_size``), as in the response for volume types.
    """
    part = keys.OBJECT_SIZE
    shown = dict(by_part)
    if shown[part] is errors.Origin.CLUSTER:
        shown[part] = errors.Origin.BACKEND
    return {
        part.removeprefix(keys.PREFIX): origin.label
        for part, origin in shown.items()
    }


def _conversion(
    volume: protocols.Volume, recorded: Mapping[str, str], shows_type: bool
) -> dict[str, Any] | None:
    """Return the progress of a conversion, or why it was not possible.

    :param shows_type: whether the caller may see the id of the new type,
        which tenants may not see
    """
    shown: dict[str, Any]
    shown = dict.fromkeys(('percent', 'at', 'reason', 'new_type_id'))
    running = marker.read(recorded)
    if running is not None and volume.status == marker.RETYPING:
        shown['percent'] = running.percent
        shown['at'] = running.at
        if shows_type:
            shown['new_type_id'] = running.type_id
        return shown
    refused = reasons.stored(recorded, reasons.RETYPE, reasons.LAYOUT)
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
