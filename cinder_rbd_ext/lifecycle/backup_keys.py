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

"""Keys of a volume to which a backup is restored.

The backup service replaces the metadata of a volume with that of the backup
(``BackupMetadataAPI``), which is not checked against the volume's type, back
end and image. During the restore, a copy of the volume's own keys is kept in
the admin metadata, which is not part of a backup.
"""

from collections.abc import Callable
from collections.abc import Mapping

from cinder import context
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import record
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: Checks the metadata of a volume; raises OptionError. The arguments are the
#: complete metadata and the keys that the restore has added.
Check = Callable[[Mapping[str, str], frozenset[str]], None]


def is_copied(admin_metadata: Mapping[str, str]) -> bool:
    """Return whether there is a copy of a volume's keys."""
    return wire.RECORD_RESTORING in admin_metadata


def remember(volume_id: str) -> None:
    """Copy the keys of a volume, unless there is a copy.

    An existing copy is from a restore that was interrupted. The metadata may
    already be that of the backup.
    """
    admin = context.get_admin_context()
    if is_copied(db.volume_admin_metadata_get(admin, volume_id)):
        return
    copy = {
        f'{wire.RECORD_BEFORE_RESTORE}{key.removeprefix(keys.PREFIX)}': value
        for key, value in db.volume_metadata_get(admin, volume_id).items()
        if key in definitions.volume_keys()
    }
    copy[wire.RECORD_RESTORING] = 'True'
    db.volume_admin_metadata_update(admin, volume_id, copy, False)


def repair(volume_id: str, check: Check) -> None:
    """Restore the volume's own keys, if there is a copy.

    A key from the backup is kept if the volume did not have it and it passes
    the check.
    """
    admin = context.get_admin_context()
    recorded = db.volume_admin_metadata_get(admin, volume_id)
    if not is_copied(recorded):
        return
    own = {
        f'{keys.PREFIX}{name.removeprefix(wire.RECORD_BEFORE_RESTORE)}': value
        for name, value in recorded.items()
        if name.startswith(wire.RECORD_BEFORE_RESTORE)
    }
    current = db.volume_metadata_get(admin, volume_id)
    wanted = settled(own, current, check)
    if wanted != current:
        dropped = sorted(k for k in current if wanted.get(k) != current[k])
        if dropped:
            LOG.warning(
                'Volume %(id)s: removed keys that the backup restored: '
                '%(keys)s',
                {
                    'id': volume_id,
                    'keys': ', '.join(
                        f'{key!a} = {errors.shown(current[key])}'
                        for key in dropped
                    ),
                },
            )
        # Deletions come first: names may differ only in case, and some
        # databases treat those as equal.
        for key in dropped:
            db.volume_metadata_delete(admin, volume_id, key)
        db.volume_metadata_update(admin, volume_id, wanted, False)
    record.accepted(
        volume_id, {k: v for k, v in wanted.items() if k not in own}
    )
    for name in recorded:
        if name == wire.RECORD_RESTORING or name.startswith(
            wire.RECORD_BEFORE_RESTORE
        ):
            db.volume_admin_metadata_delete(admin, volume_id, name)


def settled(
    own: Mapping[str, str], current: Mapping[str, str], check: Check
) -> dict[str, str]:
    """Return the metadata of a volume after a restore.

    :param own: the ``rbd:`` keys before the restore
    :param current: the current metadata
    """
    kept = {k: v for k, v in current.items() if not keys.is_ours(k)}
    kept.update(own)
    for family in definitions.families():
        added = {
            k: current[k] for k in family if k in current and k not in own
        }
        if added:
            try:
                check({**kept, **added}, frozenset(added))
            except errors.OptionError as error:
                LOG.info('Removing a key that a backup restored: %s', error)
            else:
                kept.update(added)
    return kept
