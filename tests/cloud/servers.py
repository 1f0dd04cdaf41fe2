# SPDX-License-Identifier: Apache-2.0

"""Servers of a tenant and their guests.

See :mod:`sandbox_cloud.guest` for the guest and its requests.
"""

from collections.abc import Iterator
from concurrent import futures
import contextlib
import itertools
import os
import subprocess
from typing import Any
import uuid
from xml.etree import ElementTree

from sandbox_cloud import guest
from tests import tree
from tests.cloud import base
from tests.cloud import nova_compute

_NUMBERS = itertools.count(1)
#: Compute hosts: the first always exists, the second is for migrations.
FIRST = 'sandbox'
SECOND = 'sandbox2'
_ADDRESSES = {FIRST: '127.0.0.1', SECOND: '127.0.0.2'}


class ServerTestCase(base.CloudTestCase):
    """Base class for tests with servers.

    Servers are deleted before the volumes that they use.
    """

    # Guests are emulated, on a busy machine.
    timeout = 600
    #: Seconds until a server has a status.
    patience = 240

    def compute(
        self,
        method: str,
        path: str,
        body: base.Record | None = None,
        cloud: Any = None,
    ) -> base.Record:
        """Send a request to Nova and check that it succeeds."""
        return self.request(method, path, body, cloud, 'compute')

    # Servers

    def boot(self, volume: str = '', wait: bool = True, **values: Any) -> str:
        """Create a server and return its ID when the guest is up.

        :param volume: volume to boot from, instead of the Glance image
        :param wait: whether to wait for the guest
        :param values: additional or other values in the request to Nova
        """
        body: base.Record = {
            'name': f'test-{uuid.uuid4().hex[:8]}',
            'flavorRef': self.flavor('tiny'),
            'networks': 'none',
        }
        if volume:
            mapping = {'uuid': volume, 'source_type': 'volume'}
            body['block_device_mapping_v2'] = [
                {**mapping, 'destination_type': 'volume', 'boot_index': 0}
            ]
        elif 'block_device_mapping_v2' not in values:
            body['imageRef'] = self.image()
        answer = self.compute('POST', '/servers', {'server': body | values})
        ident: str = answer['server']['id']
        self.addCleanup(self.remove_server, ident)
        if wait:
            self.wait_for_server(ident)
            self.wait_for_guest(ident)
        return ident

    def flavor(self, name: str) -> str:
        """Return the ID of a flavor: ``tiny`` or ``small``."""
        flavor = self.tenant.compute.find_flavor(name, ignore_missing=False)
        return str(flavor.id)

    def image(self) -> str:
        """Return the ID of the Glance image that servers boot from."""
        image = self.tenant.image.find_image('tiny', ignore_missing=False)
        return str(image.id)

    def server(self, ident: str) -> base.Record:
        """Show a server as the operator."""
        answer = self.compute('GET', f'/servers/{ident}', cloud=self.operator)
        record: base.Record = answer['server']
        return record

    def wait_for_server(
        self, ident: str, status: str = 'ACTIVE'
    ) -> base.Record:
        """Wait until a server has a status and no task state."""

        def done() -> base.Record | None:
            record = self.server(ident)
            if record['status'] == 'ERROR' != status:
                raise AssertionError(f'server {ident}: {record}')
            busy = record['OS-EXT-STS:task_state']
            return record if record['status'] == status and not busy else None

        record: base.Record = self.until(done, self.patience)
        return record

    def server_action(self, ident: str, **action: Any) -> base.Record:
        """Run an action on a server as the operator."""
        path = f'/servers/{ident}/action'
        return self.compute('POST', path, action, self.operator)

    def hard_reboot(self, server: str) -> None:
        """Hard reboot a server, so that Nova creates its domain again."""
        self.server_action(server, reboot={'type': 'HARD'})
        self.wait_for_server(server)

    def need_two_hosts(self) -> None:
        """Start a second compute host in the sandbox, if there is none."""
        answer = self.compute('GET', '/os-hypervisors', cloud=self.operator)
        names = {h['hypervisor_hostname'] for h in answer['hypervisors']}
        if SECOND not in names:
            sandbox = str(tree.ROOT / 'tools' / 'sandbox')
            subprocess.run(
                [sandbox, 'up', '--computes', '2'],
                stdin=subprocess.DEVNULL,
                check=True,
            )

    @contextlib.contextmanager
    def configured(self, text: str, *hosts: str) -> Iterator[None]:
        """Add lines to nova.conf on some compute hosts, by default on all.

        The compute services are up inside and after the context.
        """
        with nova_compute.configured(text, self._reports, *hosts):
            yield

    @contextlib.contextmanager
    def down(self, host: str) -> Iterator[None]:
        """Take a compute host and its guests down."""
        service = self.service(host)
        try:
            with nova_compute.ended(host, self._reports):
                for server in self._virsh(host, 'list', '--uuid').split():
                    self._virsh(host, 'destroy', server)
                self.assertTrue(self._forced_down(service, True))
                yield
        finally:
            # Nova accepts this after the host has removed evacuated servers.
            self.until(lambda: self._forced_down(service, False))

    def wait_for_report(self, host: str) -> None:
        """Wait until nova-compute of a host runs again."""
        nova_compute.wait_for_report(host, self._reports)

    def service(self, host: str) -> str:
        """Return the ID of the compute service of a host."""
        path = f'/os-services?binary=nova-compute&host={host}'
        answer = self.compute('GET', path, cloud=self.operator)
        return str(answer['services'][0]['id'])

    def _forced_down(self, service: str, down: bool) -> bool:
        """Set forced_down of a service; return whether Nova accepts it."""
        path, body = f'/os-services/{service}', {'forced_down': down}
        answer = self.respond('PUT', path, body, self.operator, 'compute')
        return bool(answer.status_code == 200)

    def _reports(self) -> nova_compute.Reports:
        path = '/os-services?binary=nova-compute'
        answer = self.compute('GET', path, cloud=self.operator)
        return {
            each['host']: each['updated_at'] or ''
            for each in answer['services']
        }

    def remove_server(self, ident: str) -> None:
        """Delete a server, if it exists, and wait until it is gone."""
        api = self.operator.compute
        api.delete(f'/servers/{ident}')
        self.until(
            lambda: api.get(f'/servers/{ident}').status_code == 404, 240
        )

    # Volumes on servers

    def attach(self, server: str, volume: str) -> None:
        """Attach a volume and wait until it is in use."""
        body = {'volumeAttachment': {'volumeId': volume}}
        path = f'/servers/{server}/os-volume_attachments'
        self.compute('POST', path, body)
        self.remove_before_volumes(server)
        self.wait_for(volume, 'in-use')

    def remove_before_volumes(self, server: str) -> None:
        """Delete a server at clean-up, before the existing volumes.

        Nova then detaches all of the volumes.
        """
        self.addCleanup(self.remove_server, server)

    def detach(self, server: str, volume: str) -> None:
        """Detach a volume, if attached, and wait until it is available."""
        path = f'/servers/{server}/os-volume_attachments/{volume}'

        def answer(method: str) -> Any:
            return self.respond(method, path, service='compute')

        response = answer('DELETE')
        if response.status_code != 404:
            self.assertEqual(202, response.status_code, response.text)
            self.wait_for(volume)
            # Nova deletes its record of the attachment after Cinder's.
            self.until(lambda: answer('GET').status_code == 404)

    # libvirt

    def domain(self, server: str) -> ElementTree.Element:
        """Return the libvirt XML of a server."""
        host = self.server(server)['OS-EXT-SRV-ATTR:host']
        xml = self._virsh(host, 'dumpxml', server)
        return ElementTree.fromstring(xml)  # noqa: S314 - our own

    def _virsh(self, host: str, *words: str) -> str:
        """Run virsh on a compute host and return its output."""
        first, second = _ADDRESSES[FIRST], _ADDRESSES[host]
        uri = os.environ['LIBVIRT_DEFAULT_URI'].replace(first, second)
        done = subprocess.run(
            ['virsh', '-c', uri, *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def cache_modes(self, server: str) -> dict[str, str | None]:
        """Return the ``cache`` attributes of the disks, by volume."""
        return {
            volume: driver.get('cache')
            for disk in self.domain(server).iter('disk')
            if (volume := disk.findtext('serial'))
            and (driver := disk.find('driver')) is not None
        }

    def disk_driver(self, server: str, volume: str) -> dict[str, str]:
        """Return the attributes of the ``driver`` of a volume's disk."""
        driver = self.disk_xml(server, volume).find('driver')
        return {} if driver is None else dict(driver.attrib)

    def disk_xml(self, server: str, volume: str) -> ElementTree.Element:
        """Return the ``disk`` element with the volume's serial number."""
        (disk,) = (
            each
            for each in self.domain(server).iter('disk')
            if each.findtext('serial') == volume
        )
        return disk

    def cache_mode(self, server: str, volume: str) -> str | None:
        """Return the ``cache`` attribute of a volume's disk."""
        return self.disk_driver(server, volume).get('cache')

    # The guest

    def console(self, server: str) -> str:
        """Return the output of the guest on its serial console."""
        body: base.Record = {'os-getConsoleOutput': {}}
        answer = self.compute('POST', f'/servers/{server}/action', body)
        return str(answer['output'])

    def wait_for_guest(self, server: str) -> None:
        """Wait until the guest runs."""
        self.until(lambda: guest.UP in self.console(server))

    def seen_by_guest(self, server: str, volume: str) -> dict[str, str]:
        """Wait until the guest sees a volume; return what it reports."""
        disk: dict[str, str] = self.until(
            lambda: guest.seen(self.console(server), volume)
        )
        return disk

    def ask_guest(self, server: str, volume: str, request: str) -> str:
        """Send a request to the guest in a volume; return the answer.

        :param request: such as ``write 4 word`` or ``read 4``
        """
        return self.ask_about(server, {volume: request})[volume]

    def ask_about(
        self, server: str, requests: dict[str, str]
    ) -> dict[str, str]:
        """Send a request in each of several volumes at once.

        :returns: the guest's answer for each volume
        """
        numbers = {volume: next(_NUMBERS) for volume in requests}

        def send(volume: str) -> None:
            shown = self.show(volume)
            is_other = shown['os-vol-host-attr:host'].endswith('rbd2')
            pool = 'volumes2' if is_other else 'volumes'
            name = shown['os-vol-mig-status-attr:name_id'] or volume
            line = f'{numbers[volume]} {requests[volume]}'
            guest.ask(f'{pool}/volume-{name}', line)

        def answers() -> dict[str, str] | None:
            console = self.console(server)
            said = {
                volume: answer
                for volume, number in numbers.items()
                if (answer := guest.answer(console, number))
            }
            return said if len(said) == len(numbers) else None

        with futures.ThreadPoolExecutor() as threads:
            list(threads.map(send, requests))
        said: dict[str, str] = self.until(answers)
        return said

    def check_guest_writes(self, server: str, volume: str) -> str:
        """Check that the guest can read what it writes; return the word."""
        word = uuid.uuid4().hex
        said = self.ask_guest(server, volume, f'write 4 {word}')
        self.assertEqual(f'wrote 4 MiB md5={guest.checksum(word, 4)}', said)
        return word
