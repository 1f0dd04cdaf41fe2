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

"""The ways in which the RBD driver makes images, layout and features kept."""

from collections.abc import Iterator
import contextlib
import functools
from typing import Any

from cinder.volume.drivers import rbd
from oslo_concurrency import processutils
from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import opts
from cinder_rbd_ext import permissions
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.imaging import failures
from cinder_rbd_ext.imaging import librbd
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import rbd_import
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import migration_away
from cinder_rbd_ext.lifecycle import migration_target
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

Update = dict[str, Any]

# A volume made from another takes all that it isn't given from that one, so
# that what stock would make doesn't come into it.
_FROM_SOURCE = plan.ImageState(
    layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE), frozenset()
)


class ImageMakingDriver(lookup.ImageLookupDriver):
    """The stock driver, making each image as its volume asks."""

    # Set by the stock driver, untyped, and replaced here.
    _execute: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.configuration.append_config_values(opts.BACKEND_OPTS)
        self._creations = creations.Creations()
        # The narrow waist: all that makes an image goes through these two.
        self.rbd = librbd.Librbd(self.rbd, self._creations, self._pool_name)
        self._run = self._execute
        self._execute = self._execute_keeping_layout

    def create_volume(self, volume: Any) -> Update:
        """Create a volume, plain or encrypted."""
        with self._creating(volume) as creation:
            update: Update = super().create_volume(volume) or {}
            if not creation.set_up:
                # Stock skips this for encrypted volumes.
                update.update(self._setup_volume(volume))
        return update

    def create_volume_from_snapshot(self, volume: Any, snapshot: Any) -> Any:
        """Clone a snapshot of a volume."""
        with self._creating(volume, snapshot.volume):
            return super().create_volume_from_snapshot(volume, snapshot)

    def create_cloned_volume(self, volume: Any, src_vref: Any) -> Any:
        """Clone a volume, or copy it where clones are switched off."""
        with self._creating(volume, src_vref) as creation:
            creation.undo.callback(
                self._undo_clone_snapshot, src_vref.name, volume.name
            )
            update = super().create_cloned_volume(volume, src_vref)
            if not creation.set_up:
                # Stock skips this for full copies.
                update = self._setup_volume(volume)
        return update

    def clone_image(self, context: Any, volume: Any, *args: Any) -> Any:
        """Clone the RBD image behind a Glance image, if there is one."""
        with self._creating(volume):
            return super().clone_image(context, volume, *args)

    def copy_image_to_volume(
        self,
        context: Any,
        volume: Any,
        image_service: Any,
        image_id: str,
        disable_sparse: bool = False,
    ) -> None:
        """Fill a volume from a Glance image.

        :param disable_sparse: Cinder's way of saying that this is a re-image
        """
        with self._filling(volume, disable_sparse):
            super().copy_image_to_volume(
                context,
                volume,
                image_service,
                image_id,
                disable_sparse=disable_sparse,
            )

    def copy_image_to_encrypted_volume(
        self,
        context: Any,
        volume: Any,
        image_service: Any,
        image_id: str,
        disable_sparse: bool = False,
    ) -> None:
        """As :meth:`copy_image_to_volume`, encrypting on the way."""
        with self._filling(volume, disable_sparse):
            super().copy_image_to_encrypted_volume(
                context,
                volume,
                image_service,
                image_id,
                disable_sparse=disable_sparse,
            )

    def migrate_volume(self, context: Any, volume: Any, host: Any) -> Any:
        """Copy a volume to another backend's pool, as its image is.

        A copy that stands is left alone when the source can't be deleted
        afterwards: it may be the only whole one.
        """
        planner = functools.partial(sources.plan_migrated, volume, host)
        creation = creations.Creation(volume.name, planner)
        with self._creations.hold(creation), failures.naming(creation):
            moved = super().migrate_volume(context, volume, host)
        if moved[0]:
            migration_away.moved(volume, host, creation.state)
        return moved

    def _setup_volume(self, volume: Any, volume_type: Any = None) -> Update:
        """See to QoS, replication and multi-attach; remember a failure.

        The methods that call this report any failure as one of replication.
        """
        creation = self._creations.get(volume.name)
        if creation is None:
            return super()._setup_volume(volume, volume_type)  # type: ignore[no-any-return]
        with creation.noting():
            update: Update = super()._setup_volume(volume, volume_type)
        creation.set_up = True
        return update

    # How an image is made

    @contextlib.contextmanager
    def _creating(
        self, volume: Any, source: Any = None
    ) -> Iterator[creations.Creation]:
        """Hold the creation of a volume's image; undo it on failure.

        :param source: the volume that it is made from
        :raises VolumeOptionRefused: for options that can't be had
        """
        with (
            self._refusing(volume, to_tenant=True),
            self._held(volume, self._new_creation(volume, source)) as creation,
        ):
            yield creation

    def _filling(
        self, volume: Any, reimage: bool
    ) -> contextlib.AbstractContextManager[Any]:
        """Hold the creation of the image that takes a Glance image's data.

        :param reimage: whether the volume has had data before. Where stock
            makes its RBD image anew then, that becomes as the old one was.
        """
        if reimage and releases.REIMAGE_KEEPS_IMAGE:
            return contextlib.nullcontext()
        if not reimage or not self._exists(volume.name):
            # No image: a re-image before this one was cut short.
            return self._creating(volume)
        planner = functools.partial(
            sources.plan_remade, volume, self._state_of(volume.name)
        )
        return self._held(volume, self._undone(volume, planner))

    @contextlib.contextmanager
    def _held(
        self, volume: Any, creation: creations.Creation
    ) -> Iterator[creations.Creation]:
        with self._creations.hold(creation), failures.naming(creation):
            try:
                yield creation
                if creation.made:
                    self._finish(volume, creation)
            except Exception as error:
                creation.failure = creation.failure or error
                creation.fail()
                raise
            creation.undo.pop_all()

    def _undone(
        self, volume: Any, planner: creations.Planner
    ) -> creations.Creation:
        """Return a creation that leaves no image behind if it fails."""
        remove = functools.partial(self._undo_image, volume.name)
        return creations.Creation(volume.name, planner, remove)

    def _new_creation(self, volume: Any, source: Any) -> creations.Creation:
        arrival = migration_target.of_volume(volume, self.settings)
        asked = migration_target.request_of(volume, arrival, self.settings)
        made = sources.Made(
            asked,
            None if source is None else self._source(source),
            inheritance.Bounds(
                permissions.settable(volume, asked, arrival is not None),
                self.settings.limits,
                volume.size * units.Gi,
            ),
            self.settings.chunk_size,
            self._stock_state,
        )
        resolved = made.resolved(made.source)
        if resolved.data_pool:
            self._check_pool(
                resolved.data_pool.value, resolved.data_pool.origin
            )
        planner: creations.Planner = made
        if arrival and arrival.state:
            pool = resolved.data_pool.value if resolved.data_pool else None
            planner = functools.partial(
                sources.plan_arrived, arrival.state, arrival.origins, pool
            )
        creation = self._undone(volume, planner)
        creation.needs_default_striping = bool(
            resolved.object_size and not resolved.striping
        )
        if source is not None:
            # Checked before stock takes its first snapshot of the source.
            creation.plan(_FROM_SOURCE)
        return creation

    def _finish(self, volume: Any, creation: creations.Creation) -> None:
        """Free a new image of what it inherited; record what it is."""
        with rbd.RBDVolumeProxy(self, volume.name) as image:
            existing.drop_cache_override(image)
            state = self.rbd.state_of(image)
        record.made(
            volume.id, state, record.backend_of(volume), creation.origins
        )

    @contextlib.contextmanager
    def _refusing(
        self, volume: Any, to_tenant: bool = False
    ) -> Iterator[None]:
        """Turn an option's error into one of Cinder's, and tell people.

        :param to_tenant: whether the volume is about to end in ``error``,
            so that its tenant looks for the reason
        """
        try:
            yield
        except errors.OptionError as error:
            LOG.error(
                'Volume %(id)s on backend %(backend)s: %(error)s',
                {
                    'id': volume.id,
                    'backend': self._backend_name,
                    'error': error,
                },
            )
            if to_tenant:
                # Names of pools are for operators.
                told = error.hidden() if error.key == keys.DATA_POOL else error
                record.refused(volume.id, str(told))
            raise exceptions.VolumeOptionRefused(reason=str(error)) from error

    def _execute_keeping_layout(self, *command: Any, **kwargs: Any) -> Any:
        """Run a command; an import, as the volume it is for asks."""
        creation = rbd_import.creation_of(command, self._creations)
        if creation is None:
            return self._run(*command, **kwargs)
        with creation.noting():
            how = creation.plan(self._imported(command, creation))
            there_before = self._exists(creation.name)
            try:
                result = self._run(*rbd_import.rewrite(command, how), **kwargs)
            except processutils.ProcessExecutionError:
                if not there_before:
                    # At once: stock tries again, where nothing may be.
                    creation.was_made()
                    self._discard_part(creation.name)
                raise
        creation.succeeded()
        return result

    def _discard_part(self, name: str) -> None:
        try:
            self._undo_image(name)
        except Exception:
            LOG.exception('Could not remove the part of %s', name)

    def _imported(
        self, command: Any, creation: creations.Creation
    ) -> plan.ImageState:
        """Return what ``rbd import`` makes by itself."""
        striping = None
        with rbd.RADOSClient(self) as client:
            if creation.needs_default_striping:
                striping = self.rbd.default_striping(client.ioctx)
            mask = client.features
        object_size = rbd_import.object_size_of(command)
        return plan.ImageState(
            layout.ImageLayout(object_size, striping),
            features.from_mask(mask),
        )
