# SPDX-License-Identifier: Apache-2.0

"""Restores of backups, in which a volume keeps its keys.

The backup service, with any backup driver, connects to the volume, restores
data and metadata, and disconnects. The volume driver is involved in the first
and the last step.
"""

from collections.abc import Mapping
from typing import Any

from cinder import context
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.attach import requester
from rbd_volume_options import accepted_keys
from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import volume_items
from rbd_volume_options.families import sector_size

LOG = logging.getLogger(__name__)


def connected(
    driver: protocols.Driver,
    current: protocols.Volume,
    connector: protocols.Connector,
) -> Any:
    """Copy the keys of a volume to which a backup is restored.

    :param current: the volume as in the database
    :returns: the volume; None for a connection of this service
    """
    if requester.is_own(connector):
        return None
    if current.status in requester.RESTORING:
        _remember(current.id)
    elif volume_items.RECORD_RESTORING in current.admin_metadata:
        # The restore was interrupted, and the volume is in use again.
        repair_keys(driver, current)
        return requester.current(current)
    return current


def repair_keys(driver: protocols.Driver, volume: protocols.Volume) -> bool:
    """Restore the volume's own keys; keep valid new ones of the backup.

    A failure is logged, and tried again.

    :returns: whether a restore had ended, and its keys are now the volume's
    """
    try:
        return _repair(driver, volume)
    except Exception:
        LOG.exception('Could not restore the keys of volume %s', volume.id)
        return False


def _check_keys(
    driver: protocols.Driver,
    volume: protocols.Volume,
    metadata: Mapping[str, str],
    added: frozenset[str],
) -> None:
    requested = request.read_request(
        metadata, request.specs_of(volume.volume_type), driver.settings
    )
    registry.check_tenant(
        {key: metadata[key] for key in added},
        policies.settable_by_creator(volume, requested, moved=False),
    )
    resolved = requested.resolve(backend_too=False)
    operator_limits.check_layout(
        resolved.layout_over(layout.ImageLayout(layout.MAX_OBJECT_SIZE)),
        {keys.STRIPING: resolved.origin(keys.STRIPING)},
        driver.settings.limits,
    )
    disk = image_record.disk_in(record.items_of(volume.id))
    mismatch = changes.disk_mismatch(resolved, disk)
    if mismatch:
        # Servers cannot read the restored data if the one that was backed up
        # had another disk.
        try:
            sector_size.check_receives(disk, resolved.disk)
        except errors.OptionError as unreadable:
            user_messages.refused(
                volume, user_messages.Operation.RESTORE, unreadable
            )
    contradiction = mismatch or changes.contradiction(
        resolved, driver.images.state_of(volume.name)
    )
    if contradiction:
        raise contradiction


def _remember(volume_id: str) -> None:
    """Copy the keys of a volume, unless an interrupted restore has done so.

    The metadata may then already be that of the backup.
    """
    admin = context.get_admin_context()
    recorded = db.volume_admin_metadata_get(admin, volume_id)
    if volume_items.RECORD_RESTORING in recorded:
        return
    copy = volume_items.saved_for_restore(
        db.volume_metadata_get(admin, volume_id)
    )
    record.write(volume_id, copy)


def _repair(driver: protocols.Driver, volume: protocols.Volume) -> bool:
    admin = context.get_admin_context()
    recorded = db.volume_admin_metadata_get(admin, volume.id)
    if volume_items.RECORD_RESTORING not in recorded:
        return False
    own = volume_items.before_restore(recorded)
    current = db.volume_metadata_get(admin, volume.id)

    def check(metadata: Mapping[str, str], added: frozenset[str]) -> None:
        try:
            _check_keys(driver, volume, metadata, added)
        except errors.OptionError as error:
            LOG.info('Removing a key that a backup restored: %s', error)
            raise

    wanted = accepted_keys.after_restore(own, current, check)
    if wanted != current:
        dropped = sorted(k for k in current if wanted.get(k) != current[k])
        if dropped:
            LOG.warning(
                'Volume %(id)s: removed keys that the backup restored: '
                '%(keys)s',
                {
                    'id': volume.id,
                    'keys': ', '.join(
                        f'{key!a} = {errors.shown(current[key])}'
                        for key in dropped
                    ),
                },
            )
        # Deletions come first: names may differ only in case, and some
        # databases treat those as equal.
        for key in dropped:
            db.volume_metadata_delete(admin, volume.id, key)
        db.volume_metadata_update(admin, volume.id, wanted, False)
    record.accepted(
        volume.id, {k: v for k, v in wanted.items() if k not in own}
    )
    # In the order of their names, so that the mark is the last one.
    record.write(volume.id, {}, volume_items.saved_for_restore(own))
    return True
