# SPDX-License-Identifier: Apache-2.0

"""Cinder: our driver on two Ceph pools, and a back end without Ceph."""

from __future__ import annotations

from typing import Any
from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService
from sandbox_cloud.program import Program

_URL = 'http://127.0.0.1:8776/v3/%(project_id)s'
_DRIVER = 'cinder_rbd_ext.driver.RBDExtDriver'
_BACKENDS = {
    'sandbox@rbd',
    'sandbox@rbd2',
    'sandbox@stock',
    'sandbox@fake',
    'cinder-backup',
}
# Extra specs of the volume types, by name.
_TYPES = {
    'rbd': {'volume_backend_name': 'rbd'},
    'rbd2': {'volume_backend_name': 'rbd2'},
    'fake': {'volume_backend_name': 'fake'},
    'rbd-multiattach': {
        'volume_backend_name': 'rbd',
        'multiattach': '<is> True',
    },
    'rbd-encrypted': {'volume_backend_name': 'rbd'},
}
_LUKS = {
    'provider': 'luks',
    'cipher': 'aes-xts-plain64',
    'key_size': 256,
    'control_location': 'front-end',
}


class Cinder(OpenStackService):
    """The volume service: API, scheduler, volumes and backups."""

    name: ClassVar[str] = 'cinder'
    ports: ClassVar[tuple[int, ...]] = (8776,)
    health: ClassVar[str | None] = '/'
    requires: ClassVar[tuple[str, ...]] = ('ceph', 'rabbitmq', 'memcached')
    introduce_after: ClassVar[tuple[str, ...]] = ('keystone',)
    # fixtures: cinder.tests imports it and contains the fake driver.
    distributions: ClassVar[tuple[str, ...]] = (
        'cinder',
        'os-brick',
        'fixtures',
    )
    databases: ClassVar[tuple[str, ...]] = ('cinder',)
    wsgi: ClassVar[str] = 'cinder.wsgi.api'
    schema: ClassVar[tuple[str, ...]] = ('cinder-manage', 'db', 'sync')
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('cinder', 'volumev3', _URL),
        CatalogEntry('cinder', 'block-storage', _URL),
    )

    def render(self) -> None:
        """Write its configuration."""
        (self.data / 'lock').mkdir(parents=True, exist_ok=True)
        super().render()

    def values(self) -> dict[str, object]:
        """Return the driver and what it needs."""
        helper = self.runtime.venv.program('privsep-helper')
        return {
            'driver': _DRIVER,
            'ceph_conf': self.services['ceph'].etc / 'ceph.conf',
            'secret_uuid': self.state.uuid('libvirt'),
            'helper': f'{helper} --config-file {self.conf}',
        }

    @property
    def uwsgi_options(self) -> dict[str, Any]:
        """The configuration and log files of the API."""
        log = self.state.log / 'cinder-api.log'
        return {'pyargv': f'--config-file={self.conf} --log-file={log}'}

    def programs(self) -> tuple[Program, ...]:
        """Return API, scheduler, volume and backup service."""
        api = self.uwsgi({}, (self.conf,), loads_suite=True)
        daemons = []
        for name in ('scheduler', 'volume', 'backup'):
            program = self.runtime.venv.program(f'cinder-{name}')
            command: tuple[str, ...] = (
                *(program, '--config-file', str(self.conf)),
            )
            if name != 'scheduler':
                shim = str(self.state.bin / 'with-etc-ceph')
                command = (shim, *command)
            daemons.append(
                Program(
                    f'cinder-{name}',
                    command,
                    inputs=(self.conf, self.runtime.venv.stamp),
                    loads_suite=True,
                )
            )
        return (*daemons, api)

    def introduce(self) -> None:
        """Create the volume types; wait until each back end accepts work."""
        self.state.once('cinder-types', self._make_types)
        # A service that listens, or whose status is up, may still be
        # connecting to its back end.
        self._wait(
            f'know {", ".join(sorted(_BACKENDS))}',
            lambda: self._known() >= _BACKENDS,
        )

    def _make_types(self) -> None:
        api = self.runtime.api
        types: list[dict[str, Any]] = api.cinder(
            'GET', '/types?is_public=None'
        )['volume_types']
        names = {item['name'] for item in types}
        for name, specs in _TYPES.items():
            if name in names:
                continue
            body = {'volume_type': {'name': name, 'extra_specs': specs}}
            made = api.cinder('POST', '/types', body)['volume_type']
            if name == 'rbd-encrypted':
                path = f'/types/{made["id"]}/encryption'
                api.cinder('POST', path, {'encryption': _LUKS})

    def _known(self) -> set[str]:
        """Return the back ends of the scheduler, and the services."""
        answer = self.runtime.api.cinder('GET', '/scheduler-stats/get_pools')
        # Named host@backend#pool.
        hosts = {pool['name'].partition('#')[0] for pool in answer['pools']}
        answer = self.runtime.api.cinder('GET', '/os-services')
        return hosts | {
            service['binary']
            for service in answer['services']
            if service['state'] == 'up'
        }
