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

#: In the connector, a sorted list of names of modes. Cinder's driver refuses
#: a volume that asks for another one, and reads from a missing key that the
#: host would ignore the mode.
CACHE_MODES = 'rbd_cache_modes'


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
        return {CACHE_MODES: settings.read(nova.conf.CONF).mode_names}
