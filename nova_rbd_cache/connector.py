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

"""What this host tells Cinder of itself: the cache modes that it allows."""

from typing import Any

import nova.conf
from os_brick import initiator

from nova_rbd_cache import settings
from rbd_volume_options import wire


class RBDCacheConnector:
    """One of os-brick's connectors, of which Nova asks only this.

    It connects nothing: a volume is connected by QEMU.
    """

    platform = initiator.PLATFORM_ALL
    os_type = initiator.OS_TYPE_LINUX

    @staticmethod
    def get_connector_properties(
        root_helper: str, *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Return what to add to the connector of this host."""
        found = settings.read(nova.conf.CONF)
        return {wire.CONNECTOR_CACHE_MODES: found.mode_names}
