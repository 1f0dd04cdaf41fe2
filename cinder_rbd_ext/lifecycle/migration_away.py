# SPDX-License-Identifier: Apache-2.0

"""Volumes that were migrated to a back end without our driver.

None of our code runs there. To complete the migration, Cinder deletes the
former image of the volume through the driver that created it, which is this
one.
"""

import re
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from rbd_volume_options import options
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

_DELETING = 'deleting'
# Text that ``Volume.finish_volume_migration`` writes into the database row of
# the former image. The ``_name_id`` of this row is the id of the migrated
# volume only if the image was never migrated before.
_FORMER = re.compile(r'migration src for ([0-9a-f-]{36})')


def finished(deleted: protocols.Volume) -> None:
    """Remove the keys and the record of a volume that was migrated away.

    A failure is logged and not raised, because the former image must be
    deleted anyway.

    :param deleted: the volume that Cinder deletes; ignored unless it has the
        former image of a migrated volume
    """
    match = _FORMER.fullmatch(deleted.display_description or '')
    if deleted.migration_status != _DELETING or not match:
        return
    try:
        _forget(match[1], deleted)
    except exception.VolumeNotFound:
        LOG.debug('Volume %s was deleted after its migration', match[1])
    except Exception:
        LOG.exception('Could not remove the keys of volume %s', match[1])


def moved(
    volume: protocols.Volume,
    host: dict[str, Any],
    state: plan.ImageState | None,
) -> None:
    """Record a driver-assisted migration.

    :param state: of the copy; None if the image stays in its pool
    """
    if capabilities.is_ours(host['capabilities']):
        record.moved(volume.id, state, back_end_of(host))
    else:
        record.forgotten(volume.id)


def back_end_of(host: dict[str, Any]) -> str:
    """Return the back end of a target, as the record of a volume has it."""
    name: str = host.get('cluster_name') or host['host']
    return name.partition('#')[0]


def _forget(volume_id: str, deleted: protocols.Volume) -> None:
    admin = context.get_admin_context()
    volume = objects.Volume.get_by_id(admin, volume_id)
    maker = record.recorded_by(volume.admin_metadata)
    here = record.backend_of(volume)
    # An old record does not contain the back end that wrote it. In this case
    # it is the record of the former image, because our driver on the target
    # would have written a new one.
    if volume.project_id != deleted.project_id or here == (
        maker or record.backend_of(deleted)
    ):
        return
    names = sorted(options.ours(volume.metadata))
    for name in names:
        db.volume_metadata_delete(admin, volume_id, name)
    record.forgotten(volume_id)
    if names:
        LOG.info(
            'Volume %(id)s: removed keys that its new back end does not '
            'support: %(keys)s',
            {'id': volume_id, 'keys': ', '.join(names)},
        )
