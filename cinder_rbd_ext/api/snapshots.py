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
from cinder_rbd_ext.api import asked as requests
from cinder_rbd_ext.api import refusals
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


def check_create(asked: requests.Asked) -> None:
    """Check the metadata of a new snapshot."""
    items = requests.part_of(asked.part, 'metadata')
    with refusals.bad_request():
        checks.check_other_metadata(items, 'snapshot')


def check_image(asked: requests.Asked) -> None:
    """Check that the image of the snapshot's volume is not being replaced."""
    check_use(asked.context, asked.ids['id'])


def check_metadata(asked: requests.Asked) -> None:
    """Check items that are added to the metadata of a snapshot."""
    if checks.ours(asked.part):
        snapshot = cinder_volume.API().get_snapshot(
            asked.context, asked.ids['snapshot_id']
        )
        asked.context.authorize(asked.policy, target_obj=snapshot)
        existing = snapshot.metadata or {}
        new = {k: v for k, v in asked.part.items() if existing.get(k) != v}
        with refusals.bad_request():
            checks.check_other_metadata(new, 'snapshot')
