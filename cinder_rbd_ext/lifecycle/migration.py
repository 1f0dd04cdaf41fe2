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

"""The stock driver, moving volumes from one back end to another."""

from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import accepted_keys
from cinder_rbd_ext.lifecycle import deletion
from cinder_rbd_ext.lifecycle import migration_away
from cinder_rbd_ext.lifecycle import migration_target
from cinder_rbd_ext.lifecycle import retyping

LOG = logging.getLogger(__name__)

Update = dict[str, Any]

# Of a volume that gets another type on the way.
_RETYPING = 'retyping'


class MovingDriver(deletion.DeletingDriver):
    """Removes the keys that a volume can't have where it is moved to."""

    def create_volume(self, volume: Any) -> Update:
        """Create a volume, or the target of a migration."""
        update = super().create_volume(volume)
        arrival = migration_target.of_volume(volume, self.settings)
        if arrival:
            update.update(self._removed(volume, arrival.acceptance))
        return update

    def delete_volume(self, volume: Any) -> None:
        """Delete a volume, or the former image of one that was migrated."""
        migration_away.finished(volume)
        super().delete_volume(volume)

    def migrate_volume(self, context: Any, volume: Any, host: Any) -> Any:
        """Copy a volume to another backend's pool, where it may be as it is.

        Not in a retype to a back end where tenants can't request the layout:
        Cinder makes a new image there then, and copies the data.
        """
        with self._refusing(volume):
            accepted = self._accepted(volume, host)
        if accepted is None:
            return False, None
        moved, update = super().migrate_volume(context, volume, host)
        if moved:
            update = {**(update or {}), **self._removed(volume, accepted)}
        return moved, update or None

    def _accepted(
        self, volume: Any, host: dict[str, Any] | None
    ) -> accepted_keys.Acceptance | None:
        """Return what becomes of a volume's keys at a driver-assisted move.

        :returns: None where the image can't be moved as it is
        """
        metadata = request.metadata_of(volume)
        specs = request.specs_of(volume.volume_type)
        report = (host or {}).get('capabilities') or {}
        settings = capabilities.settings_of(report)
        if settings is None and capabilities.is_ours(report):
            # Of a release that says more: it judges for itself.
            return accepted_keys.Acceptance(metadata, {})
        retyped = volume.status == _RETYPING
        if retyped and settings:
            # The types differ in the back end's name only.
            retype = retyping.Retype(
                metadata,
                specs,
                specs,
                settings,
                volume.size,
                sources.layout_requested(volume, record.items_of(volume.id)),
            )
            state = self._state_of(volume.name)
            if retype.layout_obstacle(state):
                return None
            return retype.acceptance()
        return accepted_keys.of_type(
            metadata, specs, settings, volume.size, as_is=not retyped
        )

    def update_migrated_volume(
        self,
        ctxt: Any,
        volume: Any,
        new_volume: Any,
        original_volume_status: str,
    ) -> Any:
        """Take over a migration's image, and what was recorded of it."""
        state = self._state_of(new_volume.name)
        update = super().update_migrated_volume(
            ctxt, volume, new_volume, original_volume_status
        )
        record.moved(
            volume.id,
            state,
            record.backend_of(new_volume),
            record.origins(record.items_of(new_volume.id)),
        )
        return update

    def _removed(
        self, volume: Any, accepted: accepted_keys.Acceptance
    ) -> Update:
        """Return the model update that removes keys; tell the operator."""
        if not accepted.dropped:
            return {}
        LOG.info(
            'Removed from the metadata of volume %(id)s, which its volume '
            'type does not accept on backend %(backend)s: %(keys)s',
            {
                'id': volume.id,
                'backend': self._backend_name,
                'keys': accepted.reasons,
            },
        )
        return {'metadata': accepted.left_of(request.metadata_of(volume))}
