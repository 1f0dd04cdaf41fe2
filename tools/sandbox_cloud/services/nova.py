# SPDX-License-Identifier: Apache-2.0

"""Nova: API, conductor, scheduler, and compute hosts on libvirt."""

from __future__ import annotations

import functools
import pathlib
import shutil
import time
from typing import cast
from typing import ClassVar

from sandbox_cloud import compute_hosts
from sandbox_cloud.api import GLANCE
from sandbox_cloud.api import NOVA
from sandbox_cloud.api import PLACEMENT
from sandbox_cloud.compute_hosts import ComputeHost
from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService
from sandbox_cloud.program import Program
from sandbox_cloud.services.libvirt import Libvirt

# Memory in MiB and disk in GiB, by name.
_FLAVORS = {'tiny': (192, 1), 'small': (256, 2)}
_IMAGE = 'tiny'
# Before this release, a new host queries libvirt for its guests before it
# listens to libvirt's events, and then gets no events until it is restarted:
# each detachment takes 20 s, after which Nova polls.
_EVENTS_AT_ONCE = '2026.1'


class Nova(OpenStackService):
    """The compute service."""

    name: ClassVar[str] = 'nova'
    ports: ClassVar[tuple[int, ...]] = (8774,)
    health: ClassVar[str | None] = '/'
    requires: ClassVar[tuple[str, ...]] = (
        *('rabbitmq', 'memcached', 'libvirt', 'placement', 'keystone'),
    )
    introduce_after: ClassVar[tuple[str, ...]] = ('keystone', 'glance')
    distributions: ClassVar[tuple[str, ...]] = ('nova',)
    databases: ClassVar[tuple[str, ...]] = ('nova', 'nova_api', 'nova_cell0')
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('nova', 'compute', NOVA),
    )

    def compute_conf(self, host: ComputeHost) -> pathlib.Path:
        """Return a compute host's configuration file, without a database."""
        return self.etc / f'nova-compute{host.suffix}.conf'

    def render(self) -> None:
        """Write the configuration of all programs."""
        self.etc.mkdir(exist_ok=True)
        # Nova uses its first configuration file in this folder as the pipeline
        # of its API.
        paste = self.etc / 'api-paste.ini'
        shutil.copy(self.runtime.venv.path / 'etc/nova/api-paste.ini', paste)
        hosts = self._libvirt.hosts
        self._render(self.conf, hosts[0], compute=False, paste=paste)
        (self.data / 'instances').mkdir(parents=True, exist_ok=True)
        for host in hosts:
            (host.nova / 'lock').mkdir(parents=True, exist_ok=True)
            self._render(self.compute_conf(host), host, compute=True)
        log = self.state.log / 'nova-api.log'
        self.render_uwsgi(
            'nova.wsgi.osapi_compute', pyargv=f'--log-file={log}'
        )

    def _render(
        self,
        conf: pathlib.Path,
        host: ComputeHost,
        compute: bool,
        paste: pathlib.Path | None = None,
    ) -> None:
        helper = self.runtime.venv.program('privsep-helper')
        self.runtime.render(
            'nova.conf',
            conf,
            compute=compute,
            host=host,
            instances=self.data / 'instances',
            any_uri=compute_hosts.uri(self.state.run, '%s'),
            paste=paste,
            ceph_conf=self.services['ceph'].etc / 'ceph.conf',
            secret_uuid=self._libvirt.secret_uuid,
            helper=f'{helper} --config-file {conf}',
        )

    @property
    def _libvirt(self) -> Libvirt:
        return cast(Libvirt, self.services['libvirt'])

    def programs(self) -> tuple[Program, ...]:
        """Return API, conductor, scheduler and compute hosts."""
        daemons = [
            Program(
                f'nova-{name}',
                (
                    *(self.runtime.venv.program(f'nova-{name}'),),
                    *('--config-file', str(self.conf)),
                ),
                inputs=(self.conf, self.runtime.venv.stamp),
            )
            for name in ('conductor', 'scheduler')
        ]
        computes = [self._compute(host) for host in self._libvirt.hosts]
        api = self.uwsgi(self.api_environ, (self.conf,))
        return (*daemons, *computes, api)

    def _compute(self, host: ComputeHost) -> Program:
        conf = self.compute_conf(host)
        command = (
            str(self.state.bin / 'with-etc-ceph'),
            self.runtime.venv.program('nova-compute'),
            *('--config-file', str(conf)),
        )
        return Program(
            f'nova-compute{host.suffix}',
            command,
            inputs=(conf, self.runtime.venv.stamp),
            loads_suite=True,
        )

    def _sync(self) -> None:
        """Create its schemas and cells."""
        script = pathlib.Path(__file__).parents[1] / 'nova_schema.py'
        python = self.runtime.venv.program('python')
        self.runtime.execute(
            'nova-manage', python, str(script), str(self.conf)
        )

    def introduce(self) -> None:
        """Create flavors, upload the guest; wait for the compute hosts."""
        self.state.once('nova-flavors', self._make_flavors)
        self.state.once('nova-image', self._upload)
        wanted = {host.name for host in self._libvirt.hosts}
        self._wait('know its compute hosts', lambda: wanted <= self._known())
        # Nova counts the last report before a restart, too.
        started = {host: self._started(host) for host in self._libvirt.hosts}
        self._wait(
            'hear from its compute hosts',
            lambda: all(self._reported(x) > at for x, at in started.items()),
        )
        if self.runtime.release < _EVENTS_AT_ONCE:
            for host in self._libvirt.hosts:
                self.state.once(
                    f'{self._compute(host).name}-events',
                    functools.partial(self._restart, host),
                )

    def _restart(self, host: ComputeHost) -> None:
        """Restart a compute host; return when it accepts servers.

        At startup, nova-compute treats servers that it was building as stuck.
        """
        name, before = self._compute(host).name, self._reported(host)
        self.runtime.supervisor.stop(name)
        self.runtime.supervisor.start(name)
        self._wait(
            f'hear from {host.name}', lambda: self._reported(host) > before
        )

    def _started(self, host: ComputeHost) -> str:
        """Return when nova-compute of a host was started, in UTC."""
        processes = self.runtime.supervisor.processes()
        seconds = processes[self._compute(host).name]['start']
        return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))

    def _reported(self, host: ComputeHost) -> str:
        """Return the time of the last report of a compute host in Nova."""
        path = f'/os-services?binary=nova-compute&host={host.name}'
        (service,) = self.runtime.api.call('GET', NOVA + path)['services']
        return service['updated_at'] or ''

    def _make_flavors(self) -> None:
        api = self.runtime.api
        answer = api.call('GET', f'{NOVA}/flavors')
        names = {flavor['name'] for flavor in answer['flavors']}
        for name, (memory, disk) in _FLAVORS.items():
            if name not in names:
                flavor = {'name': name, 'ram': memory, 'disk': disk}
                body = {'flavor': {**flavor, 'vcpus': 1}}
                api.call('POST', f'{NOVA}/flavors', body)

    def _upload(self) -> None:
        """Upload the guest as a public Glance image."""
        api = self.runtime.api
        answer = api.call('GET', f'{GLANCE}/images?name={_IMAGE}')
        for image in answer['images']:
            # Remains of an interrupted attempt.
            api.call('DELETE', f'{GLANCE}/images/{image["id"]}')
        body = {
            'name': _IMAGE,
            'visibility': 'public',
            'disk_format': 'raw',
            'container_format': 'bare',
        }
        ident = api.call('POST', f'{GLANCE}/images', body)['id']
        api.upload(f'{GLANCE}/images/{ident}/file', self._libvirt.guest.make())

    def _known(self) -> set[str]:
        """Return the hosts that the scheduler can select."""
        # Only hosts that are mapped to a cell are listed.
        answer = self.runtime.api.call('GET', f'{NOVA}/os-hypervisors')
        up: set[str] = {
            host['hypervisor_hostname']
            for host in answer['hypervisors']
            if host['state'] == 'up'
        }
        # Placement knows the resources of a host slightly later than Nova.
        answer = self.runtime.api.call(
            'GET', f'{PLACEMENT}/resource_providers?resources=VCPU:1'
        )
        return up & {each['name'] for each in answer['resource_providers']}
