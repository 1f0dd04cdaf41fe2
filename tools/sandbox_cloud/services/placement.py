# SPDX-License-Identifier: Apache-2.0

"""Placement: the resources of compute hosts."""

from __future__ import annotations

import pathlib
from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program


class Placement(Service):
    """The placement service."""

    name: ClassVar[str] = 'placement'
    ports: ClassVar[tuple[int, ...]] = (8778,)
    health: ClassVar[str | None] = '/'
    initialise_after: ClassVar[tuple[str, ...]] = ('mariadb',)
    requires: ClassVar[tuple[str, ...]] = ('memcached',)
    distributions: ClassVar[tuple[str, ...]] = ('openstack-placement',)
    databases: ClassVar[tuple[str, ...]] = ('placement',)
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('placement', 'placement', 'http://127.0.0.1:8778'),
    )

    @property
    def conf(self) -> pathlib.Path:
        """Its configuration file."""
        return self.etc / 'placement.conf'

    def render(self) -> None:
        """Write its configuration."""
        self.runtime.render('placement.conf', self.conf)
        self.render_uwsgi('placement.wsgi.api')

    def programs(self) -> tuple[Program, ...]:
        """Return the API."""
        environ = {'OS_PLACEMENT_CONFIG_DIR': str(self.etc)}
        return (self.uwsgi(environ, (self.conf,)),)

    def initialise(self) -> None:
        """Create its schema."""
        self.state.once('placement-schema', self._sync)

    def _sync(self) -> None:
        manage = self.runtime.venv.program('placement-manage')
        conf = ('--config-file', str(self.conf))
        self.runtime.execute('placement-manage', manage, *conf, 'db', 'sync')
