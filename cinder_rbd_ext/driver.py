# SPDX-License-Identifier: Apache-2.0

"""Cinder's RBD driver with a layout and features for each volume.

:doc:`/contributor/architecture` lists the overridden methods and intercepted
calls.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import functools
import time
from typing import Any

from cinder import exception
from cinder import interface
from cinder.objects import fields
from cinder.volume.drivers import rbd
from oslo_config import cfg

from cinder_rbd_ext import admission
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import opts
from cinder_rbd_ext import own_volume_type
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.attach import connection
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.cluster import capacity
from cinder_rbd_ext.cluster import connections
from cinder_rbd_ext.cluster import statistics
from cinder_rbd_ext.imaging import librbd
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import maker
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.lifecycle import deletion
from cinder_rbd_ext.lifecycle import in_place
from cinder_rbd_ext.lifecycle import migration
from cinder_rbd_ext.lifecycle import reconfiguration
from cinder_rbd_ext.lifecycle import restore
from cinder_rbd_ext.lifecycle import takeover
from cinder_rbd_ext.retype import recovery
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.retype import retypes
from cinder_rbd_ext.trash import entries
from cinder_rbd_ext.trash import purger
from rbd_volume_options import backend_settings
from rbd_volume_options import bindings
from rbd_volume_options import errors

Update = dict[str, Any]

#: Seconds between two searches for interrupted retypes, which query all
#: volumes of the back end. It is added to the interval of the statistics, so
#: it must be short.
SEARCH_INTERVAL = 5.0


@interface.volumedriver
@blocklisting.repeating
class RBDExtDriver(rbd.RBDDriver):
    """RBD driver with a layout, features and a cache mode for each volume."""

    # The stock driver sets this attribute, untyped. It is replaced here.
    rbd: Any
    _execute: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        releases.without_thread_pool()
        self.configuration.append_config_values(opts.backend_opts())
        # Upstream sets the burst of bytes with it.
        rbd.QOS_KEY_MAP['total_iops_sec_max']['ceph_key'] = (
            'rbd_qos_iops_burst'
        )
        self.sharing = connections.SharedConnections(self)
        self.images = lookup.ImageLookup(self)
        self._maker = maker.Maker(self)
        self._attaching = volume_use.Attaching()
        self._transfers = admission.Places(
            admission.TRANSFERS, admission.TRANSFERS_WAITING
        )
        self.purger = purger.Purger(self)
        self.configurations = reconfiguration.Reconfigurations(self)
        self._replacements = replacement.Replacements(self)
        self._retypes = retypes.Retypes(self, self._replacements)
        self._migrations = migration.Migrations(self, self._replacements)
        self._recovery = recovery.Recovery(
            self, self._replacements, self._retypes, self._stock_retype
        )
        self._next_search = float('-inf')
        # Each creation of an image goes through these two.
        self.librbd = self.rbd = librbd.Librbd(
            self.rbd, self._maker.creations, self.images.pool_name
        )
        self._execute = functools.partial(self._maker.execute, self._execute)

    @classmethod
    def get_driver_options(cls) -> list[Any]:
        """Return the options of the stock driver and of this driver."""
        return [*super().get_driver_options(), *opts.backend_opts()]

    @functools.cached_property
    def settings(self) -> backend_settings.BackendSettings:
        """The section of cinder.conf, or ``InvalidBackendOptions``."""
        with option_errors.of_back_end(self.backend_name):
            settings = backend_settings.BackendSettings.read(
                self.configuration
            )
        return settings

    @property
    def backend_name(self) -> str:
        """The name of the back end's section of cinder.conf."""
        return str(self._backend_name)

    def check_for_setup_error(self) -> None:
        """Refuse to start if an option is invalid."""
        data_pool = self.settings.options.data_pool
        super().check_for_setup_error()
        if data_pool:
            with option_errors.of_back_end(self.backend_name):
                self.images.check_data_pool(data_pool, errors.Origin.BACKEND)
        backend = self.configuration.safe_get('volume_backend_name')
        if backend and self.configuration.safe_get(opts.ENSURE_VOLUME_TYPE):
            chosen = self.settings.options
            is_free = chosen.features_origin is None
            own_volume_type.ensure(backend, is_free)

    # Creation of images

    def create_volume(self, volume: protocols.Volume) -> Update:
        """Create a volume, encrypted or not, or the target of a migration."""
        with self._maker.creating(volume) as creation:
            update: Update = super().create_volume(volume) or {}
            if not creation.set_up:
                # The stock driver skips this for encrypted volumes.
                update.update(self._setup_volume(volume))
        record.remove_keys(volume, creation.accepted, self.backend_name)
        return update

    def create_volume_from_snapshot(
        self, volume: protocols.Volume, snapshot: protocols.Snapshot
    ) -> Any:
        """Clone a snapshot of a volume."""
        return locks.until_held(
            functools.partial(self._clone_snapshot, volume, snapshot),
            functools.partial(self.images.discard, volume.name),
        )

    def _clone_snapshot(
        self, volume: protocols.Volume, snapshot: protocols.Snapshot
    ) -> Any:
        # That module cannot be imported before Cinder's objects.
        cfg.CONF.import_opt('snapshot_same_host', 'cinder.volume.api')
        is_here = cfg.CONF.snapshot_same_host
        with (
            volume_use.using_snapshot(
                self, snapshot, is_here=is_here
            ) as source,
            self._maker.creating(volume, source),
        ):
            return super().create_volume_from_snapshot(volume, snapshot)

    def create_cloned_volume(
        self, volume: protocols.Volume, src_vref: protocols.Volume
    ) -> Any:
        """Clone a volume, or copy it if clones are disabled."""
        return locks.until_held(
            functools.partial(self._clone_volume, volume, src_vref),
            functools.partial(self._discard_clone, volume, src_vref),
        )

    def _discard_clone(
        self, volume: protocols.Volume, src_vref: protocols.Volume
    ) -> None:
        self.images.discard(volume.name)
        # A copy that has replaced the image of the source has the snapshot.
        source = record.stored_volume(src_vref.id)
        for name in dict.fromkeys((src_vref.name, source.name)):
            with contextlib.suppress(self.rbd.ImageNotFound):
                self.images.discard_clone_snapshot(name, volume.name)

    def _clone_volume(
        self, volume: protocols.Volume, src_vref: protocols.Volume
    ) -> Any:
        is_copied = self.configuration.rbd_max_clone_depth <= 0
        with (
            self._transferring(volume)
            if is_copied
            else contextlib.nullcontext(),
            volume_use.using(self, src_vref) as source,
            self._maker.creating(volume, source) as creation,
        ):
            creation.undo.callback(
                self.images.discard_clone_snapshot, source.name, volume.name
            )
            with connections.own_connection(is_copied):
                update = super().create_cloned_volume(volume, source)
            if not creation.set_up:
                # The stock driver skips this for full copies.
                update = self._setup_volume(volume)
        return update

    def clone_image(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        *args: object,
    ) -> Any:
        """Clone the RBD image of a Glance image, if it has one."""
        with self._maker.creating(volume, from_image=True):
            return super().clone_image(context, volume, *args)

    def _copy_image_to_volume(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        *args: object,
        disable_sparse: bool = False,
        **kwargs: object,
    ) -> None:
        """Fill a volume from a Glance image, again if it is a re-image.

        :param disable_sparse: whether the volume has data
        """
        with contextlib.ExitStack() as stack:
            if disable_sparse:
                if releases.REIMAGE_KEEPS_IMAGE:
                    with volume_use.alone(self, volume):
                        pass
                    # Snapshots can be used during the download.
                    lock = volume_use.using(self, volume, volume_use.LONG_WAIT)
                else:
                    lock = volume_use.alone(self, volume)
                stack.enter_context(lock)
            stack.enter_context(self._maker.filling(volume, disable_sparse))
            super()._copy_image_to_volume(
                context, volume, *args, disable_sparse=disable_sparse, **kwargs
            )

    def _create_temp_volume_from_snapshot(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        *args: object,
        **kwargs: object,
    ) -> Any:
        """Begin a re-image from a snapshot, whose data Cinder copies itself.

        Cinder calls this for the backup of a snapshot, too.
        """
        if volume.status == fields.VolumeStatus.DOWNLOADING:
            with volume_use.alone(self, volume):
                pass
        return super()._create_temp_volume_from_snapshot(
            context, volume, *args, **kwargs
        )

    def _get_stripe_unit(self, ioctx: bindings.Ioctx, volume_name: str) -> int:
        """Return any size: the plan of the clone replaces its order."""
        return self.settings.chunk_size

    def _setup_volume(
        self,
        volume: protocols.Volume,
        volume_type: protocols.VolumeType | None = None,
    ) -> Any:
        with self._maker.setting_up(volume):
            return super()._setup_volume(volume, volume_type)

    def update_rbd_image_qos(
        self, volume: protocols.Volume, qos_specs: dict[str, str]
    ) -> None:
        """Set those limits of QoS specs that no key replaces."""
        names = reconfiguration.not_replaced(volume, qos_specs)
        super().update_rbd_image_qos(
            volume, {name: qos_specs[name] for name in names}
        )
        record.limited(volume.id, reconfiguration.qos_entries(qos_specs))

    def delete_rbd_image_qos_keys(
        self, volume: protocols.Volume, qos_keys: list[str]
    ) -> None:
        """Remove those limits of QoS specs that no key replaces."""
        names = reconfiguration.not_replaced(volume, qos_keys)
        super().delete_rbd_image_qos_keys(volume, names)
        # Those of new QoS specs are set and recorded afterwards.
        record.limited(volume.id, {})

    # Attachments

    def initialize_connection(
        self, volume: protocols.Volume, connector: protocols.Connector
    ) -> Any:
        """Return the connection information with the cache mode and disk.

        :raises AttachmentRefused: if the mode is not allowed or not offered;
            :meth:`remove_export` turns it into HTTP 400
        """
        try:
            with self._attaching.holding(self, volume) as held:
                current = restore.connected(self, held, connector)
                if current is not None:
                    volume_use.take(self, current)
                    volume_use.check_not_copied(current)
                items = connection.items(self, volume, connector, current)
                if current is not None:
                    self.configurations.follow(current, is_current=True)
                info = super().initialize_connection(
                    current or volume, connector
                )
                info['data'].update(items)
                return info
        except locks.VolumeLocked as error:
            raise exceptions.AttachmentRefused(reason=str(error)) from error

    def remove_export(
        self, context: protocols.Context, volume: protocols.Volume
    ) -> Any:
        """Turn a refusal into HTTP 400, or configure the image.

        RBD has no export to remove. Cinder calls this after each detachment,
        and the API extension after a change of keys.
        """
        connection.pass_on_refusal()
        if volume.status != fields.VolumeStatus.DELETING:
            self.configurations.follow(volume)
        return super().remove_export(context, volume)

    def terminate_connection(
        self,
        volume: protocols.Volume,
        connector: protocols.Connector,
        **kwargs: object,
    ) -> Any:
        """Disconnect, and restore the keys of the volume after a restore.

        Those of a backup, such as limits, are then in force in the image.
        """
        result = super().terminate_connection(volume, connector, **kwargs)
        if restore.repair_keys(self, volume):
            self.configurations.follow(volume, is_restored=True)
        return result

    def _attach_volume(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        properties: Any,
        remote: bool = False,
    ) -> Any:
        """Attach a volume to this service, marked as Cinder's own request."""
        if not remote:
            properties = requester.OwnConnector(properties)
        return super()._attach_volume(context, volume, properties, remote)

    # Changes of existing volumes

    def extend_volume(self, volume: protocols.Volume, new_size: Any) -> None:
        """Extend a volume if its layout and object map allow the size."""
        locks.until_held(functools.partial(self._extend, volume, new_size))

    def _extend(self, volume: protocols.Volume, new_size: Any) -> None:
        with (
            volume_use.using(self, volume, volume_use.LONG_WAIT) as current,
            in_place.extending(self, current),
        ):
            super().extend_volume(current, new_size)
            # Keys can have changed meanwhile.
            self.configurations.follow(volume, new_size=int(new_size))

    def create_snapshot(self, snapshot: protocols.Snapshot) -> Any:
        """Create a snapshot."""
        create = super().create_snapshot

        def attempt() -> Any:
            with volume_use.using_snapshot(self, snapshot):
                return create(snapshot)

        return locks.until_held(
            attempt,
            functools.partial(
                deletion.delete_idle_snapshot,
                *(self, snapshot, super().delete_snapshot),
            ),
        )

    def revert_to_snapshot(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        snapshot: protocols.Snapshot,
    ) -> None:
        """Revert a volume to a snapshot while nothing else uses its image."""
        with (
            volume_use.alone(self, volume),
            connections.own_connection(),
        ):
            super().revert_to_snapshot(context, volume, snapshot)

    def copy_volume_to_image(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        *args: object,
        **kwargs: object,
    ) -> Any:
        """Upload a volume to Glance."""
        self.configurations.follow(volume)
        with (
            self._transferring(volume),
            volume_use.using(self, volume, volume_use.LONG_WAIT) as current,
        ):
            return super().copy_volume_to_image(
                context, current, *args, **kwargs
            )

    @contextlib.contextmanager
    def _transferring(self, volume: protocols.Volume) -> Iterator[None]:
        """Hold a place for an upload or a full copy, which can take days."""
        with self._transfers.place(volume.project_id) as has_place:
            if not has_place:
                refusal = exceptions.TooManyTransfers()
                if volume.status == fields.VolumeStatus.CREATING:
                    user_messages.refused(
                        volume, user_messages.Operation.CREATION, refusal.msg
                    )
                raise refusal
            yield

    def manage_existing_snapshot(
        self, snapshot: protocols.Snapshot, existing_ref: Any
    ) -> Any:
        """Take over a snapshot of a volume."""
        with volume_use.using_snapshot(self, snapshot):
            takeover.check_snapshot(existing_ref)
            return super().manage_existing_snapshot(snapshot, existing_ref)

    def unmanage_snapshot(self, snapshot: protocols.Snapshot) -> None:
        """Leave a snapshot to the operator."""
        with volume_use.using_snapshot(self, snapshot):
            super().unmanage_snapshot(snapshot)

    def retype(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        diff: Any,
        host: Any,
    ) -> Any:
        """Change the image of a volume as the new type requests.

        Cinder migrates the volume if that is not possible and the caller
        allows it.
        """
        stock = functools.partial(self._stock_retype, volume, new_type, diff)
        try:
            return self._retypes.retype(volume, new_type, stock)
        finally:
            # With the statistics that Cinder requests next.
            self._next_search = float('-inf')

    def _stock_retype(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        diff: Any,
    ) -> Any:
        return super().retype(None, volume, new_type, diff, None)

    def _disable_multiattach(self, volume: protocols.Volume) -> Update:
        """Restore the features that multi-attach disabled, with valid maps."""
        in_place.give_back_features(self, volume)
        return {'provider_location': None}

    def migrate_volume(
        self, context: protocols.Context, volume: protocols.Volume, host: Any
    ) -> Any:
        """Copy a volume to another back end's pool, if it may stay as it is.

        A retype to a back end where tenants may not request the layout is left
        to Cinder, which creates a new image there and copies the data.
        """
        move = functools.partial(super().migrate_volume, context, volume)
        result = self._migrations.migrate(volume, host, move)
        # Remove the marker after Cinder has saved the status.
        self._recovery.start()
        return result

    def before_volume_copy(
        self,
        context: protocols.Context,
        src_vol: protocols.Volume,
        dest_vol: protocols.Volume,
        remote: str | None = None,
    ) -> None:
        """Refuse a copy by Cinder that is slow or makes data unreadable."""
        self.configurations.follow(src_vol)
        self._migrations.check_copied(src_vol, dest_vol)
        super().before_volume_copy(context, src_vol, dest_vol, remote)

    def after_volume_copy(
        self,
        context: protocols.Context,
        src_vol: protocols.Volume,
        dest_vol: protocols.Volume,
        remote: str | None = None,
    ) -> None:
        """Fail a migration by Cinder whose source has changed meanwhile."""
        super().after_volume_copy(context, src_vol, dest_vol, remote)
        self._migrations.check_unchanged(src_vol)

    def update_migrated_volume(
        self,
        ctxt: protocols.Context,
        volume: protocols.Volume,
        new_volume: protocols.Volume,
        original_volume_status: str,
    ) -> Any:
        """Take over the image of a migration and its record."""
        is_renamed = original_volume_status != fields.VolumeStatus.IN_USE
        with self._migrations.taking_over(
            volume, new_volume, is_renamed
        ) as state:
            update = super().update_migrated_volume(
                ctxt, volume, new_volume, original_volume_status
            )
        if state:
            name_id = update['_name_id'] or volume.id
            self._migrations.record_arrival(volume, new_volume, state, name_id)
        return update

    def manage_existing(
        self, volume: protocols.Volume, existing_ref: Any
    ) -> Any:
        """Take over an RBD image if it matches the request."""
        name = existing_ref['source-name']
        with (
            locks.image(self, name),
            takeover.taking_over(self, volume, name),
        ):
            # Cinder has not saved the size of the volume yet.
            size = self.manage_existing_get_size(volume, existing_ref)
            update = super().manage_existing(volume, existing_ref)
        self.configurations.follow(volume, new_size=size)
        return update

    def get_manageable_volumes(
        self, cinder_volumes: Any, *args: object
    ) -> Any:
        """List the images that can be managed, without those of volumes."""
        stock = super().get_manageable_volumes
        return takeover.manageable(
            self, cinder_volumes, lambda volumes: stock(volumes, *args)
        )

    def keeps_former_image(
        self, volume_id: str, snapshots: Iterable[str]
    ) -> bool:
        """Return whether a former image in the trash is still needed.

        :param snapshots: the names of its snapshots
        """
        return self._replacements.keeps_former(volume_id, set(snapshots))

    def unmanage(self, volume: protocols.Volume) -> None:
        """Give an image away, which keeps its name."""
        self._replacements.settle_idle(volume.id)
        super().unmanage(volume)
        if self.images.exists(volume.name):
            self.configurations.release(volume)
            self.images.release(volume.name)
        elif entries.kept_of(self, volume.id):
            # It would be removed without the record of the volume.
            raise exception.VolumeBackendAPIException(
                data=f'RBD image {volume.name} does not exist. Restore it, or '
                'its former image, in the trash or another pool, and try again'
            )

    def accept_transfer(
        self,
        context: protocols.Context,
        volume: Any,
        new_user: str,
        new_project: str,
    ) -> Any:
        """Settle what requests of the former owner have left."""
        with contextlib.suppress(exception.CinderException, self.rbd.Error):
            # If that fails, recovery does it later.
            self._replacements.settle_idle(volume['id'])
        return super().accept_transfer(context, volume, new_user, new_project)

    def _get_image_status(self, image_name: str) -> Update:
        return {'watchers': open_image.watchers_of(self, image_name)}

    def delete_volume(self, volume: protocols.Volume) -> None:
        """Delete a volume, or the former image of a migrated volume."""
        deletion.delete_volume(self, volume, self._replacements.settle)

    def delete_snapshot(self, snapshot: protocols.Snapshot) -> None:
        """Delete a snapshot, which stays available if that fails now."""
        deletion.delete_snapshot(self, snapshot, super().delete_snapshot)

    def _do_flatten(self, volume_name: str, pool: str) -> None:
        with locks.image(self, volume_name):
            super()._do_flatten(volume_name, pool)

    def _start_periodic_tasks(self) -> None:
        """Purge the trash, with deferred deletion or without it."""
        if self.host is not None:
            self.purger.start()

    def _trash_purge(self) -> None:
        self.purger.run_once()

    # The cluster

    def _flatten(self, pool: str, volume_name: str) -> None:
        with connections.own_connection():
            super()._flatten(pool, volume_name)

    def _flatten_volume(
        self, image_name: str, client: protocols.Client
    ) -> Any:
        with connections.own_connection(), rbd.RADOSClient(self) as own:
            return super()._flatten_volume(image_name, own)

    def _connect_to_rados(self, *args: object, **kwargs: object) -> Any:
        stock = super()._connect_to_rados
        return self.sharing.connect(self, stock, *args, **kwargs)

    def _disconnect_from_rados(
        self, client: protocols.Client, ioctx: bindings.Ioctx
    ) -> None:
        """Close images that the stock driver left open, and disconnect."""
        self.rbd.close_images(ioctx)
        if not self.sharing.give_back(client, ioctx):
            super()._disconnect_from_rados(client, ioctx)

    def _get_mon_addrs(self) -> Any:
        return self.sharing.addresses(super()._get_mon_addrs)

    def _update_volume_stats(self) -> None:
        super()._update_volume_stats()
        self._stats |= statistics.added(self, self._stats)
        self._search()

    def _search(self) -> None:
        """Search for interrupted retypes, unless that was done recently.

        Cinder requests the statistics periodically, and after each deletion.
        """
        now = time.monotonic()
        if now >= self._next_search:
            self._next_search = now + SEARCH_INTERVAL
            self._recovery.start()

    def _get_usage_info(self) -> int:
        provisioned = capacity.provisioned(self)
        return (
            int(super()._get_usage_info())
            if provisioned is None
            else provisioned
        )

    def _get_pool_stats(self) -> Any:
        pool = self.settings.options.data_pool
        view: Any = capacity.looking_at(self, pool) if pool else self
        return super(RBDExtDriver, view)._get_pool_stats()
