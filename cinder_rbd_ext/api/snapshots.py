# SPDX-License-Identifier: Apache-2.0

"""Requests that set the metadata of snapshots, or use or delete snapshots.

No key has an effect in that metadata. Keys that were set without this check
are kept and may be removed.
"""

import contextlib

from cinder import exception
from cinder import volume as cinder_volume
from cinder.db import api as db
from cinder.objects import fields
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks

# Statuses of a volume whose image is not being replaced.
_UNCHANGED = (fields.VolumeStatus.AVAILABLE, fields.VolumeStatus.IN_USE)


def check_use(context: protocols.Context, snapshot_id: object) -> None:
    """Check the volume of a snapshot that an unchecked request names."""
    if uuidutils.is_uuid_like(snapshot_id):
        with contextlib.suppress(exception.NotFound):
            # This query includes the volume, but not its admin metadata.
            stored = db.snapshot_get(context, snapshot_id)
            if stored.volume and stored.volume.status not in _UNCHANGED:
                volumes = cinder_volume.API()
                snapshot = volumes.get_snapshot(context, snapshot_id)
                volume_source.volume_of(snapshot)


def check_create(call: api_call.ApiCall) -> None:
    """Check the metadata of a new snapshot."""
    items = api_call.part_of(call.part, 'metadata')
    checks.check_other_metadata(items, 'snapshot')


def check_image(call: api_call.ApiCall) -> None:
    """Check that the image of the snapshot's volume is not being replaced."""
    check_use(call.context, call.ids['id'])


def check_metadata(call: api_call.ApiCall) -> None:
    """Check items that are added to the metadata of a snapshot."""
    if checks.ours(call.part):
        snapshot = cinder_volume.API().get_snapshot(
            call.context, call.ids['snapshot_id']
        )
        call.context.authorize(call.policy, target_obj=snapshot)
        existing = snapshot.metadata or {}
        new = {k: v for k, v in call.part.items() if existing.get(k) != v}
        checks.check_other_metadata(new, 'snapshot')
