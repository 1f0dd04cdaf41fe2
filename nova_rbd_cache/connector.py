# SPDX-License-Identifier: Apache-2.0

"""The connector item that reports the allowed cache modes to Cinder."""

from typing import Any

import nova.conf
from os_brick import initiator

from nova_rbd_cache import settings
from rbd_volume_options import wire


class RBDCacheConnector:
    """A connector of os-brick that only adds connector properties.

    It does not connect volumes, because QEMU connects RBD volumes itself.
    """

    platform = initiator.PLATFORM_ALL
    os_type = initiator.OS_TYPE_LINUX

    @staticmethod
    def get_connector_properties(
        root_helper: str, *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the items to add to the connector of this host."""
        host_settings = settings.read(nova.conf.CONF)
        return {wire.CONNECTOR_CACHE_MODES: host_settings.mode_names}
