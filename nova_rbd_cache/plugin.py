# SPDX-License-Identifier: Apache-2.0

"""The entry point that nova-compute loads when it starts.

Nova has no entry point for libvirt volume drivers. Every nova-compute loads
the entry points of the namespace ``os_vif`` before its compute driver.
Therefore, this is an os-vif plug-in that plugs no interfaces.

os-vif logs and skips a plug-in that it cannot import, but an exception in
``load()`` stops the service. Therefore, this module imports nothing that could
be missing, and ``load()`` does the rest.
"""

import sys
from typing import Any

from os_vif import objects
from os_vif import plugin

#: The main module of nova-compute. Other programs load os-vif too (kuryr,
#: zun, oslo-config-generator); the plug-in does nothing in them.
NOVA_COMPUTE = 'nova.cmd.compute'


def in_nova_compute() -> bool:
    """Return whether this process is nova-compute."""
    # The main module has another name with `python -m`.
    spec = getattr(sys.modules.get('__main__'), '__spec__', None)
    return NOVA_COMPUTE in sys.modules or (
        getattr(spec, 'name', None) == NOVA_COMPUTE
    )


class RBDCachePlugin(plugin.PluginBase):
    """Registers the volume driver in nova-compute."""

    @classmethod
    def load(cls, plugin_name: str) -> Any:
        """Return the plug-in; os-vif calls this once.

        :raises Exception: for any error that prevents the registration of an
            enabled plug-in; nova-compute stops
        """
        if in_nova_compute():
            # Imported here because os-vif may be installed without Nova.
            from nova_rbd_cache import registration

            registration.activate()
        return super().load(plugin_name)

    def describe(self) -> Any:
        """Return the supported types of interfaces: none."""
        return objects.host_info.HostPluginInfo(
            plugin_name='rbd_cache', vif_info=[]
        )

    def plug(self, vif: Any, instance_info: Any) -> None:
        """Never called, because no type of interface is supported."""
        raise NotImplementedError('rbd_cache plugs no interface')

    def unplug(self, vif: Any, instance_info: Any) -> None:
        """Never called, because no type of interface is supported."""
        raise NotImplementedError('rbd_cache plugs no interface')
