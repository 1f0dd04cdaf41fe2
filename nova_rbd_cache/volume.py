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

"""The volume driver: the stock one, and the cache mode of the attachment."""

from typing import Any

import nova.conf
from nova.virt import block_device
from nova.virt.libvirt.volume import net
from oslo_log import log as logging

from nova_rbd_cache import disk
from nova_rbd_cache import exceptions
from nova_rbd_cache import settings
from rbd_volume_options import cache_modes
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)

#: Where Cinder's driver says it, in ``connection_info['data']``. Nova keeps
#: that with the block device mapping, so that the mode outlives restarts and
#: goes along with a migration.
CACHE_MODE = 'cache_mode'


class RBDCacheVolumeDriver(net.LibvirtNetVolumeDriver):
    """Attaches RBD volumes with the cache mode that they ask for.

    A volume that asks for none is attached exactly as the stock driver does
    it.
    """

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.settings = settings.read(nova.conf.CONF)

    # Nova's tests compare signatures with those of the stock class, which has
    # no annotations.
    def get_config(  # type: ignore[no-untyped-def]
        self, connection_info, disk_info
    ):
        """Return the disk, as libvirt is to be told of it.

        :raises CacheModeRefused: for a mode that is none, or not allowed on
            this host
        """
        stock = super().get_config(connection_info, disk_info)
        asked = connection_info['data'].get(CACHE_MODE)
        if asked is None:
            return stock
        mode = self._mode(asked, connection_info, stock.shareable)
        if stock.shareable:
            # The stock disk gets `none` from Nova, always: the caches of two
            # hosts know nothing of each other.
            return stock
        return disk.PinnedDisk.of(stock, mode)

    def _mode(
        self, asked: str, connection_info: Any, shareable: bool
    ) -> cache_modes.CacheMode:
        """Return the mode of a disk, if it is one that can be had here."""
        try:
            mode = cache_modes.parse_cache_mode(asked)
        except errors.OptionError:
            raise self._refused(asked, connection_info) from None
        if shareable:
            if mode is not cache_modes.CacheMode.NONE:
                LOG.warning(
                    'Volume %(id)s is attached to several servers and gets '
                    'cache mode none, not %(mode)s',
                    {'id': _volume_id(connection_info), 'mode': mode.value},
                )
        elif mode not in self.settings.allowed_modes:
            raise self._refused(asked, connection_info)
        return mode

    def _refused(
        self, asked: str, connection_info: Any
    ) -> exceptions.CacheModeRefused:
        return exceptions.CacheModeRefused(
            volume_id=_volume_id(connection_info),
            mode=errors.shown(asked),
            host=nova.conf.CONF.host,
            allowed=cache_modes.joined(self.settings.allowed_modes),
        )


def _volume_id(connection_info: Any) -> Any:
    return block_device.get_volume_id(connection_info)
