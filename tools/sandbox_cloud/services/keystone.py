# SPDX-License-Identifier: Apache-2.0

"""Keystone: users, projects and the catalog of all services."""

from __future__ import annotations

import base64
import pathlib
import secrets
from typing import Any
from typing import ClassVar

from sandbox_cloud.api import KEYSTONE
from sandbox_cloud.api import REGION
from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService
from sandbox_cloud.state import write_private


class Keystone(OpenStackService):
    """The identity service."""

    name: ClassVar[str] = 'keystone'
    ports: ClassVar[tuple[int, ...]] = (5000,)
    health: ClassVar[str | None] = '/v3'
    requires: ClassVar[tuple[str, ...]] = ('memcached',)
    distributions: ClassVar[tuple[str, ...]] = ('keystone',)
    databases: ClassVar[tuple[str, ...]] = ('keystone',)
    wsgi: ClassVar[str] = 'keystone.wsgi.api'
    schema: ClassVar[tuple[str, ...]] = ('keystone-manage', 'db_sync')

    @property
    def uwsgi_options(self) -> dict[str, Any]:
        """All services ask it."""
        return {'workers': 2}

    @property
    def api_environ(self) -> dict[str, str]:
        """The configuration file."""
        return {'OS_KEYSTONE_CONFIG_FILES': str(self.conf)}

    def render(self) -> None:
        """Write the configuration, and clouds.yaml for clients."""
        super().render()
        self.runtime.render('clouds.yaml', self.state.run / 'clouds.yaml')

    def initialise(self) -> None:
        """Create keys, schema and the administrator."""
        for name in ('fernet-keys', 'credential-keys'):
            self._make_keys(self.data / name)
        super().initialise()
        self.state.once('keystone-bootstrap', self._bootstrap)

    def _make_keys(self, folder: pathlib.Path) -> None:
        # What `keystone-manage fernet_setup` and `credential_setup` do in
        # three seconds each: a staged key, 0, and the first primary key, 1.
        for number in ('0', '1'):
            if not (folder / number).exists():
                key = base64.urlsafe_b64encode(secrets.token_bytes(32))
                write_private(folder / number, key.decode())
        folder.chmod(0o700)

    def _bootstrap(self) -> None:
        # Passed in the environment, because all users can read a command line.
        self.manage(
            *('keystone-manage', 'bootstrap'),
            OS_BOOTSTRAP_PASSWORD=self.state.secret('admin'),
            OS_BOOTSTRAP_REGION_ID=REGION,
            OS_BOOTSTRAP_PUBLIC_URL=KEYSTONE,
            OS_BOOTSTRAP_INTERNAL_URL=KEYSTONE,
            OS_BOOTSTRAP_ADMIN_URL=KEYSTONE,
        )

    def introduce(self) -> None:
        """Create service users, the catalog and a tenant."""
        names = ','.join(entry.type for entry in self._entries())
        self.state.once(f'keystone-catalog-{names}', self._populate)

    def _entries(self) -> list[CatalogEntry]:
        return [
            entry for each in self.services.values() for entry in each.catalog
        ]

    def _populate(self) -> None:
        api = self.runtime.api
        roles = {
            role['name']: role['id']
            for role in api.call('GET', f'{KEYSTONE}/roles')['roles']
        }
        roles['service'] = api.ensure('role', {'name': 'service'})
        project = api.ensure('project', {'name': 'service'})
        for entry in self._entries():
            password = self.state.secret('service')
            user = api.ensure(
                'user', {'name': entry.name, 'password': password}
            )
            for role in ('admin', 'service'):
                self._assign(project, user, roles[role])
            self._endpoint(entry.name, entry.type, entry.url)
        tenant = api.ensure('project', {'name': 'demo'})
        password = self.state.secret('demo')
        user = api.ensure('user', {'name': 'demo', 'password': password})
        self._assign(tenant, user, roles['member'])

    def _assign(self, project: str, user: str, role: str) -> None:
        url = f'{KEYSTONE}/projects/{project}/users/{user}/roles/{role}'
        self.runtime.api.call('PUT', url)

    def _endpoint(self, name: str, kind: str, url: str) -> None:
        api = self.runtime.api
        service = api.ensure(
            'service', {'name': name, 'type': kind}, type=kind
        )
        for interface in ('public', 'internal', 'admin'):
            body = {
                'service_id': service,
                'interface': interface,
                'url': url,
                'region_id': REGION,
            }
            api.ensure(
                'endpoint', body, service_id=service, interface=interface
            )
