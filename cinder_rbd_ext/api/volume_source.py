# SPDX-License-Identifier: Apache-2.0

"""The source of a new volume, as far as the API knows it."""

from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any

from cinder import exception
from cinder import volume as cinder_volume
from cinder.api import microversions
from cinder.backup import api as backup_api
from cinder.common import constants
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.retype import marker
from rbd_volume_options import checks
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import layout

#: What happens to a volume in the statuses in which its image is replaced.
_OPERATIONS = {
    marker.RETYPING: 'retyped',
    'reverting': 'reverted',
    'deleting': 'deleted',
}


def whole_number(value: Any) -> int | None:
    """Return a size in GiB as Cinder reads it; None if Cinder refuses it."""
    try:
        size = int(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return size if 0 < size <= constants.DB_MAX_INT else None


def uses_nova_images(req: protocols.Request) -> bool:
    """Return whether Cinder treats Nova's images of servers as snapshots."""
    first = microversions.get_api_version(microversions.SUPPORT_NOVA_IMAGE)
    return bool(req.api_version_request.matches(first))


def of_request(
    req: protocols.Request, volume: Mapping[str, Any]
) -> checks.VolumeSource | None:
    """Return the source in a request for a volume, not checked yet.

    :returns: None if Cinder refuses the source
    :raises NotFound: for a source that does not exist for the caller
    """
    context = req.environ['cinder.context']
    named = _named(volume)
    if not named:
        return checks.VolumeSource()
    # The database can fail to encode text that is not an ID. A Glance image
    # can also have a name.
    if not all(
        isinstance(each, str)
        if name == 'imageRef'
        else uuidutils.is_uuid_like(each)
        for name, each in named.items()
    ):
        return None
    if 'imageRef' in named:
        reference = named.pop('imageRef')
        has_snapshot = uses_nova_images(req)
        return _from_image(context, reference, set(named), has_snapshot)
    if len(named) > 1:
        return None
    ((name, ident),) = named.items()
    volumes = cinder_volume.API()
    if name == 'source_volid':
        return of_volume(volumes.get_volume(context, ident))
    if name == 'snapshot_id':
        return of_snapshot(volumes.get_snapshot(context, ident))
    return of_backup(context, ident)


def image_reference(volume: Mapping[str, Any]) -> Any:
    """Return the Glance image in a request; None for none.

    If the request has an ``image_id``, Cinder ignores ``imageRef``, even if
    the other value is null.
    """
    return volume.get('image_id' if 'image_id' in volume else 'imageRef')


def _named(volume: Mapping[str, Any]) -> dict[str, Any]:
    sources = {
        'source_volid': volume.get('source_volid'),
        'snapshot_id': volume.get('snapshot_id'),
        # Before version 3.47, Cinder does not check the value.
        'backup_id': volume.get('backup_id') or None,
        'imageRef': image_reference(volume),
    }
    return {name: each for name, each in sources.items() if each is not None}


def of_volume(volume: protocols.Volume) -> checks.VolumeSource:
    """Return a volume as the source of another one."""
    return of_row(record.stored(volume.id))


def check_usable(volume: protocols.Volume, name: str) -> None:
    """Check that no operation keeps others from the image of a volume.

    The service would wait for it in a thread. A request that arrives before
    the status of the volume changes is served before its image is replaced
    (:func:`cinder_rbd_ext.retype.replacement.alone`).

    :param name: what the request uses
    :raises HTTPBadRequest: while the image of the volume is replaced
    """
    if volume.status in _OPERATIONS:
        _check_usable(record.stored(volume.id), name)


def _check_usable(stored: record.Row, name: str) -> None:
    operation = _OPERATIONS.get(stored.status or '')
    if not operation:
        return
    # A retype in place does not affect others, nor does another driver.
    if (
        image_record.RECORD_CONVERSION in stored.admin_metadata
        if stored.status == marker.RETYPING
        else image_record.state_here(stored)
    ):
        raise webob.exc.HTTPBadRequest(
            explanation=f'{name} is being {operation}, and its RBD image '
            'cannot be used. Try again when the volume is available.'
        )


def volume_of(snapshot: protocols.Snapshot) -> record.Row:
    """Return the row of the volume of a snapshot.

    :raises HTTPBadRequest: while the image of the volume is replaced
    """
    stored = record.stored(snapshot.volume_id)
    _check_usable(stored, f'The volume of snapshot {snapshot.id}')
    return stored


def of_snapshot(snapshot: protocols.Snapshot) -> checks.VolumeSource:
    """Return a snapshot as the source of a volume, as :func:`volume_of`."""
    volume = volume_of(snapshot)
    return dataclasses.replace(
        of_row(volume),
        size=snapshot.volume_size,
        volume_type_id=snapshot.volume_type_id,
    )


def of_row(stored: record.Row) -> checks.VolumeSource:
    """Return the volume of a row as the source of another one."""
    state = image_record.state_here(stored)
    if state:
        inherited = sources.volume_source(
            stored, state, layout.MAX_OBJECT_SIZE
        )
    else:
        inherited = inheritance.unknown_source(
            image_record.disk_in(stored.admin_metadata)
        )
    return checks.VolumeSource(
        stored.size,
        stored.volume_type_id,
        state,
        inherited,
        known=state is not None,
    )


def of_backup(context: protocols.Context, ident: str) -> checks.VolumeSource:
    """Return a backup as the source of a volume.

    Cinder creates an empty volume and then restores the backup to it.

    :raises NotFound: for a backup that does not exist for the caller
    """
    backup = backup_api.API().get(context, backup_id=ident)
    stored = record.stored(backup.volume_id)
    if stored.status is None:
        return checks.VolumeSource(backup.size)
    written = image_record.disk_in(stored.admin_metadata)
    return checks.VolumeSource(backup.size, written=written)


def _from_image(
    context: protocols.Context,
    reference: str,
    others: set[str],
    has_snapshot: bool,
) -> checks.VolumeSource | None:
    """Return an image, or the snapshot that Cinder finds in it, as a source.

    :param others: the other sources in the request
    :param has_snapshot: whether Cinder looks for a snapshot
    """
    image = _glance_image(context, reference)
    if image is None:
        return None
    mapping = _boot_mapping(image) if has_snapshot else None
    if mapping is None:
        if others:
            return None
        wanted = (image.get('properties') or {}).get('cinder_img_volume_type')
        return checks.VolumeSource(
            volume_type_id=wanted,
            known=False,
            is_image=True,
            # Cinder refuses one that is not active, of which it has no data.
            is_empty=image.get('size') == 0 and image['status'] == 'active',
        )
    # Cinder ignores another snapshot in the request.
    if others - {'snapshot_id'}:
        return None
    snapshot = _snapshot_in(context, mapping)
    return None if snapshot is None else of_snapshot(snapshot)


def disk_of_image(
    context: protocols.Context, reference: str
) -> Mapping[str, Any] | None:
    """Return the disk, by key, for which Nova's image was written.

    :returns: None for an image that names no snapshot
    """
    image = _glance_image(context, reference)
    mapping = _boot_mapping(image) if image else None
    snapshot = _snapshot_in(context, mapping) if mapping else None
    if snapshot is None:
        return None
    return image_record.disk_in(record.items_of(snapshot.volume_id))


def _boot_mapping(image: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return where Nova's image names a snapshot of the boot volume."""
    mappings = (image.get('properties') or {}).get('block_device_mapping')
    for each in mappings if isinstance(mappings, list) else ():
        if (
            isinstance(each, dict)
            and each.get('source_type') == 'snapshot'
            and each.get('boot_index') == 0
        ):
            return each
    return None


def _snapshot_in(
    context: protocols.Context, mapping: Mapping[str, Any]
) -> Any:
    ident = mapping.get('snapshot_id')
    if uuidutils.is_uuid_like(ident):
        with contextlib.suppress(exception.SnapshotNotFound):
            return cinder_volume.API().get_snapshot(context, ident)
    return None


def _glance_image(context: protocols.Context, reference: str) -> Any:
    """Return the Glance image that Cinder finds; None for none."""
    # Imported here: it and another module of Cinder import each other, which
    # works only if the other one is imported first.
    from cinder.image import glance

    service = glance.get_default_image_service()
    ident = reference.split('/').pop()
    if uuidutils.is_uuid_like(ident):
        with contextlib.suppress(Exception):
            return service.show(context, ident)
    try:
        images = list(service.detail(context, filters={'name': reference}))
    except Exception:
        return None
    return images[0] if len(images) == 1 else None
