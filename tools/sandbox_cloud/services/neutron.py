# SPDX-License-Identifier: Apache-2.0

"""Neutron, only its API: Nova requests the ports of each server.

There are no agents and no networks: servers have no network.
"""

from __future__ import annotations

from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService


class Neutron(OpenStackService):
    """The network service."""

    name: ClassVar[str] = 'neutron'
    ports: ClassVar[tuple[int, ...]] = (9696,)
    health: ClassVar[str | None] = '/'
    requires: ClassVar[tuple[str, ...]] = ('rabbitmq', 'memcached')
    distributions: ClassVar[tuple[str, ...]] = ('neutron',)
    databases: ClassVar[tuple[str, ...]] = ('neutron',)
    wsgi: ClassVar[str] = 'neutron.wsgi.api'
    schema: ClassVar[tuple[str, ...]] = (
        *('neutron-db-manage', 'upgrade', 'heads'),
    )
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('neutron', 'network', 'http://127.0.0.1:9696'),
    )

    @property
    def api_environ(self) -> dict[str, str]:
        """The folder and the name of the configuration file."""
        files = {'OS_NEUTRON_CONFIG_FILES': self.conf.name}
        return {**super().api_environ, **files}

    def render(self) -> None:
        """Write its configuration."""
        (self.data / 'lock').mkdir(parents=True, exist_ok=True)
        super().render()
