#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Volumes that a migration has taken to a back end without our driver.

No code of ours runs there. Cinder completes the migration by deleting the
volume's former image, through the driver that made it: this one.
"""

import re
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import record
from rbd_volume_options import options
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

_DELETING = 'deleting'
# What ``Volume.finish_volume_migration`` writes into the row that it leaves
# the former image. The row's ``_name_id`` is the migrated volume's id only
# for an image that was never migrated before.
_FORMER = re.compile(r'migration src for ([0-9a-f-]{36})')


def finished(deleted: Any) -> None:
    """Remove the keys and the record of a volume that has left.

    A failure is logged: the former image must be deleted anyway.

    :param deleted: what Cinder deletes; nothing happens unless it is the
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
    volume: Any, host: dict[str, Any], state: plan.ImageState | None
) -> None:
    """Record that this driver has moved a volume by itself.

    :param host: where, as Cinder's scheduler describes it
    :param state: the copy; None where the image stays in its pool
    """
    if capabilities.is_ours(host['capabilities']):
        name = host.get('cluster_name') or host['host']
        record.moved(volume.id, state, name.partition('#')[0])
    else:
        record.forgotten(volume.id)


def _forget(volume_id: str, deleted: Any) -> None:
    admin = context.get_admin_context()
    volume = objects.Volume.get_by_id(admin, volume_id)
    maker = record.recorded_by(volume.admin_metadata)
    here = record.backend_of(volume)
    # An old record does not say who made it. Then it is that of the former
    # image: a driver of ours at the target would have made another one.
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
            'Volume %(id)s is on a back end without RBD volume options now; '
            'removed from its metadata: %(keys)s',
            {'id': volume_id, 'keys': ', '.join(names)},
        )
