# SPDX-License-Identifier: Apache-2.0

"""The class of the API extension, for ``osapi_volume_extension``."""

from typing import Any

from cinder.api import extensions

from cinder_rbd_ext import policies
from cinder_rbd_ext.api import compute_hosts
from cinder_rbd_ext.api import doors
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import options
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from rbd_volume_options import definitions


class RBDVolumeOptions(extensions.ExtensionDescriptor):
    """Layout, image features and cache mode of volumes on Ceph RBD."""

    name = 'RBDVolumeOptions'
    alias = definitions.ALIAS
    updated = '2026-11-21T00:00:00+00:00'

    def __init__(self, ext_mgr: Any) -> None:
        super().__init__(ext_mgr)
        policies.register()
        refusals.show_reasons_only()
        self._reported = pools.ReportedPools()
        self._doors = doors.controllers(
            restrictions.Restrictions(self._reported, known_types.KnownTypes())
        )

    def get_resources(self) -> list[Any]:
        """Return the routes of the extension."""
        return [
            extensions.ResourceExtension(
                definitions.ALIAS,
                options.OptionsController(self._reported),
                custom_routes_fn=self._route,
            ),
            extensions.ResourceExtension(
                definitions.HOSTS_ROUTE.removeprefix('/'),
                compute_hosts.HostsController(),
            ),
        ]

    def _route(self, mapper: Any, resource: Any) -> None:
        """Add routes, and extend POST of backups.

        Cinder has two resources of backups, and extends only the other one.
        """
        options.route_all_names(mapper, resource)
        for route in mapper.matchlist:
            if route.routepath == '/backups':
                route.defaults['controller'].register_extensions(
                    self._doors['backups']
                )
                break

    def get_controller_extensions(self) -> list[Any]:
        """Return the controllers that extend Cinder's own ones."""
        return [
            extensions.ControllerExtension(self, name, controller)
            for name, controller in self._doors.items()
        ]
