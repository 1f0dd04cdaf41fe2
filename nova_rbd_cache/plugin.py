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

"""What nova-compute loads by entry point when it starts.

Nova has no entry point for libvirt volume drivers. What every nova-compute
loads by entry point, before its compute driver, is the namespace ``os_vif``.
So this is a plug-in of os-vif's that plugs no interface.

os-vif logs and passes over what can't be imported, while an exception of
``load()`` ends the service. So this module imports nothing that could be
missing, and the rest happens in ``load()``.
"""

import sys
from typing import Any

from os_vif import objects
from os_vif import plugin

#: The module of nova-compute's program. Others load os-vif too (kuryr, zun,
#: oslo-config-generator); there is nothing to do in those.
NOVA_COMPUTE = 'nova.cmd.compute'


def in_nova_compute() -> bool:
    """Whether this process is a nova-compute."""
    # Run by `python -m`, the program's module has another name.
    spec = getattr(sys.modules.get('__main__'), '__spec__', None)
    return NOVA_COMPUTE in sys.modules or (
        getattr(spec, 'name', None) == NOVA_COMPUTE
    )


class RBDCachePlugin(plugin.PluginBase):
    """Puts the volume driver into its place in nova-compute."""

    @classmethod
    def load(cls, plugin_name: str) -> Any:
        """Return the plug-in; os-vif calls this once.

        :raises Exception: whatever keeps an enabled plug-in from its place;
            nova-compute ends
        """
        if in_nova_compute():
            # Not before: Nova need not be installed where os-vif is.
            from nova_rbd_cache import registration

            registration.activate()
        return super().load(plugin_name)

    def describe(self) -> Any:
        """Tell os-vif which kinds of interface this is for: none."""
        return objects.host_info.HostPluginInfo(
            plugin_name='rbd_cache', vif_info=[]
        )

    def plug(self, vif: Any, instance_info: Any) -> None:
        """Never called, as there is no kind of interface for it."""
        raise NotImplementedError('rbd_cache plugs no interface')

    def unplug(self, vif: Any, instance_info: Any) -> None:
        """Never called, as there is no kind of interface for it."""
        raise NotImplementedError('rbd_cache plugs no interface')
