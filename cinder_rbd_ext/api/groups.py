# SPDX-License-Identifier: Apache-2.0

"""Requests for group snapshots, or that create a group from one or a group.

The latter have no metadata, and the volumes do not get the keys of the
source. If the driver refuses one, Cinder marks all volumes of the group as
available although they have no RBD image.
"""

from collections.abc import Callable
from typing import Any

from cinder import exception
from cinder import objects
from cinder.api import microversions
from cinder.policies import groups as stock
from oslo_utils import uuidutils

from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks


def check_group(call: api_call.ApiCall) -> None:
    """Check the volumes of a new group, from a group or a group snapshot."""
    first = microversions.get_api_version(microversions.GROUP_SNAPSHOTS)
    if call.ids.get('id') is None and (
        call.req.api_version_request.matches(first)
    ):
        group = call.part.get('source_group_id')
        _check(call, group, call.part.get('group_snapshot_id'))


def check_consistency_group(call: api_call.ApiCall) -> None:
    """Check a new consistency group, which Cinder stores as a group."""
    group = call.part.get('source_cgid') or None
    _check(call, group, call.part.get('cgsnapshot_id') or None)


def _check(call: api_call.ApiCall, group: Any, group_snapshot: Any) -> None:
    """Check each new volume against its type and the group's back end.

    :param group: the id of the source, not checked yet; None for none
    :param group_snapshot: the same
    """
    # Imported here, because it requires Cinder's registered objects.
    from cinder import group as cinder_group

    context = call.context
    if not context.authorize(stock.CREATE_POLICY, fatal=False):
        return
    groups = cinder_group.API()
    try:
        if group is None and uuidutils.is_uuid_like(group_snapshot):
            taken = groups.get_group_snapshot(context, group_snapshot)
            origin = groups.get(context, taken.group_id)
            snapshots_of = objects.SnapshotList.get_all_for_group_snapshot
            for each in snapshots_of(context, taken.id):
                _check_copy(call, origin, each, volume_source.of_snapshot)
        elif group_snapshot is None and uuidutils.is_uuid_like(group):
            origin = groups.get(context, group)
            for each in objects.VolumeList.get_all_by_generic_group(
                context, origin.id
            ):
                _check_copy(call, origin, each, volume_source.of_volume)
    except (exception.NotAuthorized, exception.NotFound):
        return


def _check_copy(
    call: api_call.ApiCall,
    group: Any,
    original: Any,
    source_of: Callable[[Any], checks.VolumeSource],
) -> None:
    """Check a copy of a volume or snapshot, without keys of its own."""
    volume_type = known_types.of_new_volume(
        call.context, original.volume_type_id
    )
    if volume_type is None:
        return
    offer = restrictions.offer_of(volume_type, call.reported, group)
    if offer is None:
        return
    source = source_of(original)
    hints = (f'the source is {original.id}', source.hint)
    call.hint = '; '.join(filter(None, hints))
    checks.check_type(offer, source.size, source)


def check_snapshot(call: api_call.ApiCall) -> None:
    """Check the volumes of a group, which Cinder lets be reverted."""
    from cinder import group as cinder_group

    old = api_call.part_of(call.part, 'cgsnapshot')
    new = api_call.part_of(call.part, 'group_snapshot')
    group = new.get('group_id') or old.get('consistencygroup_id')
    if uuidutils.is_uuid_like(group):
        for each in cinder_group.API().get(call.context, group).volumes:
            volume_source.check_usable(each, f'Volume {each.id}')


def check_snapshot_deletion(call: api_call.ApiCall) -> None:
    """Check the volumes of the snapshots."""
    for each in objects.SnapshotList.get_all_for_group_snapshot(
        call.context, call.ids['id']
    ):
        snapshots.check_use(call.context, each.id)
