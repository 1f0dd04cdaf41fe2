# SPDX-License-Identifier: Apache-2.0

"""Glance: images in Ceph, by our store and the stock one, and in files."""

from __future__ import annotations

import pathlib
from typing import Any
from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService
from sandbox_cloud.program import Program


class Glance(OpenStackService):
    """The image service."""

    name: ClassVar[str] = 'glance'
    ports: ClassVar[tuple[int, ...]] = (9292,)
    health: ClassVar[str | None] = '/versions'
    requires: ClassVar[tuple[str, ...]] = ('ceph', 'memcached')
    distributions: ClassVar[tuple[str, ...]] = (
        'glance',
        'glance_store[cinder]',
    )
    databases: ClassVar[tuple[str, ...]] = ('glance',)
    wsgi: ClassVar[str] = 'glance.wsgi.api'
    schema: ClassVar[tuple[str, ...]] = ('glance-manage', 'db_sync')
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
        super().render()

    @property
    def uwsgi_options(self) -> dict[str, Any]:
        """Bodies of uploads have no length."""
        return {'chunked': True}

    def values(self) -> dict[str, object]:
        """Return the configuration file of Ceph."""
        return {'ceph_conf': self.services['ceph'].etc / 'ceph.conf'}

    def programs(self) -> tuple[Program, ...]:
        """Return the API."""
        return (self.uwsgi(self.api_environ, (self.conf,), loads_suite=True),)

    def initialise(self) -> None:
        """Create its schema; load our metadata definitions."""
        super().initialise()
        self.state.once('glance-metadefs', self._load_metadefs)

    def _load_metadefs(self) -> None:
        """Load the keys for Horizon's metadata editor."""
        share = self.runtime.venv.path / 'share' / 'rbd-volume-options'
        folder = str(share / 'metadefs')
        self.manage('glance-manage', 'db_load_metadefs', folder)
