# SPDX-License-Identifier: Apache-2.0

"""The stock volume driver with the cache mode of the attachment.

Disks also get how they treat writes of zeros and their discard granularity, if
the attachment has that, and an I/O thread and queues, if the operator
configures it.
"""

import dataclasses
from typing import Any

from nova.compute import task_states
from nova.compute import vm_states
import nova.conf
from nova.virt import block_device
from nova.virt.libvirt.volume import net
from oslo_log import log as logging
from oslo_utils import versionutils

from nova_rbd_cache import accepted_modes
from nova_rbd_cache import disk
from nova_rbd_cache import exceptions
from nova_rbd_cache import guests
from nova_rbd_cache import settings
from nova_rbd_cache import tuning
from rbd_volume_options import cache_modes
from rbd_volume_options import discard_granularity
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


class RBDCacheVolumeDriver(net.LibvirtNetVolumeDriver):
    """Attaches RBD volumes with their requested cache mode.

    Volumes without a requested cache mode keep that of the stock driver.
    """

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.settings = settings.read(nova.conf.CONF)
        self._accepted = accepted_modes.AcceptedModes()
        #: Servers that were to be migrated live and have tuned disks.
        self._tuned_servers: set[str] = set()

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def connect_volume(  # type: ignore[no-untyped-def]
        self, connection_info, instance
    ):
        """Connect a volume, if this host accepts what it requests.

        Nova connects a volume before it requests the disk, and on the
        destination of a live migration.

        :raises CacheModeRefused: for an unknown mode, or a mode that this
            host does not allow and that the disk has not had before
        :raises DiscardGranularityRefused: if libvirt would ignore it, and the
            server can run without the volume or on another host
        """
        if _granularity(connection_info) is not None:
            self._check_libvirt(connection_info, instance)
        mode = self._mode(connection_info)
        if mode is not None and not connection_info.get('multiattach'):
            self._check(mode, connection_info, instance)
        super().connect_volume(connection_info, instance)

    def get_config(  # type: ignore[no-untyped-def]
        self, connection_info, disk_info
    ):
        """Return the configuration of the disk for libvirt.

        :raises CacheModeRefused: for an unknown mode
        """
        stock = super().get_config(connection_info, disk_info)
        made = self._tuned(stock, connection_info)
        mode = self._mode(connection_info)
        if mode is None:
            return made
        if stock.shareable:
            # Nova always sets `none` for shareable disks, because the caches
            # of two hosts are not coherent.
            if mode is not cache_modes.CacheMode.NONE:
                LOG.warning(
                    'Volume %(id)s is attached to several servers and gets '
                    'cache mode none, not %(mode)s',
                    {'id': _volume_id(connection_info), 'mode': mode.value},
                )
            return made
        return disk.PinnedDisk.of(made, mode)

    def note_rebuilt(self, server: str) -> None:
        """Keep the modes of a server, whose folder Nova removes."""
        self._accepted.keep(server)

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
        granularity = _granularity(connection_info)
        tuned = disk.Tuning()
        if (
            granularity is not None
            or self.settings.disks.given
            or server in self._tuned_servers
        ):
            tuned = tuning.choose(
                self.settings.disks,
                stock,
                self.host,
                connection_info,
                granularity,
            )
        tuned = dataclasses.replace(
            tuned, detect_zeroes=_detect_zeroes(connection_info)
        )
        if tuned == disk.Tuning():
            return stock
        return disk.TunedDisk.tuned(stock, tuned)

    def _check_libvirt(self, connection_info: Any, instance: Any) -> None:
        """Check that libvirt gives disks their discard granularity.

        :raises DiscardGranularityRefused: as in :meth:`connect_volume`
        """
        version = self.host.get_connection().getLibVersion()
        oldest = discard_granularity.OLDEST_LIBVIRT
        if version >= versionutils.convert_version_to_int(oldest):
            return
        refused = exceptions.DiscardGranularityRefused(
            volume_id=_volume_id(connection_info),
            key=keys.DISCARD_GRANULARITY,
            oldest=oldest,
            version=versionutils.convert_version_to_str(version),
        )
        # A running guest that is migrated cannot lose it.
        if (
            instance.vm_state == vm_states.BUILDING
            or instance.task_state == task_states.MIGRATING
            or self._is_added(connection_info, instance)
        ):
            raise refused
        LOG.warning(
            '%s. The server gets the volume without it.',
            refused.format_message(),
        )

    def _is_added(self, connection_info: Any, instance: Any) -> bool:
        """Return whether a server that libvirt has gets another disk."""
        guest = guests.find(self.host, instance.uuid)
        serial = connection_info['serial']
        return guest is not None and serial not in guest.disks

    def _mode(self, connection_info: Any) -> cache_modes.CacheMode | None:
        """Return the mode of an attachment, if any.

        :raises CacheModeRefused: for an unknown mode
        """
        word = asked(connection_info)
        if word is None:
            return None
        try:
            return cache_modes.parse_cache_mode(word)
        except errors.OptionError:
            raise self._refused(word, connection_info) from None

    def _check(
        self, mode: cache_modes.CacheMode, connection_info: Any, instance: Any
    ) -> None:
        """Check and record the mode of an attachment.

        :raises CacheModeRefused: as in :meth:`connect_volume`
        """
        volume = connection_info['serial']
        image = connection_info['data']['name'].rpartition('/')[2]
        if mode not in self.settings.allowed_modes:
            if not self._has_had(mode, volume, image, instance):
                raise self._refused(mode.value, connection_info)
            LOG.warning(
                'Volume %(id)s keeps cache mode %(mode)s of its attachment, '
                'although [rbd_cache] allowed_modes no longer has it, because '
                'its server cannot run without the volume',
                {'id': volume, 'mode': mode.value},
            )
        self._accepted.add(instance.uuid, image, mode.value)

    def _has_had(
        self,
        mode: cache_modes.CacheMode,
        volume: str,
        image: str,
        instance: Any,
    ) -> bool:
        """Return whether a server has, or had, a volume with a cache mode.

        If so, the server keeps it. A newly attached disk, or a server that
        moves to this host, may only have an allowed mode, whatever
        ``connection_info`` contains.
        """
        if instance.host != nova.conf.CONF.host:
            # A live migration or an evacuation. The folder may be shared.
            return False
        guest = guests.find(self.host, instance.uuid)
        if guest is None:
            had = self._accepted.mode(instance.uuid, image)
        else:
            had = guest.disks.get(volume, {}).get('cache')
        return had == mode.value

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


def _granularity(connection_info: Any) -> int | None:
    """Return the discard granularity that Cinder recorded, if any."""
    granularity: int | None = connection_info['data'].get(
        wire.CONNECTION_DISCARD_GRANULARITY
    )
    return granularity


def _detect_zeroes(connection_info: Any) -> str | None:
    """Return how a disk treats writes of zeros, if Cinder recorded that.

    An unknown word does not prevent the attachment.
    """
    word = connection_info['data'].get(wire.CONNECTION_DETECT_ZEROES)
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
