# SPDX-License-Identifier: Apache-2.0

"""Requests that set the metadata of snapshots, or use or delete snapshots.

No key has an effect in that metadata. Keys that were set without this check
are kept and may be removed.
"""

from collections.abc import Iterator
import contextlib
from typing import Any

from cinder import exception
from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.db import api as db
from cinder.objects import fields
from cinder.policies import snapshot_metadata as stock
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import controller
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


class SnapshotsController(controller.Controller):
    """Snapshots that are created, managed or deleted."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the metadata of a new snapshot."""
        snapshot = controller.part_of(body, 'snapshot')
        items = controller.part_of(snapshot, 'metadata')
        with refusals.bad_request():
            checks.check_other_metadata(items, 'snapshot')
        yield

    @wsgi.extends
    def delete(self, req: protocols.Request, id: str) -> Iterator[None]:
        """Check that the image of the volume is not being replaced."""
        check_use(req.environ['cinder.context'], id)
        yield

    @wsgi.extends(action='os-force_delete')
    def force_delete(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check as for a deletion."""
        check_use(req.environ['cinder.context'], id)
        yield

    @wsgi.extends(action='os-unmanage')
    def unmanage(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check as for a deletion."""
        check_use(req.environ['cinder.context'], id)
        yield


class SnapshotMetadataController(controller.Controller):
    """The metadata of an existing snapshot."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, snapshot_id: str, body: object = None
    ) -> Iterator[None]:
        """Check items that are added."""
        _check_change(req, snapshot_id, controller.part_of(body, 'metadata'))
        yield

    @wsgi.extends
    def update(
        self,
        req: protocols.Request,
        snapshot_id: str,
        id: str,
        body: object = None,
    ) -> Iterator[None]:
        """Check one item."""
        _check_change(req, snapshot_id, controller.part_of(body, 'meta'))
        yield

    @wsgi.extends
    def update_all(
        self, req: protocols.Request, snapshot_id: str, body: object = None
    ) -> Iterator[None]:
        """Check items that replace all items."""
        _check_change(req, snapshot_id, controller.part_of(body, 'metadata'))
        yield


def _check_change(
    req: protocols.Request, snapshot_id: str, items: dict[str, Any]
) -> None:
    if checks.ours(items):
        context = req.environ['cinder.context']
        snapshot = cinder_volume.API().get_snapshot(context, snapshot_id)
        context.authorize(stock.UPDATE_POLICY, target_obj=snapshot)
        existing = snapshot.metadata or {}
        new = {k: v for k, v in items.items() if existing.get(k) != v}
        with refusals.bad_request():
            checks.check_other_metadata(new, 'snapshot')
