# SPDX-License-Identifier: Apache-2.0

"""Neutron, only its API: Nova requests the ports of each server.

There are no agents and no networks: servers have no network.
"""

from __future__ import annotations

import pathlib
from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program


class Neutron(Service):
    """The network service."""

    name: ClassVar[str] = 'neutron'
    ports: ClassVar[tuple[int, ...]] = (9696,)
    health: ClassVar[str | None] = '/'
    initialise_after: ClassVar[tuple[str, ...]] = ('mariadb',)
    requires: ClassVar[tuple[str, ...]] = ('rabbitmq', 'memcached')
    distributions: ClassVar[tuple[str, ...]] = ('neutron',)
    databases: ClassVar[tuple[str, ...]] = ('neutron',)
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('neutron', 'network', 'http://127.0.0.1:9696'),
    )

    @property
    def conf(self) -> pathlib.Path:
        """Its configuration file."""
        return self.etc / 'neutron.conf'

    def render(self) -> None:
        """Write its configuration."""
        (self.data / 'lock').mkdir(parents=True, exist_ok=True)
        self.runtime.render('neutron.conf', self.conf, data=self.data)
        self.render_uwsgi('neutron.wsgi.api')

    def programs(self) -> tuple[Program, ...]:
        """Return the API."""
        environ = {
            'OS_NEUTRON_CONFIG_DIR': str(self.etc),
            'OS_NEUTRON_CONFIG_FILES': self.conf.name,
        }
        return (self.uwsgi(environ, (self.conf,)),)

    def initialise(self) -> None:
        """Create its schema."""
        self.state.once('neutron-schema', self._sync)

    def _sync(self) -> None:
        manage = self.runtime.venv.program('neutron-db-manage')
        conf = ('--config-file', str(self.conf))
        self.runtime.execute(
            'neutron-manage', manage, *conf, 'upgrade', 'heads'
        )
