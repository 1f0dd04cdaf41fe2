# SPDX-License-Identifier: Apache-2.0


"""Requests about volumes in an operation that replaces image or metadata.

Cinder refuses most requests for a volume in the status ``retyping``, but not
those for its snapshots and its metadata. A request that arrives before the
status does is served before the image is replaced
(:func:`cinder_rbd_ext.volume_use.replacing`).
"""

from collections.abc import Mapping

from cinder import exception
from cinder import volume as cinder_volume
from cinder.objects import fields
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.retype import marker
from rbd_volume_options import wire


def check_snapshot(context: protocols.Context, snapshot_id: object) -> None:
    """Check a request that uses a snapshot.

    A snapshot that does not exist is left to Cinder, as is what is not an ID:
    a database can fail to encode it.

    :param snapshot_id: not checked yet
    :raises HTTPBadRequest: while the image of its volume is replaced
    """
    if not uuidutils.is_uuid_like(snapshot_id):
        return
    try:
        snapshot = cinder_volume.API().get_snapshot(context, snapshot_id)
    except exception.NotFound:
        return
    volume = snapshot.volume
    # A retype by another driver, or in place, does not affect snapshots.
    if (
        volume.status == volume_use.RETYPING
        and wire.RECORD_CONVERSION in record.items_of(volume.id)
    ):
        raise webob.exc.HTTPBadRequest(
            explanation=f'The volume of snapshot {snapshot.id} is being '
            'retyped, which replaces its RBD image. Try again when the volume '
            'is available.'
        )


def check_keys(volume: protocols.Volume) -> None:
    """Check a request that changes ``rbd:`` keys of a volume.

    The request may be based on the keys before the operation, and would be
    lost: a retype removes keys that the new type does not accept, a restore
    puts the keys back that the volume had before it, and a migration replaces
    the metadata by a copy that Cinder made when it began.

    :raises HTTPBadRequest: during such an operation
    """
    if volume.status == volume_use.RETYPING:
        operation = 'retyped'
    elif volume.status == fields.VolumeStatus.RESTORING_BACKUP:
        operation = 'restored'
    elif is_migrated(volume):
        operation = 'migrated'
    else:
        return
    raise webob.exc.HTTPBadRequest(
        explanation=f'Volume {volume.id} is being {operation}, which may '
        'change its rbd: keys. Change its metadata afterwards.'
    )


def check_is_not_copied(
    volume: protocols.Volume, recorded: Mapping[str, str]
) -> None:
    """Check a request that would change the size of a volume.

    The copy has the size that the volume had when the migration began. A
    migration that Cinder performs without this driver is left to Cinder.

    :param recorded: the admin metadata of the volume
    :raises HTTPBadRequest: while this driver copies the image to another pool
    """
    mark = marker.read(recorded)
    if mark and mark.pool and is_migrated(volume):
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume {volume.id} is being migrated. Extend it '
            'afterwards.'
        )


def is_migrated(volume: protocols.Volume) -> bool:
    """Return whether Cinder is migrating a volume."""
    return volume.migration_status in requester.MOVING
