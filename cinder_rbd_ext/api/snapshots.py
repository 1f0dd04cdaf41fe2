# SPDX-License-Identifier: Apache-2.0

"""Requests that set the metadata of snapshots, where no key has an effect.

A volume from a snapshot gets its options from its own request. Keys that were
set on snapshots without this check are kept and may be removed.
"""

from collections.abc import Iterator

from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.policies import snapshot_metadata as stock

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import replaced
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys


def _check(items: object, there: dict[str, str] | None = None) -> None:
    """Check new items of snapshot metadata.

    :param items: not checked yet
    :param there: the existing items
    :raises HTTPBadRequest: for an ``rbd:`` key that is new or changed
    """
    for name, value in sorted((checks.ours(items) or {}).items()):
        if (there or {}).get(name) != value:
            with refusals.bad_request():
                raise errors.OptionError(
                    definitions.shown_key(name),
                    value,
                    'not allowed in snapshot metadata',
                    f'keys that do not begin with {keys.PREFIX}',
                )


class SnapshotsController(wsgi.Controller):
    """Snapshots that are created, managed or deleted."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the metadata of a new snapshot."""
        _check(checks.part_of(checks.part_of(body, 'snapshot'), 'metadata'))
        yield

    @wsgi.extends
    def delete(self, req: protocols.Request, id: str) -> Iterator[None]:
        """Check that the image of the volume is not being replaced."""
        replaced.check_snapshot(req.environ['cinder.context'], id)
        yield

    @wsgi.extends(action='os-force_delete')
    def force_delete(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check as for a deletion."""
        replaced.check_snapshot(req.environ['cinder.context'], id)
        yield

    @wsgi.extends(action='os-unmanage')
    def unmanage(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check as for a deletion."""
        replaced.check_snapshot(req.environ['cinder.context'], id)
        yield


class SnapshotMetadataController(wsgi.Controller):
    """The metadata of an existing snapshot."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, snapshot_id: str, body: object = None
    ) -> Iterator[None]:
        """Check items that are added."""
        _check_change(req, snapshot_id, checks.part_of(body, 'metadata'))
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
        _check_change(req, snapshot_id, checks.part_of(body, 'meta'))
        yield

    @wsgi.extends
    def update_all(
        self, req: protocols.Request, snapshot_id: str, body: object = None
    ) -> Iterator[None]:
        """Check items that replace all items."""
        _check_change(req, snapshot_id, checks.part_of(body, 'metadata'))
        yield


def _check_change(
    req: protocols.Request, snapshot_id: str, items: object
) -> None:
    if checks.ours(items):
        context = req.environ['cinder.context']
        snapshot = cinder_volume.API().get_snapshot(context, snapshot_id)
        context.authorize(stock.UPDATE_POLICY, target_obj=snapshot)
        _check(items, dict(snapshot.metadata or {}))
