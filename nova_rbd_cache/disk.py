# SPDX-License-Identifier: Apache-2.0

"""Disks of a guest, as configured in libvirt."""

import dataclasses
from typing import Any

from lxml import etree
from nova.virt.libvirt import config

from rbd_volume_options.families import cache_modes


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What Nova does not support in a disk; None for the default of libvirt.

    :ivar io_thread: the number of an I/O thread of the guest
    :ivar queues: how many queues the disk has
    :ivar detect_zeroes: how QEMU treats writes of zeros
    :ivar discard_granularity: the smallest discard in bytes
    """

    io_thread: int | None = None
    queues: int | None = None
    detect_zeroes: str | None = None
    discard_granularity: int | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the ``driver`` element in the disk's XML."""
        words = {
            'iothread': self.io_thread,
            'queues': self.queues,
            'detect_zeroes': self.detect_zeroes,
        }
        return {k: str(v) for k, v in words.items() if v is not None}

    @property
    def block_io(self) -> dict[str, str]:
        """Attributes of the ``blockio`` element in the disk's XML."""
        if self.discard_granularity is None:
            return {}
        return {'discard_granularity': str(self.discard_granularity)}


class TunedDisk(config.LibvirtConfigGuestDisk):
    """A disk with attributes that Nova does not support."""

    tuning = Tuning()

    @classmethod
    def tuned(cls, disk: Any, tuning: Tuning) -> 'TunedDisk':
        """Return a copy of a disk with another tuning."""
        made = cls()
        made.__dict__.update(vars(disk))
        made.tuning = tuning
        return made

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def format_dom(self):  # type: ignore[no-untyped-def]
        """Return the ``disk`` element."""
        element = super().format_dom()
        for name, value in self.tuning.attributes.items():
            element.find('driver').set(name, value)
        for name, value in self.tuning.block_io.items():
            # Nova writes this element if the disk has a sector size.
            block_io = element.find('blockio')
            if block_io is None:
                block_io = etree.SubElement(element, 'blockio')
            block_io.set(name, value)
        return element


class PinnedDisk(TunedDisk):
    """A disk that keeps its cache mode.

    After the volume driver has returned the disk, Nova sets ``driver_cache``
    again, from ``[libvirt] disk_cachemodes``: in ``_get_volume_config`` and,
    when a server starts, a second time for all of its disks. This class
    ignores both.
    """

    _pinned: str | None = None

    @classmethod
    def of(cls, disk: Any, mode: cache_modes.CacheMode) -> 'PinnedDisk':
        """Return a copy of a disk with a fixed cache mode."""
        pinned = cls()
        pinned.__dict__.update(vars(disk))
        pinned._pinned = mode.value
        return pinned

    @property
    def driver_cache(self) -> str | None:
        """The cache mode, by its name in libvirt; setting it has no effect."""
        return self._pinned

    @driver_cache.setter
    def driver_cache(self, value: str | None) -> None:
        pass
