# SPDX-License-Identifier: Apache-2.0

"""The stock volume driver with the cache mode of the attachment.

Cinder answers with the mode that the volume requests. The host that connects
the volume chooses the mode in force, and writes it into the connection
information, which Nova stores. The disk gets that mode, also if another host
writes its XML, as in a live migration.

Disks also get how they treat writes of zeros and their discard granularity, if
the attachment has that, and an I/O thread and queues, if the operator
configures it.
"""

import dataclasses
from typing import Any

import nova.conf
from nova.virt import block_device
from nova.virt.libvirt.volume import net
from oslo_log import log as logging

from nova_rbd_cache import abilities
from nova_rbd_cache import disk
from nova_rbd_cache import guests
from nova_rbd_cache import settings
from nova_rbd_cache import tuning
from rbd_volume_options import compute_hosts
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes
from rbd_volume_options.families import discard

LOG = logging.getLogger(__name__)


class RBDCacheVolumeDriver(net.LibvirtNetVolumeDriver):
    """Attaches RBD volumes with their requested cache mode.

    Volumes without a requested cache mode keep that of the stock driver.
    """

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.settings = settings.read(nova.conf.CONF)
        self._abilities: compute_hosts.ComputeHost | None = None
        #: Servers that were to be migrated live and have tuned disks.
        self._tuned_servers: set[str] = set()

    @property
    def abilities(self) -> compute_hosts.ComputeHost:
        """What this host can do; asked again only if libvirt was down."""
        known = self._abilities or abilities.of_host(self.settings, self.host)
        if 'libvirt' in known.versions:
            self._abilities = known
        return known

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def connect_volume(  # type: ignore[no-untyped-def]
        self, connection_info, instance
    ):
        """Connect a volume, and choose its mode.

        Nova calls this before it requests the disk, whenever it creates the
        guest, and on the destination of a live migration. It stores the
        connection information afterwards.
        """
        self._choose(connection_info)
        super().connect_volume(connection_info, instance)

    def get_config(  # type: ignore[no-untyped-def]
        self, connection_info, disk_info
    ):
        """Return the configuration of the disk for libvirt."""
        stock = super().get_config(connection_info, disk_info)
        made = self._tuned(stock, connection_info)
        mode = in_force(connection_info)
        if mode is None or stock.shareable:
            # Nova always sets `none` for shareable disks, because the caches
            # of two hosts are not coherent.
            return made
        return disk.PinnedDisk.of(made, mode)

    def _choose(self, connection_info: Any) -> None:
        """Write what this host does with an attachment into it."""
        data = connection_info['data']
        volume = _volume_id(connection_info)
        data.pop('cache_mode_in_force', None)
        data.pop('rbd_not_applied', None)
        ignored = sorted(
            key
            for key in compute_hosts.keys_with_requirements()
            if registry.OPTIONS[key].item in data
            and key not in self.abilities.keys
        )
        if ignored:
            data['rbd_not_applied'] = ignored
            LOG.warning(
                'Volume %(id)s is attached without %(keys)s, which this host '
                'cannot apply: it has %(software)s',
                {
                    'id': volume,
                    'keys': ', '.join(ignored),
                    'software': self.abilities.software,
                },
            )
        word = requested(connection_info)
        if word is None:
            return
        is_shared = connection_info.get('multiattach')
        mode = None if is_shared else _parsed(str(word))
        mode = self.abilities.in_force(mode or cache_modes.CacheMode.NONE)
        data['cache_mode_in_force'] = mode.value
        if mode.value != word and not is_shared:
            LOG.warning(
                'Volume %(id)s is attached with cache mode %(mode)s, not with '
                '%(word)s, which it requests: [rbd_cache] allowed_modes of '
                'host %(host)s is %(allowed)s. It gets the mode when its '
                'server starts on a host that allows it.',
                {
                    'id': volume,
                    'mode': mode.value,
                    'word': errors.shown(word),
                    'host': nova.conf.CONF.host,
                    'allowed': cache_modes.joined(self.settings.allowed_modes),
                },
            )

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

        libvirt is not queried if the disk can have nothing that a live
        migration must keep.
        """
        server = connection_info.get(guests.SERVER)
        discards = granularity(connection_info)
        tuned = disk.Tuning()
        if (
            discards is not None
            or self.settings.disks.given
            or server in self._tuned_servers
        ):
            tuned = tuning.choose(
                self.settings.disks,
                stock,
                self.host,
                connection_info,
                discards,
            )
        tuned = dataclasses.replace(
            tuned, detect_zeroes=_detect_zeroes(connection_info)
        )
        if tuned == disk.Tuning():
            return stock
        return disk.TunedDisk.tuned(stock, tuned)


def requested(connection_info: Any) -> str | None:
    """Return the mode that Cinder recorded with an attachment, if any."""
    word: str | None = connection_info['data'].get(cache_modes.ITEM)
    return word


def in_force(connection_info: Any) -> cache_modes.CacheMode | None:
    """Return the mode of a disk; None for that of the stock driver.

    Only the destination of a live migration that has no plug-in does not
    choose a mode. The guest then keeps the requested one until its next start.
    A live migration in mode unsafe loses writes, so that mode is not kept.
    """
    data = connection_info['data']
    chosen = data.get('cache_mode_in_force')
    if chosen is not None:
        return _parsed(str(chosen))
    mode = _parsed(str(requested(connection_info)))
    return None if mode is cache_modes.CacheMode.UNSAFE else mode


def _parsed(word: str) -> cache_modes.CacheMode | None:
    """Return a mode; None for an unknown one, of a newer Cinder."""
    try:
        return cache_modes.parse_cache_mode(word)
    except errors.OptionError:
        return None


def granularity(connection_info: Any) -> int | None:
    """Return the discard granularity of a disk, if it has one."""
    data = connection_info['data']
    if keys.DISCARD_GRANULARITY in data.get('rbd_not_applied', ()):
        return None
    size: int | None = data.get(discard.ITEM_GRANULARITY)
    return size


def _detect_zeroes(connection_info: Any) -> str | None:
    """Return how a disk treats writes of zeros, if Cinder recorded that.

    An unknown word does not prevent the attachment.
    """
    word = connection_info['data'].get(discard.ITEM_ZEROES)
    if word is None:
        return None
    try:
        known: str = registry.OPTIONS[keys.DETECT_ZEROES].parse(word)
    except errors.OptionError as error:
        LOG.warning(
            'Volume %(id)s is attached without a requested option: %(error)s',
            {'id': _volume_id(connection_info), 'error': error},
        )
        return None
    return known


def _volume_id(connection_info: Any) -> Any:
    return block_device.get_volume_id(connection_info)
