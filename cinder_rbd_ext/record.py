# SPDX-License-Identifier: Apache-2.0

"""The record of a volume's RBD image in Cinder's database.

It is in the admin metadata, which tenants cannot write, and which Cinder's
object layer does not save in the context of a tenant. This module therefore
uses the database API with an admin context.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


def items_of(volume_id: str) -> dict[str, str]:
    """Return a volume's admin metadata; empty for a deleted volume."""
    admin = context.get_admin_context()
    try:
        return dict(db.volume_admin_metadata_get(admin, volume_id))
    except exception.VolumeNotFound:
        return {}


def stored_volume(volume_id: str) -> Any:
    """Return a volume as in the database, with its admin metadata."""
    # The query of an administrator includes it.
    return objects.Volume.get_by_id(context.get_admin_context(), volume_id)


def made(
    volume_id: str,
    state: plan.ImageState,
    backend: str | None = None,
    by_part: Mapping[precedence.Part, errors.Origin] | None = None,
    accepted: Mapping[str, str] | None = None,
    configuration: Mapping[str, Any] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> None:
    """Record the image of a volume; see :func:`image_record.of_image`."""
    update = image_record.of_image(
        state, backend, by_part, accepted, configuration, disk
    )
    write(volume_id, *update)


def configuring(volume_id: str, families: Iterable[str]) -> None:
    """Record that the configuration of an image is about to change.

    :param families: of the options whose entries may change
    """
    write(volume_id, {wire.RECORD_CONFIGURING: ','.join(sorted(families))})


def accepted(
    volume_id: str, metadata: Mapping[str, str], removed: Iterable[str] = ()
) -> None:
    """Record that changes of a volume's metadata were accepted.

    A failure is logged: the change is already made, and the value is then
    checked where it takes effect.
    """
    update = image_record.of_accepted(metadata, removed)
    if not any(update):
        return
    try:
        write(volume_id, *update)
    except Exception:
        LOG.exception('Could not record accepted keys of volume %s', volume_id)


def is_accepted(volume: protocols.Volume, key: str, value: str) -> bool:
    """Return whether the value of a changeable key was accepted."""
    if volume.obj_attr_is_set('admin_metadata'):
        recorded = volume.admin_metadata or {}
    else:
        recorded = items_of(volume.id)
    return image_record.is_accepted(recorded, key, value)


def write(
    volume_id: str, entry: Mapping[str, str], stale: Iterable[str] = ()
) -> None:
    """Write entries of the admin metadata, and remove others if they exist."""
    admin = context.get_admin_context()
    stored = db.volume_admin_metadata_update(admin, volume_id, entry, False)
    for name in sorted(set(stale) & set(stored)):
        db.volume_admin_metadata_delete(admin, volume_id, name)


def moved(
    volume_id: str,
    state: plan.ImageState | None,
    backend: str | None = None,
    by_part: Mapping[precedence.Part, errors.Origin] | None = None,
    configuration: Mapping[str, Any] | None = None,
    accepted: Mapping[str, str] | None = None,
) -> None:
    """Record the image of a volume after a migration, as :func:`made`.

    A failure is logged and not raised: the image has already moved.

    :param state: None if the image is unchanged, with or without a record
    """
    try:
        if state:
            made(volume_id, state, backend, by_part, accepted, configuration)
        elif backend and image_record.read(items_of(volume_id)):
            write(volume_id, {wire.RECORD_RECORDED_BY: backend})
    except Exception:
        LOG.exception('Could not update the record of volume %s', volume_id)


def forgotten(volume_id: str) -> None:
    """Remove the record of a volume that has left this driver.

    Kept are the marker of the migration, as the former image is still there,
    and the properties of the disk, as the volume may return. A failure is
    logged: the volume has already left.
    """
    kept = {*wire.MARKER_RECORDS, *image_record.keys_of(definitions.Kind.DISK)}
    try:
        ours = options.ours(items_of(volume_id))
        write(volume_id, {}, ours.keys() - kept)
    except Exception:
        LOG.exception('Could not remove the record of volume %s', volume_id)


def refused(volume_id: str, text: str) -> None:
    """Record why a volume could not be created; a failure is logged."""
    try:
        write(volume_id, *image_record.of_refusal(text))
    except Exception:
        LOG.exception('Could not record the refusal of volume %s', volume_id)
