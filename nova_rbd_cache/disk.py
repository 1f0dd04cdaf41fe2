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

"""The disk of a guest, as libvirt is told of it."""

import dataclasses
from typing import Any

from nova.virt.libvirt import config

from rbd_volume_options import cache_modes


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What works on a disk's requests; what is unset is left to libvirt.

    :ivar io_thread: number of the guest's I/O thread
    :ivar queues: number of queues
    """

    io_thread: int | None = None
    queues: int | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the ``driver`` element of the disk's XML."""
        words = {'iothread': self.io_thread, 'queues': self.queues}
        return {k: str(v) for k, v in words.items() if v is not None}


class TunedDisk(config.LibvirtConfigGuestDisk):
    """A disk with an I/O thread or queues, of which Nova knows nothing."""

    tuning = Tuning()

    @classmethod
    def tuned(cls, disk: Any, tuning: Tuning) -> 'TunedDisk':
        """Return a disk that is as another one, but for its tuning."""
        made = cls()
        made.__dict__.update(vars(disk))
        made.tuning = tuning
        return made

    # Nova's tests compare signatures with those of the stock class, which has
    # no annotations.
    def format_dom(self):  # type: ignore[no-untyped-def]
        """Return the ``disk`` element."""
        element = super().format_dom()
        for name, value in self.tuning.attributes.items():
            element.find('driver').set(name, value)
        return element


class PinnedDisk(TunedDisk):
    """A disk that keeps its cache mode.

    Nova sets ``driver_cache`` again after the volume driver has made the
    disk, from ``[libvirt] disk_cachemodes``: in ``_get_volume_config`` and,
    when a server starts, a second time for all of its disks. Here what is
    set changes nothing.
    """

    _pinned: str | None = None

    @classmethod
    def of(cls, disk: Any, mode: cache_modes.CacheMode) -> 'PinnedDisk':
        """Return a disk that is as another one, but for its cache mode."""
        pinned = cls()
        pinned.__dict__.update(vars(disk))
        pinned._pinned = mode.value
        return pinned

    @property
    def driver_cache(self) -> str | None:
        """The cache mode, in libvirt's words."""
        return self._pinned

    @driver_cache.setter
    def driver_cache(self, value: str | None) -> None:
        pass
