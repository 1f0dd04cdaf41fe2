# SPDX-License-Identifier: Apache-2.0

"""The stock volume driver with the cache mode of the attachment.

Disks also get how they treat writes of zeros, if the attachment has that, and
an I/O thread and queues, if the operator configures it.
"""

import dataclasses
from typing import Any

from nova.compute import task_states
import nova.conf
from nova.virt import block_device
from nova.virt.libvirt.volume import net
from oslo_log import log as logging

from nova_rbd_cache import disk
from nova_rbd_cache import exceptions
from nova_rbd_cache import guests
from nova_rbd_cache import previous
from nova_rbd_cache import settings
from nova_rbd_cache import tuning
from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


class RBDCacheVolumeDriver(net.LibvirtNetVolumeDriver):
    """Attaches RBD volumes with their requested cache mode.

    Volumes without a requested cache mode keep that of the stock driver.
    """

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.settings = settings.read(nova.conf.CONF)
        self._previous = previous.PreviousDisks()
        #: Servers that were to be migrated live and have tuned disks.
        self._tuned_servers: set[str] = set()

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def get_config(  # type: ignore[no-untyped-def]
        self, connection_info, disk_info
    ):
        """Return the configuration of the disk for libvirt.

        :raises CacheModeRefused: for an unknown mode, or a mode that this
            host does not allow and that the disk has not had before
        """
        stock = super().get_config(connection_info, disk_info)
        made = self._tuned(stock, connection_info)
        word = asked(connection_info)
        if word is None:
            return made
        try:
            mode = self._mode(word, connection_info, stock)
        except exceptions.CacheModeRefused:
            self._remove_secret(connection_info, stock)
            raise
        if stock.shareable:
            # Nova always sets `none` for shareable disks, because the caches
            # of two hosts are not coherent.
            return made
        return disk.PinnedDisk.of(made, mode)

    def disconnect_volume(  # type: ignore[no-untyped-def]
        self, connection_info, instance, force=False
    ):
        """Disconnect a volume; remember its mode if it is not allowed now.

        Nova may be about to create the guest again, with the same disk.
        """
        word = asked(connection_info)
        if (
            word is not None
            # An allowed mode needs no check of what the disk had.
            and word not in self.settings.mode_names
            # See note_rebuilt.
            and instance.task_state != task_states.REBUILDING
        ):
            self._previous.note(
                self.host, instance.uuid, connection_info.get('serial')
            )
        super().disconnect_volume(connection_info, instance, force=force)

    def note_rebuilt(self, server: str) -> None:
        """Remember the modes of the disks of a server before a rebuild.

        When Nova disconnects the volumes in a rebuild, it has already detached
        them from the guest.
        """
        self._previous.note_all(self.host, server)

    def note_migrated(self, server: str, guest: guests.Guest) -> None:
        """Remember whether a live migration must keep the tuning of disks.

        The options may have been unset since the guest was started.
        """
        if guest.has_tuned_disks:
            self._tuned_servers.add(server)
        else:
            self._tuned_servers.discard(server)

    def _tuned(self, stock: Any, connection_info: Any) -> Any:
        """Return the disk with what Nova does not support, if anything.

        libvirt is not queried if no disk of the guest can have an I/O thread
        or queues.
        """
        server = connection_info.get(guests.SERVER)
        tuned = disk.Tuning()
        if self.settings.disks.given or server in self._tuned_servers:
            tuned = tuning.choose(
                self.settings.disks, stock, self.host, connection_info
            )
        tuned = dataclasses.replace(
            tuned, detect_zeroes=_detect_zeroes(connection_info)
        )
        if tuned == disk.Tuning():
            return stock
        return disk.TunedDisk.tuned(stock, tuned)

    def _mode(
        self, word: str, connection_info: Any, stock: Any
    ) -> cache_modes.CacheMode:
        """Return the mode of a disk.

        :raises CacheModeRefused: as in :meth:`get_config`
        """
        try:
            mode = cache_modes.parse_cache_mode(word)
        except errors.OptionError:
            raise self._refused(word, connection_info) from None
        names = {'id': _volume_id(connection_info), 'mode': mode.value}
        if stock.shareable:
            if mode is not cache_modes.CacheMode.NONE:
                LOG.warning(
                    'Volume %(id)s is attached to several servers and gets '
                    'cache mode none, not %(mode)s',
                    names,
                )
        elif mode not in self.settings.allowed_modes:
            if not self._has_had(mode, stock, connection_info):
                raise self._refused(word, connection_info)
            LOG.warning(
                'Volume %(id)s keeps cache mode %(mode)s of its attachment, '
                'although [rbd_cache] allowed_modes no longer has it, because '
                'its server cannot run without the volume',
                names,
            )
        return mode

    def _has_had(
        self, mode: cache_modes.CacheMode, stock: Any, connection_info: Any
    ) -> bool:
        """Return whether the disk of the guest has, or had, a cache mode.

        If so, the server keeps it. A newly attached disk, or a guest that
        moves to this host, may only have an allowed mode, whatever
        ``connection_info`` contains.
        """
        guest = guests.find(self.host, connection_info)
        if guest is None:
            server = connection_info.get(guests.SERVER)
            return self._previous.mode(server, stock.serial) == mode.value
        if stock.serial not in guest.disks:
            return False
        # A running guest is being migrated live to another host, which has
        # offered the mode.
        had = guest.disks[stock.serial].get('cache')
        return guest.running or had == mode.value

    def _remove_secret(self, connection_info: Any, stock: Any) -> None:
        """Remove the LUKS secret of a volume that is refused.

        Nova has just defined the secret, and removes it only if the
        attachment fails later. The secret stays if a guest has the volume.
        """
        guest = guests.find(self.host, connection_info)
        if guest is not None and stock.serial in guest.disks:
            return
        volume_id = _volume_id(connection_info)
        if self.host.find_secret('volume', volume_id):
            self.host.delete_secret('volume', volume_id)

    def _refused(
        self, word: str, connection_info: Any
    ) -> exceptions.CacheModeRefused:
        LOG.error(
            'Volume %(id)s is refused on host %(host)s: cache mode %(mode)s '
            'is not in [rbd_cache] allowed_modes of its nova.conf',
            {
                'id': _volume_id(connection_info),
                'host': nova.conf.CONF.host,
                'mode': errors.shown(word),
            },
        )
        return exceptions.CacheModeRefused(
            volume_id=_volume_id(connection_info),
            mode=errors.shown(word),
            allowed=cache_modes.joined(self.settings.allowed_modes),
        )


def asked(connection_info: Any) -> str | None:
    """Return the mode that Cinder recorded with an attachment, if any."""
    mode: str | None = connection_info['data'].get(wire.CONNECTION_CACHE_MODE)
    return mode


def _detect_zeroes(connection_info: Any) -> str | None:
    """Return how a disk treats writes of zeros, if Cinder recorded that.

    An unknown word does not prevent the attachment.
    """
    word = connection_info['data'].get(wire.CONNECTION_DETECT_ZEROES)
    if word is None:
        return None
    try:
        known: str = definitions.OPTIONS[keys.DETECT_ZEROES].parse(word)
    except errors.OptionError as error:
        LOG.warning(
            'Volume %(id)s is attached without a requested option: %(error)s',
            {'id': _volume_id(connection_info), 'error': error},
        )
        return None
    return known


def _volume_id(connection_info: Any) -> Any:
    return block_device.get_volume_id(connection_info)
