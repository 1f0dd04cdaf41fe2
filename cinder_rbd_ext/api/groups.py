# SPDX-License-Identifier: Apache-2.0

"""Requests that create a group from a group or a group snapshot.

Such a request has no metadata, so the volumes do not get the keys of the
source volumes. If the driver refuses a volume, Cinder marks all volumes of the
group as available although they have no RBD image.
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
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import visible_types
from cinder_rbd_ext.api import volume_source


class _Copies:
    """Checks the volumes of a new group before Cinder creates them.

    A source that does not exist for the caller is left to Cinder.
    """

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        self._restrictions = restrictions.Restrictions(reported, types)

    def check(
        self, req: protocols.Request, group: Any, group_snapshot: Any
    ) -> None:
        """Check each new volume against its type and the group's back end.

        :param group: the id of the source, not checked yet; None for none
        :param group_snapshot: the same
        :raises HTTPBadRequest: if the driver would refuse a volume
        """
        context = req.environ['cinder.context']
        if not context.authorize(stock.CREATE_POLICY, fatal=False):
            return
        try:
            if group is None and uuidutils.is_uuid_like(group_snapshot):
                self._check_group_snapshot(context, group_snapshot)
            elif group_snapshot is None and uuidutils.is_uuid_like(group):
                self._check_group(context, group)
        except (exception.NotAuthorized, exception.NotFound):
            return

    def _check_group(self, context: protocols.Context, ident: str) -> None:
        group = _groups().get(context, ident)
        for each in objects.VolumeList.get_all_by_generic_group(
            context, group.id
        ):
            self._check(
                context, group, each, each.size, volume_source.of_volume
            )

    def _check_group_snapshot(
        self, context: protocols.Context, ident: str
    ) -> None:
        api = _groups()
        taken = api.get_group_snapshot(context, ident)
        group = api.get(context, taken.group_id)
        for each in objects.SnapshotList.get_all_for_group_snapshot(
            context, taken.id
        ):
            self._check(
                context,
                group,
                each,
                each.volume_size,
                volume_source.of_snapshot,
            )

    def _check(
        self,
        context: protocols.Context,
        group: Any,
        original: Any,
        size: int,
        source_of: Callable[[Any], volume_source.Source],
    ) -> None:
        """Check a volume that has no keys of its own.

        :param group: the source group, whose back end the new group has
        :param original: the source volume or snapshot
        """
        volume_type = visible_types.of_new_volume(
            context, original.volume_type_id
        )
        if volume_type is None:
            return
        offer = self._restrictions.offer(volume_type, group)
        if offer is None:
            return
        source = source_of(original)
        hints = (f'the source is {original.id}', source.hint)
        with refusals.bad_request('; '.join(filter(None, hints))):
            checks.check_type(offer, size, source)


class GroupsController(wsgi.Controller):
    """New groups, from a group or a group snapshot."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__()
        self._copies = _Copies(reported, types)

    @wsgi.extends(action='create-from-src')
    def create_from_src(
        self,
        req: protocols.Request,
        id: str | None = None,
        body: object = None,
    ) -> Iterator[None]:
        """Check the volumes of a new group.

        Cinder refuses a request with the id of a group in its path.
        """
        first = microversions.get_api_version(microversions.GROUP_SNAPSHOTS)
        if id is None and req.api_version_request.matches(first):
            asked = checks.part_of(body, 'create-from-src')
            self._copies.check(
                req,
                asked.get('source_group_id'),
                asked.get('group_snapshot_id'),
            )
        yield


class ConsistencyGroupsController(wsgi.Controller):
    """New consistency groups, which Cinder stores as groups."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__()
        self._copies = _Copies(reported, types)

    @wsgi.extends
    def create_from_src(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the volumes of a new consistency group."""
        asked = checks.part_of(body, 'consistencygroup-from-src')
        self._copies.check(
            req,
            asked.get('source_cgid') or None,
            asked.get('cgsnapshot_id') or None,
        )
        yield


def _groups() -> Any:
    """Return Cinder's interface for groups."""
    # Imported here, because the module requires Cinder's registered objects.
    from cinder import group

    return group.API()
