# SPDX-License-Identifier: Apache-2.0

"""Creation of a volume's image with its layout and features."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import functools
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from oslo_concurrency import processutils
from oslo_utils import units

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import type_specs
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.imaging import sources
from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import image_arguments
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options.families import sector_size

# The requested size of a volume, in GiB. An attribute and not a field: Cinder
# stores the fields of the object.
_REQUESTED_SIZE = '_rbd_requested_size'

# Prefix of the migration status of the target of a migration.
_TARGET = 'target:'

_BY_TENANT = frozenset({errors.Origin.VOLUME_METADATA})


class Maker:
    """Makes the stock driver create each image as its volume requests."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._images: lookup.ImageLookup = driver.images
        self.creations = creations.Creations()

    @contextlib.contextmanager
    def creating(
        self,
        volume: protocols.Volume,
        source: protocols.Volume | None = None,
        from_image: bool = False,
        is_filled: bool = False,
        disk: Mapping[str, Any] | None = None,
    ) -> Iterator[creations.Creation]:
        """Hold the creation of a volume's image; undo it on failure.

        :param from_image: whether the image may be a clone of a Glance image.
            Cinder tries this before it downloads the Glance image.
        :param is_filled: whether a new volume gets the data of a Glance image
        :param disk: the disk of an existing volume, by key; None for a new one
        :raises VolumeOptionRefused: for options that are invalid or not
            allowed
        """
        if from_image:
            # To fill the image-volume cache, Cinder first creates the volume
            # with the size of the image and extends it later.
            setattr(volume, _REQUESTED_SIZE, volume.size)
        with (
            option_errors.of_volume(
                volume,
                self._driver.backend_name,
                user_messages.Operation.CREATION,
                # Cinder creates a message only for an empty volume.
                told_by_cinder=not (source or from_image),
            ),
            self._held(
                volume,
                self._copy(volume, source)
                if source and sources.is_copy(volume)
                else self._new_creation(
                    volume, source, from_image, is_filled, disk
                ),
            ) as creation,
        ):
            yield creation

    @contextlib.contextmanager
    def setting_up(self, volume: protocols.Volume) -> Iterator[None]:
        """Record a failure to set up QoS, replication or multi-attach."""
        creation = self.creations.get(volume.name)
        if creation is None:
            yield
            return
        with creation.noting():
            # Before the stock driver sets the limits of QoS specs.
            self._reset_configuration(creation)
            yield
        creation.set_up = True

    def _reset_configuration(self, creation: creations.Creation) -> None:
        if creation.inherits_configuration:
            with self._images.opened(creation.name) as image:
                open_image.reset(image)
            creation.inherits_configuration = False

    def filling(
        self, volume: protocols.Volume, has_data: bool
    ) -> contextlib.AbstractContextManager[Any]:
        """Hold the creation of the image that receives a Glance image's data.

        If the stock driver creates the RBD image of a volume with data again,
        the new image has the layout and the features of the old one.

        :raises InvalidVolume: if the snapshots of the volume would be lost
        """
        if has_data and releases.REIMAGE_KEEPS_IMAGE:
            return contextlib.nullcontext()
        if not has_data:
            return self.creating(volume, is_filled=True)
        admin = context.get_admin_context()
        if objects.SnapshotList.get_all_for_volume(admin, volume.id):
            raise exception.InvalidVolume(
                reason=releases.REIMAGE_LOSES_SNAPSHOTS
            )
        if not self._images.exists(volume.name):
            # An earlier re-image was interrupted.
            disk = image_record.disk_in(record.items_of(volume.id))
            return self.creating(volume, disk=disk)
        state = self._images.state_of(volume.name)
        how = inheritance.plan_remade(volume, state)
        return self._held(volume, self._undone(volume, lambda *_: how))

    @contextlib.contextmanager
    def _held(
        self, volume: protocols.Volume, creation: creations.Creation
    ) -> Iterator[creations.Creation]:
        with self.creations.hold(creation):
            yield creation
            if creation.made:
                self._finish(volume, creation)

    def _undone(
        self,
        volume: protocols.Volume,
        planner: creations.Planner,
        **fields: Any,
    ) -> creations.Creation:
        remove = functools.partial(self._images.discard, volume.name)
        return creations.Creation(volume.name, planner, remove, **fields)

    def _copy(
        self, volume: protocols.Volume, source: protocols.Volume
    ) -> creations.Creation:
        """Return the creation of a copy that Cinder makes for itself.

        :raises ImageNotMade: for an entry of the image-volume cache with the
            layout that a tenant requested, which all projects would get.
            Cinder continues without the entry, and a later volume fills the
            cache.
        """
        # The temporary volume of a re-image from a snapshot has the project of
        # the cache, too, and no quota.
        is_entry = volume.use_quota and sources.is_cached_image(volume)
        if is_entry and image_record.layout_requested(
            record.stored(source.id), _BY_TENANT
        ):
            raise exceptions.ImageNotMade(
                name=volume.name,
                reason='an entry of the image-volume cache does not get the '
                f'layout that the metadata of volume {source.id} requests',
            )
        planner = functools.partial(
            inheritance.plan_copy,
            request.specs_of(volume.volume_type),
            source,
            self._driver.settings,
        )
        return self._undone(volume, planner, checked={})

    def _new_creation(
        self,
        volume: protocols.Volume,
        source: protocols.Volume | None,
        from_image: bool,
        is_filled: bool,
        disk: Mapping[str, Any] | None,
    ) -> creations.Creation:
        settings = self._driver.settings
        arrival = arrival_of(volume, settings)
        requested = _request_of(volume, arrival, settings)
        own = options.ours(request.metadata_of(volume))
        settable: frozenset[str] = frozenset()
        inherited = (source and image_record.origins(source)) or {}
        if own or not errors.ASKED.isdisjoint(inherited.values()):
            settable = policies.settable_by_creator(
                volume, requested, arrival is not None
            )
            if disk is None:
                # The extension has checked this, unless the request came
                # through an API service without it. A repeated re-image gets
                # the keys that the volume already has.
                registry.check_tenant(own, settable)
        new = inheritance.NewImage(
            requested,
            settable,
            max(volume.size, getattr(volume, _REQUESTED_SIZE, 0)) * units.Gi,
            self._images.stock_state,
            arrival.disk if arrival else disk,
        )
        # The values that matter here are not inherited.
        resolved = new.resolve()
        if resolved.data_pool:
            self._images.check_data_pool(
                resolved.data_pool, resolved.origin(keys.DATA_POOL)
            )
        if from_image or is_filled:
            sector_size.check_bootable(resolved)
        arrived = arrival.plan(resolved.data_pool) if arrival else None
        source_of = self._source_of(source)
        return self._undone(
            volume,
            lambda base, parent: (
                arrived
                or new.plan(base, source_of(parent) if parent else None)
            ),
            needs_default_striping=(
                keys.OBJECT_SIZE in resolved and keys.STRIPING not in resolved
            ),
            accepted=arrival.acceptance if arrival else None,
            checked=(
                arrival.checked if arrival else request.metadata_of(volume)
            ),
        )

    def _source_of(
        self, source: protocols.Volume | None
    ) -> Callable[[options.Values], inheritance.Source]:
        chunk_size = self._driver.settings.chunk_size
        if source is None:
            return functools.partial(
                inheritance.glance_source, chunk_size=chunk_size
            )
        # Now, because librbd's calls, which plan, are in another thread.
        return functools.partial(
            sources.volume_source,
            source,
            chunk_size=chunk_size,
        )

    def _finish(
        self, volume: protocols.Volume, creation: creations.Creation
    ) -> None:
        how, state = creation.how, creation.state
        self._reset_configuration(creation)
        if how.configuration:
            with self._images.opened(volume.name) as image:
                image_configuration.change(image, how.configuration)
                state = self._images.read(image)
        elif state is None:
            state = self._images.state_of(volume.name)
        origins = how.origins
        if origins is None:
            # A re-image repeats the image that is recorded.
            origins = image_record.origins(record.stored(volume.id))
        record.replace(
            volume,
            image_record.Record(
                state.with_origins(origins), image_record.backend_of(volume)
            ),
            accepted=creation.checked,
            # A copied entry can be that of somebody else.
            configuration=(
                None if creation.checked is None else how.configuration
            ),
            disk=how.disk,
        )
        self._images.mark(volume.name)

    def execute(
        self, run: Callable[..., Any], *command: object, **kwargs: object
    ) -> Any:
        """Run a command; change an import as the volume requests."""
        creation = self.creations.find_import(command)
        if creation is None:
            return run(*command, **kwargs)
        with creation.noting():
            base = self._images.stock_state(
                image_arguments.object_size_of(command),
                creation.needs_default_striping,
            )
            how = creation.plan(base)
            there_before = self._images.exists(creation.name)
            try:
                result = run(
                    *image_arguments.import_command(command, how), **kwargs
                )
            except processutils.ProcessExecutionError:
                if not there_before:
                    # At once, because the stock driver tries again and no
                    # image may exist then.
                    creation.was_made()
                    with contextlib.suppress(Exception):
                        self._images.discard(creation.name)
                raise
        creation.succeeded()
        return result


def arrival_of(
    volume: protocols.Volume, settings: backend_settings.BackendSettings
) -> inheritance.Arrival | None:
    """Return the arrival of a target; None for any other volume.

    :raises OptionError: for a type whose options are not possible here
    """
    status = volume.migration_status or ''
    if not status.startswith(_TARGET):
        return None
    source = record.stored_volume(status[len(_TARGET) :])
    metadata = request.metadata_of(volume)
    return inheritance.arrival_of(
        metadata,
        type_specs.with_maxima(volume.volume_type, metadata),
        volume.size,
        settings,
        source,
        as_is=source.volume_type_id == volume.volume_type_id,
    )


def _request_of(
    volume: protocols.Volume,
    arrival: inheritance.Arrival | None,
    settings: backend_settings.BackendSettings,
) -> request.Request:
    metadata = request.metadata_of(volume)
    specs = type_specs.with_maxima(volume.volume_type, metadata)
    if arrival is None:
        return request.read_request(metadata, specs, settings)
    return request.read_request(
        arrival.acceptance.kept, specs, settings, is_checked=True
    )
