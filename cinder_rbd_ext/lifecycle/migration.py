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

"""Migrations of volumes, and the keys that remain."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import Any

from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import accepted_keys
from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import capabilities
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.cluster import connection_choice
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import maker
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import migration_away
from cinder_rbd_ext.retype import plan as retype_plan
from rbd_volume_options import keys
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

Update = dict[str, Any]
#: Moves a volume to a back end, as Cinder's scheduler describes it.
Move = Callable[[Any], tuple[bool, Update | None]]

# Status of a volume that is migrated in a retype.
_RETYPING = 'retyping'


class Migrations:
    """Removes the keys that the new back end of a volume does not accept.

    :param driver: the driver, which provides the settings and the images
    :param making: creates copies of images
    """

    def __init__(self, driver: Any, making: maker.Maker) -> None:
        self._driver = driver
        self._images: lookup.ImageLookup = driver.images
        self._maker = making

    def migrate(
        self, volume: Any, host: Any, move: Move
    ) -> tuple[bool, Update | None]:
        """Copy the image of a volume to another pool, if it may stay as it is.

        :param host: the target, as described by Cinder's scheduler
        :param move: the stock method, for a target
        :returns: whether the volume has moved, and the model update
        """
        accepted = self.accepted(volume, host)
        if accepted is None:
            return False, None
        with (
            self._maker.migrating(volume, host) as copy,
            connection_choice.own_connection(),
        ):
            moved, update = move(capabilities.with_location(host))
        if moved:
            self.left(volume, host, copy.state, accepted)
        return moved, update or None

    def finished(self, deleted: Any) -> None:
        """Complete a migration away, if Cinder deletes the former image."""
        migration_away.finished(deleted)

    @contextlib.contextmanager
    def taking_over(self, volume: Any, new_volume: Any) -> Iterator[None]:
        """Record the image that a volume takes over from a new volume."""
        state = self._images.state_of(new_volume.name)
        yield
        recorded = record.items_of(new_volume.id)
        record.moved(
            volume.id,
            state,
            record.backend_of(new_volume),
            record.origins(recorded),
            record.configuration_in(recorded),
        )

    def accepted(
        self, volume: Any, host: dict[str, Any] | None
    ) -> accepted_keys.Acceptance | None:
        """Return which keys a driver-assisted migration keeps.

        :returns: None if the image cannot be migrated unchanged
        :raises VolumeOptionRefused: for options that are not possible on any
            volume
        """
        with option_errors.of_volume(
            volume,
            self._driver.backend_name,
            user_messages.Operation.MIGRATION,
        ):
            return self._accepted(volume, host)

    def _accepted(
        self, volume: Any, host: dict[str, Any] | None
    ) -> accepted_keys.Acceptance | None:
        metadata = request.metadata_of(volume)
        specs = request.specs_of(volume.volume_type)
        report = (host or {}).get('capabilities') or {}
        settings = capabilities.settings_of(report)
        if settings is None and capabilities.is_ours(report):
            # A newer release of our driver applies its own rules.
            return accepted_keys.Acceptance(metadata, {})
        if settings and self._needs_another_data_pool(volume, host, settings):
            return None
        retyped = volume.status == _RETYPING
        if retyped and settings:
            # The types differ only in the name of the back end.
            retype = retype_plan.Retype(
                metadata,
                specs,
                specs,
                settings,
                volume.size,
                sources.layout_requested(record.items_of(volume.id)),
            )
            state = self._images.state_of(volume.name)
            if retype.layout_obstacle(state):
                return None
            return retype.acceptance
        return accepted_keys.of_type(
            metadata, specs, settings, volume.size, as_is=not retyped
        )

    def _needs_another_data_pool(
        self,
        volume: Any,
        host: dict[str, Any] | None,
        settings: backend_settings.BackendSettings,
    ) -> bool:
        """Return whether a volume's image stays, but in the wrong pool.

        The stock driver moves no image between back ends of the same pool.
        """
        if capabilities.pool_of(host) != self._driver.configuration.rbd_pool:
            return False
        specs = request.specs_of(volume.volume_type)
        wanted = specs.get(keys.DATA_POOL) or settings.options.data_pool
        return self._images.state_of(volume.name).data_pool != wanted

    def left(
        self,
        volume: Any,
        host: dict[str, Any],
        state: plan.ImageState | None,
        accepted: accepted_keys.Acceptance,
    ) -> None:
        """Record a driver-assisted migration; remove keys from the volume.

        :param host: the target, as described by Cinder's scheduler
        :param state: of the copy; None if the image stays in its pool
        :param accepted: from :meth:`accepted`
        """
        migration_away.moved(volume, host, state)
        self.remove(volume, accepted)

    def remove(
        self, volume: Any, accepted: accepted_keys.Acceptance | None
    ) -> None:
        """Remove the keys that are not accepted from a volume, and log them.

        The keys are not removed by a model update: Cinder would replace all
        metadata with it, and the owner may have changed other items since the
        volume was read. The volume object stays consistent with the database,
        so that Cinder does not save its metadata again.

        A failure is logged and not raised: the image has already changed, and
        Cinder must save that.

        :param accepted: None for a new volume that no migration created
        """
        if not accepted or not accepted.dropped:
            return
        try:
            for name in sorted(accepted.dropped):
                if name in volume.metadata:
                    volume.delete_metadata_key(name)
                else:
                    # The owner has set it since the volume was read.
                    db.volume_metadata_delete(volume._context, volume.id, name)
        except Exception:
            LOG.exception('Could not remove the keys of volume %s', volume.id)
            return
        LOG.info(
            'Volume %(id)s: removed keys that its volume type does not '
            'accept on back end %(backend)s: %(keys)s',
            {
                'id': volume.id,
                'backend': self._driver.backend_name,
                'keys': accepted.reasons,
            },
        )
