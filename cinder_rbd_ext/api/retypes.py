# SPDX-License-Identifier: Apache-2.0

"""Checks of a retype."""

from collections.abc import Collection
from collections.abc import Mapping

from cinder import objects
import webob.exc

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import accepted_keys
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options import retype_plan
from rbd_volume_options import sector_sizes

_ON_DEMAND = 'set migration_policy to on-demand'


def check(
    volume: protocols.Volume,
    new_type: protocols.VolumeType,
    may_migrate: bool,
    reported: pools.ReportedPools,
    shows_pools: bool = False,
) -> str | None:
    """Check a retype.

    :param may_migrate: whether the caller allows a migration
    :returns: a notice of the keys that it removes from the volume, if any
    :raises HTTPBadRequest: for a type that no volume of this size can have,
        that requires a migration that the caller does not allow or Cinder
        cannot perform, or after which servers could not read the data
    """
    specs = request.specs_of(new_type)
    former = request.specs_of(volume.volume_type)
    metadata = request.metadata_of(volume)
    stored = record.stored(volume.id)
    recorded = stored.admin_metadata
    if not (
        any(options.ours(each) for each in (metadata, specs, former))
        or image_record.layout_requested(stored)
        or image_record.has_disk(recorded)
    ):
        return None
    matching = reported.matching(specs)
    if not matching:
        raise refusals.no_backend(new_type['name'])
    here = reported.holding(volume)
    if may_migrate or here not in matching:
        # The scheduler may choose any of them.
        check_readable(recorded, matching)
    if here in matching:
        if here.settings is None:
            # The back end has another driver, which removes no keys.
            return None
        retype = retype_plan.Retype.of(volume, new_type, here.settings)
        return _check_here(volume, retype, may_migrate, shows_pools)
    if here and not may_migrate:
        raise webob.exc.HTTPBadRequest(
            explanation='The back end of the volume does not match volume '
            f'type {new_type["name"]}, so the retype needs a migration: '
            f'{_ON_DEMAND}.'
        )
    with refusals.bad_request():
        return accepted_keys.retype_notice(
            [
                accepted_keys.of_type(
                    metadata, specs, pool.settings, volume.size
                )
                for pool in matching
                # A newer release of our driver applies its own rules.
                if pool.settings or not pool.is_ours
            ]
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
        with refusals.bad_request():
            sector_sizes.check_leaves(image_record.disk_in(recorded))


def _check_here(
    volume: protocols.Volume,
    retype: retype_plan.Retype,
    may_migrate: bool,
    shows_pools: bool,
) -> str | None:
    """Check a retype for which the scheduler chooses the same back end."""
    source = volume_source.of_volume(volume)
    with refusals.bad_request(source.hint, shows_pools):
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
            hint = f'{source.hint}; the retype needs a migration: {way}'
            with refusals.bad_request(hint, shows_pools):
                raise decided.obstacle
    return accepted_keys.retype_notice([decided.acceptance])
