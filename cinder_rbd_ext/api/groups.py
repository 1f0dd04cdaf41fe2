# SPDX-License-Identifier: Apache-2.0

"""Requests for group snapshots, or that create a group from one or a group.

The latter have no metadata, and the volumes do not get the keys of the
source. If the driver refuses one, Cinder marks all volumes of the group as
available although they have no RBD image.
"""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from cinder import exception
from cinder import objects
from cinder.api import microversions
from cinder.api.openstack import wsgi
from cinder.policies import groups as stock
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import controller
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks


class _CopiesController(controller.Controller):
    """Checks the volumes of a new group before Cinder creates them."""

    def _check(
        self, req: protocols.Request, group: Any, group_snapshot: Any
    ) -> None:
        """Check each new volume against its type and the group's back end.

        :param group: the id of the source, not checked yet; None for none
        :param group_snapshot: the same
        """
        # Imported here, because it requires Cinder's registered objects.
        from cinder import group as cinder_group

        context = req.environ['cinder.context']
        if not context.authorize(stock.CREATE_POLICY, fatal=False):
            return
        groups = cinder_group.API()
        try:
            if group is None and uuidutils.is_uuid_like(group_snapshot):
                taken = groups.get_group_snapshot(context, group_snapshot)
                origin = groups.get(context, taken.group_id)
                snapshots_of = objects.SnapshotList.get_all_for_group_snapshot
                for each in snapshots_of(context, taken.id):
                    self._check_copy(
                        context, origin, each, volume_source.of_snapshot
                    )
            elif group_snapshot is None and uuidutils.is_uuid_like(group):
                origin = groups.get(context, group)
                volumes = objects.VolumeList.get_all_by_generic_group
                for each in volumes(context, origin.id):
                    self._check_copy(
                        context, origin, each, volume_source.of_volume
                    )
        except (exception.NotAuthorized, exception.NotFound):
            return

    def _check_copy(
        self,
        context: protocols.Context,
        group: Any,
        original: Any,
        source_of: Callable[[Any], checks.VolumeSource],
    ) -> None:
        """Check a copy of a volume or snapshot, without keys of its own."""
        volume_type = known_types.of_new_volume(
            context, original.volume_type_id
        )
        if volume_type is None:
            return
        offer = restrictions.offer_of(volume_type, self._reported, group)
        if offer is None:
            return
        source = source_of(original)
        hints = (f'the source is {original.id}', source.hint)
        with refusals.bad_request('; '.join(filter(None, hints))):
            checks.check_type(offer, source.size, source)


class GroupsController(_CopiesController):
    """New groups, from a group or a group snapshot."""

    @wsgi.extends(action='create-from-src')
    def create_from_src(
        self,
        req: protocols.Request,
        id: str | None = None,
        body: object = None,
    ) -> Iterator[None]:
        """Check the volumes of a new group."""
        first = microversions.get_api_version(microversions.GROUP_SNAPSHOTS)
        if id is None and req.api_version_request.matches(first):
            sources = controller.part_of(body, 'create-from-src')
            group = sources.get('source_group_id')
            self._check(req, group, sources.get('group_snapshot_id'))
        yield


class ConsistencyGroupsController(_CopiesController):
    """New consistency groups, which Cinder stores as groups."""

    @wsgi.extends
    def create_from_src(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the volumes of a new consistency group."""
        sources = controller.part_of(body, 'consistencygroup-from-src')
        group = sources.get('source_cgid') or None
        self._check(req, group, sources.get('cgsnapshot_id') or None)
        yield


class GroupSnapshotsController(controller.Controller):
    """Group snapshots, which Cinder allows while a volume is reverted."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the volumes of the group."""
        from cinder import group as cinder_group

        context = req.environ['cinder.context']
        old = controller.part_of(body, 'cgsnapshot')
        new = controller.part_of(body, 'group_snapshot')
        group = new.get('group_id') or old.get('consistencygroup_id')
        if uuidutils.is_uuid_like(group):
            for each in cinder_group.API().get(context, group).volumes:
                volume_source.check_usable(each, f'Volume {each.id}')
        yield

    @wsgi.extends
    def delete(self, req: protocols.Request, id: str) -> Iterator[None]:
        """Check the volumes of the snapshots."""
        context = req.environ['cinder.context']
        snapshots_of = objects.SnapshotList.get_all_for_group_snapshot
        for each in snapshots_of(context, id):
            snapshots.check_use(context, each.id)
        yield
