# SPDX-License-Identifier: Apache-2.0

"""Glance: images in Ceph, by our store and the stock one, and in files."""

from __future__ import annotations

import pathlib
from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program


class Glance(Service):
    """The image service."""

    name: ClassVar[str] = 'glance'
    ports: ClassVar[tuple[int, ...]] = (9292,)
    health: ClassVar[str | None] = '/versions'
    initialise_after: ClassVar[tuple[str, ...]] = ('mariadb',)
    requires: ClassVar[tuple[str, ...]] = ('ceph', 'memcached')
    distributions: ClassVar[tuple[str, ...]] = (
        'glance',
        'glance_store[cinder]',
    )
    databases: ClassVar[tuple[str, ...]] = ('glance',)
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('glance', 'image', 'http://127.0.0.1:9292'),
    )

    @property
    def conf(self) -> pathlib.Path:
        """Its configuration file."""
        return self.etc / 'glance-api.conf'

    def render(self) -> None:
        """Write its configuration."""
        for name in ('file', 'tasks', 'staging', 'lock'):
            (self.data / name).mkdir(parents=True, exist_ok=True)
        ceph_conf = self.services['ceph'].etc / 'ceph.conf'
        self.runtime.render(
            'glance-api.conf', self.conf, data=self.data, ceph_conf=ceph_conf
        )
        self.render_uwsgi('glance.wsgi.api', chunked=True)

    def programs(self) -> tuple[Program, ...]:
        """Return the API."""
        environ = {'OS_GLANCE_CONFIG_DIR': str(self.etc)}
        return (self.uwsgi(environ, (self.conf,), loads_suite=True),)

    def initialise(self) -> None:
        """Create its schema; load our metadata definitions."""
        self.state.once('glance-schema', self._sync)
        self.state.once('glance-metadefs', self._load_metadefs)

    def _sync(self) -> None:
        manage = self.runtime.venv.program('glance-manage')
        conf = ('--config-file', str(self.conf))
        self.runtime.execute('glance-manage', manage, *conf, 'db_sync')

    def _load_metadefs(self) -> None:
        """Load the keys for Horizon's metadata editor."""
        manage = self.runtime.venv.program('glance-manage')
        conf = ('--config-file', str(self.conf))
        share = self.runtime.venv.path / 'share' / 'rbd-volume-options'
        folder = str(share / 'metadefs')
        self.runtime.execute(
            'glance-manage', manage, *conf, 'db_load_metadefs', folder
        )
