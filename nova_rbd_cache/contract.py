# SPDX-License-Identifier: Apache-2.0

"""Checks of the interfaces in Nova that the plug-in depends on.

They run before the plug-in registers. A release that changes one of these
interfaces would silently ignore cache modes.
"""

from collections.abc import Iterator
import inspect
from typing import Any

from lxml import etree
import nova.conf
from nova.storage import rbd_utils
from nova.virt import libvirt
from nova.virt.libvirt import config
from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import net

from nova_rbd_cache import compute_driver
from nova_rbd_cache import disk
from nova_rbd_cache import settings
from rbd_volume_options.families import cache_modes

#: The stock class and ours, in the form of Nova's ``VOLUME_DRIVERS``.
STOCK_DRIVER = 'nova.virt.libvirt.volume.net.LibvirtNetVolumeDriver'
OUR_DRIVER = 'nova_rbd_cache.volume.RBDCacheVolumeDriver'

#: The value of ``compute_driver`` with which Nova loads our class. Nova also
#: loads the stock class by the name of its own module, where it stays.
_COMPUTE_DRIVER = 'libvirt.LibvirtDriver'


# Class, name and parameters after self.
_Signature = tuple[Any, str, str]
#: Methods of Nova that ours call or replace.
_SIGNATURES: tuple[_Signature, ...] = (
    (net.LibvirtNetVolumeDriver, 'get_config', 'connection_info, disk_info'),
    (
        net.LibvirtNetVolumeDriver,
        'connect_volume',
        'connection_info, instance',
    ),
    (
        *(compute_driver.STOCK, 'update_provider_tree'),
        'provider_tree, nodename, allocations',
    ),
    (
        *(compute_driver.STOCK, 'check_can_live_migrate_source'),
        'context, instance, dest_check_data, block_device_info',
    ),
    (
        *(compute_driver.STOCK, 'check_can_live_migrate_destination'),
        'context, instance',
    ),
    (compute_driver.STOCK, 'get_volume_connector', 'instance'),
)
_OF_EPHEMERAL_DISKS: tuple[_Signature, ...] = (
    (rbd_utils.RBDDriver, 'clone', 'image_location, dest_name, dest_pool'),
    (rbd_utils.RBDDriver, 'import_image', 'base, name'),
    (rbd_utils.RBDDriver, 'ceph_args', ''),
    (rbd_utils.RBDDriver, '_connect_to_rados', 'pool'),
)


def problems(
    host_settings: settings.Settings | None = None,
) -> Iterator[str]:
    """Yield the requirements that Nova does not meet.

    :param host_settings: the operator's settings; without them, only the
        requirements that do not depend on them are checked
    """
    yield from filter(
        None, (_volume_drivers(), _compute_driver(), _disk(), _tuned_disk())
    )
    signatures = _SIGNATURES
    if host_settings and host_settings.ephemeral.given:
        signatures += _OF_EPHEMERAL_DISKS
    for holder, name, expected in signatures:
        takes = ', '.join(inspect.signature(getattr(holder, name)).parameters)
        wanted = ', '.join(filter(None, ('self', expected)))
        if not f'{takes}, '.startswith(f'{wanted}, '):
            yield (
                f'{holder.__module__}.{holder.__qualname__}.{name} takes '
                f'{takes}, not {wanted}'
            )
    # libvirt rejects a disk on an I/O thread that its guest does not have.
    has_threads = hasattr(driver.LibvirtDriver, '_get_guest_iothread')
    if host_settings and host_settings.disks.iothread and not has_threads:
        yield (
            '[rbd_cache] disk_iothread = True requires Nova 33 (2026.1) or '
            'later, which gives each guest an I/O thread; unset the option'
        )


def _volume_drivers() -> str | None:
    registered = driver.VOLUME_DRIVERS.get('rbd')
    if registered not in (STOCK_DRIVER, OUR_DRIVER):
        return (
            f'the volume driver for RBD is {registered}, which is neither '
            f"Nova's nor ours"
        )
    return None


def _stock_disk() -> Any:
    stock = config.LibvirtConfigGuestDisk()
    stock.source_type = 'network'
    stock.driver_name = 'qemu'
    stock.target_dev = 'vda'
    stock.target_bus = 'virtio'
    stock.driver_cache = 'none'
    return stock


def _written(made: Any, element: str = 'driver') -> dict[str, str]:
    """Return the attributes of an element in a disk's XML."""
    written = etree.fromstring(made.to_xml()).find(element)
    return {} if written is None else dict(written.attrib)


def _disk() -> str | None:
    """Change a disk as Nova does, and check the resulting XML."""
    mode = cache_modes.CacheMode.WRITEBACK
    pinned = disk.PinnedDisk.of(_stock_disk(), mode)
    pinned.driver_cache = 'none'
    cache = _written(pinned).get('cache')
    if cache != 'writeback':
        return f'a disk pinned to cache mode writeback has {cache} in its XML'
    return None


def _tuned_disk() -> str | None:
    """Check that the XML of a disk has the attributes of a tuned one."""
    expected = disk.Tuning(1, 4, 'unmap', discard_granularity=4096)
    tuned = disk.TunedDisk.tuned(_stock_disk(), expected)
    written = {**_written(tuned), **_written(tuned, 'blockio')}
    named = {**expected.attributes, **expected.block_io}
    if not named.items() <= written.items():
        return f'a disk with {named} has {written}'
    return None


def _compute_driver() -> str | None:
    configured = str(nova.conf.CONF.compute_driver)
    if configured.startswith('libvirt.') and configured != _COMPUTE_DRIVER:
        return (
            f'compute_driver = {configured} loads a class that is not ours; '
            f'set compute_driver = {_COMPUTE_DRIVER}'
        )
    registered = libvirt.LibvirtDriver
    if registered not in (compute_driver.STOCK, *compute_driver.OURS):
        return (
            f'the compute driver is {registered.__module__}.'
            f'{registered.__qualname__}, '
            f"which is neither Nova's nor ours"
        )
    return None
