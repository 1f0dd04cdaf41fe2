# SPDX-License-Identifier: Apache-2.0

"""Selection of a disk's I/O thread, queues and granularity in its guest."""

import dataclasses
from typing import Any

from oslo_log import log as logging

from nova_rbd_cache import disk
from nova_rbd_cache import guests
from nova_rbd_cache import settings

LOG = logging.getLogger(__name__)

#: Nova configures one I/O thread for each guest, and libvirt counts from 1.
IO_THREAD = 1
# QEMU starts no guest that has another granularity than 512 bytes on IDE or
# SATA.
_HAVE_GRANULARITY = frozenset({'virtio', 'scsi'})


def choose(
    wanted: settings.DiskSettings,
    stock: Any,
    host: Any,
    connection_info: Any,
    granularity: int | None = None,
) -> disk.Tuning:
    """Return the I/O thread, the queues and the granularity of a disk.

    :param wanted: the operator's settings
    :param stock: the disk of the stock driver
    :param host: Nova's object for libvirt
    :param connection_info: the connection information from Cinder
    :param granularity: the requested discard granularity in bytes
    """
    server = connection_info.get(guests.SERVER)
    guest = guests.find(host, server) if server else None
    if guest and guest.running and stock.serial in guest.disks:
        # A live migration. The disk keeps its configuration, whatever the
        # settings and the keys are now: libvirt rejects a changed one for a
        # running guest.
        return _as_it_is(guest.disks[stock.serial].attributes)
    has_granularity = stock.target_bus in _HAVE_GRANULARITY
    tuned = disk.Tuning(
        discard_granularity=granularity if has_granularity else None
    )
    if not (_can_have(stock) and server):
        # If the server is unknown, its guest may not have an I/O thread.
        return tuned
    io_thread = wanted.iothread
    if io_thread and guest and not guest.io_threads:
        io_thread = False
        LOG.warning(
            'Volume %s gets no I/O thread, because its server was started by '
            'a release of Nova without I/O threads. To add one, stop and '
            'start the server, or reboot it hard.',
            stock.serial,
        )
    return dataclasses.replace(
        tuned,
        io_thread=IO_THREAD if io_thread else None,
        queues=wanted.queues,
    )


def _can_have(stock: Any) -> bool:
    """Return whether a disk is virtio-blk on RBD, for a thread and queues."""
    target = (stock.source_protocol, stock.source_device, stock.target_bus)
    return target == ('rbd', 'disk', 'virtio')


def _as_it_is(attributes: Any) -> disk.Tuning:
    def number(name: str) -> int | None:
        value = attributes.get(name)
        return None if value is None else int(value)

    return disk.Tuning(
        number('iothread'),
        number('queues'),
        discard_granularity=number('discard_granularity'),
    )
