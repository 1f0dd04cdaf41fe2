# SPDX-License-Identifier: Apache-2.0

"""Selection of the I/O thread and queues for a disk in its guest."""

from typing import Any

from oslo_log import log as logging

from nova_rbd_cache import disk
from nova_rbd_cache import guests
from nova_rbd_cache import settings

LOG = logging.getLogger(__name__)

#: Nova configures one I/O thread for each guest, and libvirt counts from 1.
IO_THREAD = 1


def choose(
    wanted: settings.DiskSettings, stock: Any, host: Any, connection_info: Any
) -> disk.Tuning:
    """Return the I/O thread and queues of a disk.

    :param wanted: the operator's settings
    :param stock: the disk of the stock driver
    :param host: Nova's object for libvirt
    :param connection_info: the connection information from Cinder
    """
    server = connection_info.get(guests.SERVER)
    if not (_can_have(stock) and server):
        # If the server is unknown, its guest may not have an I/O thread.
        return disk.Tuning()
    guest = guests.find(host, server)
    if guest is None:
        return _tuning(wanted, wanted.iothread)
    if guest.running and stock.serial in guest.disks:
        # A live migration. The disk keeps its configuration, whatever the
        # settings are now: libvirt rejects changed queues for a running guest.
        return _as_it_is(guest.disks[stock.serial])
    if wanted.iothread and not guest.io_threads:
        LOG.warning(
            'Volume %s gets no I/O thread, because its server was started by '
            'a release of Nova without I/O threads. To add one, stop and '
            'start the server, or reboot it hard.',
            stock.serial,
        )
    return _tuning(wanted, wanted.iothread and guest.io_threads > 0)


def _can_have(stock: Any) -> bool:
    """Return whether a disk is virtio-blk on RBD; others support neither."""
    target = (stock.source_protocol, stock.source_device, stock.target_bus)
    return target == ('rbd', 'disk', 'virtio')


def _tuning(wanted: settings.DiskSettings, io_thread: bool) -> disk.Tuning:
    return disk.Tuning(IO_THREAD if io_thread else None, wanted.queues)


def _as_it_is(attributes: Any) -> disk.Tuning:
    def number(name: str) -> int | None:
        value = attributes.get(name)
        return None if value is None else int(value)

    return disk.Tuning(number('iothread'), number('queues'))
