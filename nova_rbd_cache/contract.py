# SPDX-License-Identifier: Apache-2.0

"""Checks of the interfaces in Nova that the plug-in depends on.

They run before the plug-in registers. A release that changes one of these
interfaces would silently ignore cache modes.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Clause:
    """A requirement of the plug-in.

    :ivar name: the subject of the requirement
    :ivar problem: returns a description of the problem, or None
    :ivar matters: returns whether the operator's settings need it
    """

    name: str
    problem: Callable[[], str | None]
    matters: Callable[[settings.Settings], bool] = lambda ours: True


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def _differs(function: Any, expected: list[str]) -> str | None:
    parameters = _parameters(function)
    if parameters[: len(expected)] != expected:
        return (
            f'{function.__module__}.{function.__qualname__} takes '
            f'{", ".join(parameters)}, not {", ".join(expected)}'
        )
    return None


def _volume_drivers() -> str | None:
    registered = driver.VOLUME_DRIVERS.get('rbd')
    if registered not in (STOCK_DRIVER, OUR_DRIVER):
        return (
            f'the volume driver for RBD is {registered}, which is neither '
            f"Nova's nor ours"
        )
    return None


def _volume_driver() -> str | None:
    return _differs(
        net.LibvirtNetVolumeDriver.get_config,
        ['self', 'connection_info', 'disk_info'],
    ) or _differs(
        net.LibvirtNetVolumeDriver.connect_volume,
        ['self', 'connection_info', 'instance'],
    )


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


def _io_threads() -> str | None:
    # libvirt rejects a disk on an I/O thread that its guest does not have.
    if not hasattr(driver.LibvirtDriver, '_get_guest_iothread'):
        return (
            '[rbd_cache] disk_iothread = True requires Nova 33 (2026.1) or '
            'later, which gives each guest an I/O thread; unset the option'
        )
    return None


def compute_driver_problem() -> str | None:
    """Return a problem with the class that nova-compute loads, or None."""
    configured = str(nova.conf.CONF.compute_driver)
    if configured.startswith('libvirt.') and configured != _COMPUTE_DRIVER:
        return (
            f'compute_driver = {configured} loads a class that is not ours; '
            f'set compute_driver = {_COMPUTE_DRIVER}'
        )
    stock = compute_driver.STOCK
    registered = libvirt.LibvirtDriver
    if registered is not stock and registered not in compute_driver.OURS:
        return (
            f'the compute driver is {registered.__module__}.'
            f'{registered.__qualname__}, '
            f"which is neither Nova's nor ours"
        )
    return (
        _differs(
            stock.update_provider_tree,
            ['self', 'provider_tree', 'nodename', 'allocations'],
        )
        or _differs(
            stock.check_can_live_migrate_source,
            [
                *('self', 'context', 'instance', 'dest_check_data'),
                'block_device_info',
            ],
        )
        or _differs(
            stock.check_can_live_migrate_destination,
            ['self', 'context', 'instance'],
        )
        or _differs(stock.get_volume_connector, ['self', 'instance'])
    )


def _ephemeral() -> str | None:
    stock = rbd_utils.RBDDriver
    return (
        _differs(
            stock.clone, ['self', 'image_location', 'dest_name', 'dest_pool']
        )
        or _differs(stock.import_image, ['self', 'base', 'name'])
        or _differs(stock.ceph_args, ['self'])
        or _differs(stock._connect_to_rados, ['self', 'pool'])
    )


CLAUSES: tuple[Clause, ...] = (
    Clause("Nova's volume drivers", _volume_drivers),
    Clause('volume driver', _volume_driver),
    Clause('compute driver class', compute_driver_problem),
    Clause('disk', _disk),
    Clause('tuned disk', _tuned_disk),
    Clause('I/O threads', _io_threads, lambda ours: ours.disks.iothread),
    Clause('ephemeral disks', _ephemeral, lambda ours: ours.ephemeral.given),
)


def clauses(host_settings: settings.Settings) -> Iterator[Clause]:
    """Return the requirements for the operator's settings."""
    return (clause for clause in CLAUSES if clause.matters(host_settings))


def problems(host_settings: settings.Settings) -> Iterator[str]:
    """Return the problems with the requirements that are not met."""
    for clause in clauses(host_settings):
        problem = clause.problem()
        if problem:
            yield problem
