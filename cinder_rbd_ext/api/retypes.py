# SPDX-License-Identifier: Apache-2.0

"""Requests to retype or migrate a volume."""

from collections.abc import Collection
from collections.abc import Mapping

from cinder import objects
from cinder import volume as cinder_volume
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import record
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import accepted_keys
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options import retype_plan
from rbd_volume_options.families import sector_size

_ON_DEMAND = 'set migration_policy to on-demand'


def check_retype(call: api_call.ApiCall) -> None:
    """Check a retype, and note the keys that it removes from the volume.

    :raises HTTPBadRequest: for a type that no volume of this size can have,
        that requires a migration that the caller does not allow or Cinder
        cannot perform, or after which servers could not read the data
    """
    if not isinstance(call.part.get('new_type'), str):
        return
    volume, reported = call.volume, call.reported
    new_type = known_types.visible(call.context, call.part['new_type'])
    may_migrate = (call.part.get('migration_policy') or 'never') != 'never'
    if may_migrate and reported.may_be_ours(volume):
        record.write(volume.id, {image_record.RECORD_NEW_TYPE: new_type['id']})
    metadata = request.metadata_of(volume)
    specs = type_specs.with_maxima(new_type, metadata)
    current_specs = request.specs_of(volume.volume_type)
    recorded = image_record.items(call.stored)
    if not (
        any(options.ours(each) for each in (metadata, specs, current_specs))
        or image_record.layout_requested(call.stored)
        or image_record.has_disk(recorded)
    ):
        return
    matching = reported.matching(specs)
    if not matching:
        raise refusals.no_backend(new_type['name'])
    here = reported.holding(volume)
    if may_migrate or here not in matching:
        # The scheduler may choose any of them.
        check_readable(recorded, matching)
    if here in matching:
        # Another driver removes no keys.
        if here.settings is not None:
            retype = retype_plan.Retype(volume, specs, here.settings)
            call.notice = _check_here(call, retype, may_migrate)
        return
    if here and not may_migrate:
        raise webob.exc.HTTPBadRequest(
            explanation='The back end of the volume does not match volume '
            f'type {new_type["name"]}, so the retype needs a migration: '
            f'{_ON_DEMAND}.'
        )
    call.notice = accepted_keys.retype_notice(
        [
            accepted_keys.accepted_by_type(
                metadata, specs, pool.settings, volume.size
            )
            for pool in matching
            # A newer release of our driver applies its own rules.
            if pool.settings or not pool.is_ours
        ]
    )


def check_migration(call: api_call.ApiCall) -> None:
    """Check the destination of a migration."""
    recorded = record.items_of(call.volume.id)
    if image_record.has_disk(recorded):
        possible = call.reported.destination(call.context, call.part)
        check_readable(recorded, possible)


def check_completion(call: api_call.ApiCall) -> None:
    """Check that a server uses the new volume, for which Nova copied.

    Cinder deletes the former image then. It completes its own copies without
    this request, which could come before their end.
    """
    new_id = call.part.get('new_volume')
    if not isinstance(new_id, str) or call.part.get('error'):
        return
    volume = call.volume
    new = cinder_volume.API().get(call.context, new_id)
    # Servers without an attachment ID have the volume ``attaching``.
    old_way = new.status == 'attaching' and not new.volume_attachment
    is_used = new.status == 'in-use' or old_way
    if not is_used and call.reported.may_be_ours(volume):
        raise webob.exc.HTTPBadRequest(
            explanation=f'No server uses volume {new.id}, which may not have '
            f'all data of volume {volume.id} yet. Cinder itself completes the '
            'migration of an unused volume.'
        )


def check_readable(
    recorded: Mapping[str, str], possible: Collection[pools.Pool]
) -> None:
    """Check that servers can read the data of a volume on other back ends.

    :param possible: the possible pools; none if the back end has not reported,
        so that it counts as one without our driver
    :raises HTTPBadRequest: for a back end that ignores the sector size
    """
    if not possible or not all(pool.is_ours for pool in possible):
        sector_size.check_leaves(image_record.disk_in(recorded))


def _check_here(
    call: api_call.ApiCall, retype: retype_plan.Retype, may_migrate: bool
) -> str | None:
    """Check a retype for which the scheduler chooses the same back end."""
    volume = call.volume
    call.shows_pools = policies.allows(call.context, policies.GET_POOLS)
    source = volume_source.of_row(call.stored)
    call.hint = source.hint
    decided = retype.make_plan(source.state)
    needs_migration = decided.is_migrated or (
        decided.is_copied and volume.status == 'in-use'
    )
    if needs_migration and decided.obstacle:
        way = ''
        if not may_migrate:
            way = _ON_DEMAND
        elif objects.SnapshotList.get_all_for_volume(
            volume._context, volume.id
        ):
            way = 'delete the snapshots of the volume first'
        if way and decided.is_copied:
            # Only an image that no client has open can be copied.
            way = (
                'detach the volume, so that its image can be converted, or '
                f'{way}'
            )
        if way:
            call.hint += f'; the retype needs a migration: {way}'
            raise decided.obstacle
    return accepted_keys.retype_notice([decided.acceptance])
