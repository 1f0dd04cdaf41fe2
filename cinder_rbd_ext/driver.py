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

"""Cinder's RBD driver, with layout and features of each volume's own.

Each method calls the stock driver's. Why each is overridden is written in
the documentation, :doc:`/contributor/overridden`.
"""

import contextlib
import dataclasses
import functools
import json
from typing import Any

from cinder import exception
from cinder import interface
from cinder.volume.drivers import rbd
from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import capabilities
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import opts
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.cluster import capacity
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import changes
from cinder_rbd_ext.lifecycle import migration
from cinder_rbd_ext.lifecycle import retyping
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import precedence

LOG = logging.getLogger(__name__)

Update = dict[str, Any]


@interface.volumedriver
class RBDExtDriver(migration.MovingDriver):
    """RBD driver whose volumes choose layout, features and cache mode."""

    @classmethod
    def get_driver_options(cls) -> list[Any]:
        """Return the options of the stock driver and ours."""
        return [*super().get_driver_options(), *opts.BACKEND_OPTS]

    def check_for_setup_error(self) -> None:
        """Refuse to start on options that can't be had."""
        data_pool = self.settings.options.data_pool
        super().check_for_setup_error()
        if data_pool:
            try:
                self._check_pool(data_pool, errors.Origin.BACKEND)
            except errors.OptionError as error:
                raise exceptions.InvalidBackendOptions(
                    backend=self._backend_name,
                    reason=str(error.renamed(backend_settings.OPTION_OF_KEY)),
                ) from error

    def extend_volume(self, volume: Any, new_size: Any) -> None:
        """Extend a volume, unless its layout or object map forbids it."""
        size = int(new_size) * units.Gi
        with self._refusing(volume):
            changes.check_extended(
                self._state_of(volume.name),
                sources.origins_of(volume, record.items_of(volume.id)),
                size,
                self.settings.limits,
            )
        super().extend_volume(volume, new_size)

    def retype(
        self, context: Any, volume: Any, new_type: Any, diff: Any, host: Any
    ) -> Any:
        """Give a volume's image what its new type asks for, in place.

        What can't be had in place (a layout, a data pool) is left to a
        migration, which Cinder does where the caller allows it. Keys that
        the new type does not accept are removed from the volume.
        """
        with self._refusing(volume):
            retype = self._retype(volume, new_type)
            accepted = retype.acceptance()
            obstacle = retype.change(self._state_of(volume.name)).obstacle
        if obstacle:
            LOG.info(
                'Retype of volume %(id)s needs a migration: %(why)s',
                {'id': volume.id, 'why': obstacle},
            )
            return False, None
        done, update = super().retype(context, volume, new_type, diff, host)
        # Again: stock has turned features on or off for the new type.
        self._apply(volume, retype.change(self._state_of(volume.name)))
        return done, {**(update or {}), **self._removed(volume, accepted)}

    def _retype(self, volume: Any, new_type: Any) -> retyping.Retype:
        with rbd.RADOSClient(self) as client:
            striping = self.rbd.default_striping(client.ioctx)
        metadata = request.metadata_of(volume)
        former = request.specs_of(volume.volume_type)
        return retyping.Retype(
            metadata,
            former,
            request.specs_of(new_type),
            dataclasses.replace(self.settings, ceph_striping=striping),
            volume.size,
            sources.layout_requested(volume, record.items_of(volume.id)),
        )

    def _apply(self, volume: Any, change: changes.Change) -> None:
        with rbd.RBDVolumeProxy(self, volume.name) as image:
            existing.disable(image, change.disable)
            if existing.enable(image, change.enable) & features.MAP_OFF:
                self._rebuild_object_maps(image, volume.name)
            state = self.rbd.state_of(image)
        given = None
        if change.enable or change.disable:
            # What is inherited from this volume is the new type's.
            there = sources.origins_of(volume, record.items_of(volume.id))
            given = {
                **dict.fromkeys(precedence.Part, errors.Origin.CLUSTER),
                **there,
                precedence.Part.FEATURES: errors.Origin.VOLUME_TYPE,
            }
        record.made(volume.id, state, record.backend_of(volume), given)

    def _rebuild_object_maps(self, image: Any, name: str) -> None:
        def at(snapshot: str) -> Any:
            return rbd.RBDVolumeProxy(self, name, snapshot=snapshot)

        existing.rebuild_object_maps(image, at)

    def _disable_multiattach(self, volume: Any) -> Update:
        """Give back the features that multi-attach took, with valid maps.

        Stock enables the object map and leaves it invalid, which makes it
        worse than none: a deletion still looks for each object.
        """
        saved = json.loads(volume.provider_location or '{}')
        wanted = features.from_mask(saved.get('saved_features', 0))
        with rbd.RBDVolumeProxy(self, volume.name) as image:
            existing.enable(image, wanted & features.SINGLE_CLIENT)
            self._rebuild_object_maps(image, volume.name)
        return {'provider_location': None}

    def manage_existing(self, volume: Any, existing_ref: Any) -> Any:
        """Take over an RBD image, unless it isn't what is asked for."""
        name = existing_ref['source-name']
        try:
            # An operator does this: keys that tenants may not set may be set.
            asked = request.read(
                request.metadata_of(volume),
                request.specs_of(volume.volume_type),
                self.settings,
            )
            found = changes.contradiction(asked, self._state_of(name))
            if found:
                raise found
        except errors.OptionError as error:
            told = error.hidden() if error.key == keys.DATA_POOL else error
            record.refused(volume.id, str(told))
            raise exception.ManageExistingVolumeTypeMismatch(
                reason=str(error)
            ) from error
        with contextlib.ExitStack() as undo:
            undo.callback(self._undo_rename, volume.name, name)
            update = super().manage_existing(volume, existing_ref)
            record.made(
                volume.id,
                self._state_of(volume.name),
                record.backend_of(volume),
            )
            undo.pop_all()
        return update

    def _undo_rename(self, name: str, original: str) -> None:
        try:
            with rbd.RADOSClient(self) as client:
                self.RBDProxy().rename(client.ioctx, name, original)
        except self.rbd.ImageNotFound:
            LOG.debug('%s was not renamed to %s', original, name)
        except Exception:
            # Not raised: it would hide the failure that this is to undo.
            LOG.exception('Could not rename %s to %s', name, original)

    def _disconnect_from_rados(self, client: Any, ioctx: Any) -> None:
        """Close a connection, and first the images that stock left open."""
        self.rbd.close_images(ioctx)
        super()._disconnect_from_rados(client, ioctx)

    def _update_volume_stats(self) -> None:
        super()._update_volume_stats()
        ceph_features = ceph_striping = None
        if self._stats['backend_state'] == 'up':
            with rbd.RADOSClient(self) as client:
                ceph_features = features.from_mask(client.features)
                ceph_striping = self.rbd.default_striping(client.ioctx)
        self._stats.update(
            capabilities.reported(self.settings, ceph_features, ceph_striping)
        )

    def _get_pool_stats(self) -> Any:
        """Return free and total capacity of the pool that fills up."""
        pool = self.settings.options.data_pool
        stock = functools.partial(super()._get_pool_stats)
        if pool:
            view = capacity.looking_at(self, pool)
            stock = functools.partial(
                super(RBDExtDriver, view)._get_pool_stats
            )
        return stock()
