# SPDX-License-Identifier: Apache-2.0

"""Backups and restores.

The services of all projects make only some at a time
(``backup_max_operations``).
"""

from cinder import volume as cinder_volume
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks
from rbd_volume_options import image_record
from rbd_volume_options import offers
from rbd_volume_options import rate_limits
from rbd_volume_options import volume_items
from rbd_volume_options.families import sector_size

#: Of a re-image, a backup or a restore, because of limits of the owner.
SLOW = 'these limits make it slow: {}. Remove them first'


def check_quick(slow: list[str], instead: str = '') -> None:
    """Check that no limits of the owner make a backup or a restore slow."""
    if slow:
        reason = SLOW.format(', '.join(slow))
        raise refusals.refused(f'{reason}{instead}.')


def check_create(call: api_call.ApiCall) -> None:
    """Check the snapshot of a new backup, or the limits of the volume.

    Cinder reads a snapshot and a volume in use through a clone, which has no
    limits of the owner.
    """
    snapshots.check_use(call.context, call.part.get('snapshot_id'))
    ident = call.part.get('volume_id')
    if not call.part.get('snapshot_id') and uuidutils.is_uuid_like(ident):
        volume = cinder_volume.API().get(call.context, ident)
        if volume.status != 'in-use':
            items = record.items_of(volume.id)
            _check(
                call,
                volume,
                items,
                rate_limits.UPLOAD,
                ', or back up a snapshot',
            )


def _check(
    call: api_call.ApiCall,
    volume: protocols.Volume,
    items: dict[str, str],
    work: dict[str, int],
    instead: str = '',
) -> None:
    slow = volume_items.delaying(work, volume, items)
    if slow and call.reported.may_be_ours(volume):
        check_quick(slow, instead)


def check_restore(call: api_call.ApiCall) -> None:
    """Check the volume to which a backup is restored."""
    context = call.context
    written = volume_source.of_backup(context, call.ids['id']).written
    volume_id = call.part.get('volume_id')
    items: dict[str, str] = {}
    if uuidutils.is_uuid_like(volume_id):
        volume = cinder_volume.API().get(context, volume_id)
        items = record.items_of(volume.id)
        _check(call, volume, items, rate_limits.REIMAGE)
    if written is None:
        return
    if volume_id is None:
        # Cinder would create a volume of the default type.
        volume_type = known_types.of_new_volume(context, None)
        if volume_type is not None:
            specs = volume_type['extra_specs'] or {}
            matching = call.reported.matching(specs)
            offer = offers.TypeOffer.of_pools(specs, matching)
            checks.check_readable(offer, {}, written)
    elif uuidutils.is_uuid_like(volume_id):
        sector_size.check_receives(image_record.disk_in(items), written)
