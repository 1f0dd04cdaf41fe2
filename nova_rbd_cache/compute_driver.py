# SPDX-License-Identifier: Apache-2.0

"""Nova's libvirt driver, with what cache modes require of a compute host.

A subclass of the stock class replaces it in ``nova.virt.libvirt``, where
nova-compute finds it. Each method calls the stock method.
"""

from collections.abc import Iterator
from typing import Any

from nova import exception
from nova import objects
import nova.conf
from nova.i18n import _
from nova.virt import driver
from nova.virt import libvirt
from oslo_serialization import jsonutils

from nova_rbd_cache import guests
from nova_rbd_cache import settings
from nova_rbd_cache import volume
from rbd_volume_options import compute_hosts
from rbd_volume_options import keys
from rbd_volume_options.families import cache_modes

STOCK = libvirt.driver.LibvirtDriver

_UNSAFE = cache_modes.CacheMode.UNSAFE


def trait(mode: cache_modes.CacheMode) -> str:
    """Return the trait in Placement of a host that allows a cache mode.

    A flavor or an image that requires it
    (``trait:CUSTOM_RBD_CACHE_WRITEBACK=required``) is scheduled to such hosts.
    """
    return f'CUSTOM_RBD_CACHE_{mode.name}'


class WithoutModes(STOCK):  # type: ignore[misc,valid-type]
    """The driver of a host on which the plug-in is disabled.

    It only removes the traits that the host reported while the plug-in was
    enabled.
    """

    def modes(self) -> tuple[cache_modes.CacheMode, ...]:
        """Return the cache modes that the host allows."""
        return ()

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def update_provider_tree(  # type: ignore[no-untyped-def]
        self, provider_tree, nodename, allocations=None
    ):
        """Report a trait for each allowed mode, and no other trait of ours.

        Placement creates missing traits when Nova sends them.
        """
        super().update_provider_tree(
            provider_tree, nodename, allocations=allocations
        )
        allowed = {trait(mode) for mode in self.modes()}
        ours = {trait(mode) for mode in cache_modes.CacheMode}
        provider_tree.add_traits(nodename, *allowed)
        provider_tree.remove_traits(nodename, *(ours - allowed))


class RBDCacheDriver(WithoutModes):
    """The driver of a host with cache modes."""

    def modes(self) -> tuple[cache_modes.CacheMode, ...]:
        """Return the cache modes that the host allows."""
        return settings.read(nova.conf.CONF).allowed_modes

    def get_volume_connector(  # type: ignore[no-untyped-def]
        self, instance
    ):
        """Return the connector of this host, with what the host can do."""
        connector = super().get_volume_connector(instance)
        ours = self._rbd_driver()
        if ours is not None:
            connector[compute_hosts.CONNECTOR_ITEM] = ours.abilities.item
        return connector

    def check_can_live_migrate_destination(  # type: ignore[no-untyped-def]
        self, context, instance, *args, **kwargs
    ):
        """Refuse a guest that would change while it runs.

        Nova's conductor then tries the next host.

        :raises MigrationPreCheckError: for a volume in mode unsafe, which this
            host does not allow, and for a discard granularity, which its
            libvirt does not have. The guest stays as it is.
        """
        ours = self._rbd_driver()
        if ours is not None:
            devices = objects.BlockDeviceMappingList.get_by_instance_uuid(
                context, instance.uuid
            )
            changed = sorted(
                device.volume_id
                for device in devices
                if device.is_volume
                and _would_change(device.connection_info, ours.abilities)
            )
            if changed:
                raise exception.MigrationPreCheckError(
                    reason=_(
                        'the compute host cannot run volumes as the guest has '
                        'them (cache mode unsafe, discard granularity): '
                        '%(volumes)s'
                    )
                    % {'volumes': ', '.join(changed)}
                )
        return super().check_can_live_migrate_destination(
            context, instance, *args, **kwargs
        )

    def check_can_live_migrate_source(  # type: ignore[no-untyped-def]
        self, context, instance, dest_check_data, block_device_info=None
    ):
        """Refuse to migrate a guest live that would lose data.

        Nova requests the disks again when it migrates the guest. What the
        guest has is read here, once for all of its disks.

        :raises MigrationPreCheckError: if a volume has cache mode unsafe and
            the operator does not allow it. The guest stays as it is.
        """
        volumes = [
            each['connection_info']
            for each in driver.block_device_info_get_mapping(block_device_info)
        ]
        if any(map(_is_rbd, volumes)):
            guest = guests.find(self._host, instance.uuid)
            self._check_unsafe(guest, volumes)
            ours = self._rbd_driver()
            if ours is not None and guest is not None:
                ours.note_migrated(instance.uuid, guest)
        return super().check_can_live_migrate_source(
            context, instance, dest_check_data, block_device_info
        )

    def _rbd_driver(self) -> volume.RBDCacheVolumeDriver | None:
        """Return our volume driver; None if another one is registered."""
        volume_driver = self._get_volume_driver({'driver_volume_type': 'rbd'})
        return (
            volume_driver
            if isinstance(volume_driver, volume.RBDCacheVolumeDriver)
            else None
        )

    def _check_unsafe(
        self, guest: guests.Guest | None, volumes: list[Any]
    ) -> None:
        if settings.read(nova.conf.CONF).live_migrate_unsafe:
            return
        unsafe = sorted(_unsafe_volumes(guest, volumes))
        if unsafe:
            raise exception.MigrationPreCheckError(
                reason=_(
                    'a live migration can lose data of volumes with '
                    'cache mode unsafe: %(volumes)s. Stop the server and '
                    'migrate it, or set [rbd_cache] live_migrate_unsafe '
                    '= True on its host'
                )
                % {'volumes': ', '.join(unsafe)}
            )


def _would_change(
    connection_info: str | None, host: compute_hosts.ComputeHost
) -> bool:
    """Return whether a guest would notice a live migration to a host.

    :param connection_info: as Nova stores it, as JSON
    """
    info = jsonutils.loads(connection_info) if connection_info else {}
    if info.get('driver_volume_type') != 'rbd':
        return False
    unsafe = volume.in_force(info) is _UNSAFE and _UNSAFE not in host.modes
    return unsafe or (
        volume.granularity(info) is not None
        and keys.DISCARD_GRANULARITY not in host.keys
    )


def _is_rbd(connection_info: Any) -> bool:
    return bool(connection_info['driver_volume_type'] == 'rbd')


def _unsafe_volumes(
    guest: guests.Guest | None, volumes: list[Any]
) -> Iterator[str]:
    """Return the volumes that the guest has in mode unsafe.

    A mode from ``[libvirt] disk_cachemodes`` is left to the operator. After a
    swap of volumes, the disk keeps the serial number of the former volume,
    whose attachment is unknown, until the next hard reboot.
    """
    stock = f'network={_UNSAFE.value}' in (
        nova.conf.CONF.libvirt.disk_cachemodes
    )
    attached = {info.get('serial'): info for info in volumes}
    for serial, disk in () if guest is None else guest.disks.items():
        if disk.attributes.get('cache') != _UNSAFE.value:
            continue
        info = attached.get(serial)
        if info is None or (
            _is_rbd(info) and not (stock and volume.requested(info) is None)
        ):
            yield serial


#: The classes of which one takes the place of the stock class.
OURS = (WithoutModes, RBDCacheDriver)
