#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Servers of a tenant, and what their guests say.

The guest and how to ask it are described in :mod:`sandbox_cloud.guest`.
"""

from collections.abc import Iterator
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
# Compute hosts: the one that is always there, and one to migrate to.
_FIRST = 'sandbox'
_SECOND = 'sandbox2'
_ADDRESSES = {_FIRST: '127.0.0.1', _SECOND: '127.0.0.2'}


class ServerTestCase(base.CloudTestCase):
    """Servers, removed at the end before the volumes that they use."""

    # Emulated guests on a machine that does much else.
    timeout = 600

    def compute(
        self,
        method: str,
        path: str,
        body: base.Record | None = None,
        cloud: Any = None,
    ) -> base.Record:
        """Send a request to Nova; fail on anything but success."""
        return self.request(method, path, body, cloud, 'compute')

    # Servers

    def boot(self, volume: str = '', wait: bool = True, **values: Any) -> str:
        """Make a server; return its id when its guest is up.

        :param volume: what to boot from in place of the Glance image
        :param wait: False to return when it is asked for
        :param values: of Nova's request, further ones or others
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
        """Return a flavor's id: ``tiny`` or, a little larger, ``small``."""
        found = self.tenant.compute.find_flavor(name, ignore_missing=False)
        return str(found.id)

    def image(self) -> str:
        """Return the id of the Glance image that servers boot from."""
        found = self.tenant.image.find_image('tiny', ignore_missing=False)
        return str(found.id)

    def server(self, ident: str) -> base.Record:
        """Return a server as an operator sees it."""
        answer = self.compute('GET', f'/servers/{ident}', cloud=self.operator)
        record: base.Record = answer['server']
        return record

    def wait_for_server(
        self, ident: str, status: str = 'ACTIVE'
    ) -> base.Record:
        """Wait until a server has a status and nothing is done to it."""

        def done() -> base.Record | None:
            record = self.server(ident)
            if record['status'] == 'ERROR' != status:
                raise AssertionError(f'server {ident}: {record}')
            busy = record['OS-EXT-STS:task_state']
            return record if record['status'] == status and not busy else None

        record: base.Record = self.until(done, 240)
        return record

    def server_action(self, ident: str, **action: Any) -> base.Record:
        """Do something to a server; as an operator may, too."""
        path = f'/servers/{ident}/action'
        return self.compute('POST', path, action, self.operator)

    def hard_reboot(self, server: str) -> None:
        """Reboot, so that Nova tells libvirt all anew."""
        self.server_action(server, reboot={'type': 'HARD'})
        self.wait_for_server(server)

    def need_two_hosts(self) -> None:
        """Have the sandbox bring a second compute host, if it hasn't."""
        answer = self.compute('GET', '/os-hypervisors', cloud=self.operator)
        names = {h['hypervisor_hostname'] for h in answer['hypervisors']}
        if _SECOND not in names:
            sandbox = str(tree.ROOT / 'tools' / 'sandbox')
            subprocess.run(
                [sandbox, 'up', '--computes', '2'],
                stdin=subprocess.DEVNULL,
                check=True,
            )

    @contextlib.contextmanager
    def configured(self, text: str) -> Iterator[None]:
        """Have lines in nova.conf of all compute hosts for a while.

        They are up within it, and after it.
        """
        with nova_compute.configured(text, self._reports):
            yield

    @contextlib.contextmanager
    def down(self, host: str) -> Iterator[None]:
        """Have a compute host down for a while, with its guests."""
        service = self._service(host)
        try:
            with nova_compute.ended(host, self._reports):
                for server in self._virsh(host, 'list', '--uuid').split():
                    self._virsh(host, 'destroy', server)
                self.assertTrue(self._forced_down(service, True))
                yield
        finally:
            # Not before the host has cleared away what was evacuated.
            self.until(lambda: self._forced_down(service, False))

    def _service(self, host: str) -> str:
        path = f'/os-services?binary=nova-compute&host={host}'
        answer = self.compute('GET', path, cloud=self.operator)
        return str(answer['services'][0]['id'])

    def _forced_down(self, service: str, down: bool) -> bool:
        """Say that a host is down, or isn't; return whether Nova takes it."""
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
        """Delete a server and wait until it is gone. Twice is fine."""
        api = self.operator.compute
        api.delete(f'/servers/{ident}')
        self.until(
            lambda: api.get(f'/servers/{ident}').status_code == 404, 240
        )

    # Volumes on servers

    def attach(self, server: str, volume: str) -> None:
        """Attach a volume; return when it is in use."""
        body = {'volumeAttachment': {'volumeId': volume}}
        path = f'/servers/{server}/os-volume_attachments'
        self.compute('POST', path, body)
        self.remove_before_volumes(server)
        self.wait_for(volume, 'in-use')

    def remove_before_volumes(self, server: str) -> None:
        """At the end, delete a server before the volumes that there are now.

        Nova then detaches all of them at once.
        """
        self.addCleanup(self.remove_server, server)

    def detach(self, server: str, volume: str) -> None:
        """Detach a volume; return when it is available. Twice is fine."""
        path = f'/servers/{server}/os-volume_attachments/{volume}'

        def answer(method: str) -> Any:
            return self.respond(method, path, service='compute')

        response = answer('DELETE')
        if response.status_code != 404:
            self.assertEqual(202, response.status_code, response.text)
            self.wait_for(volume)
            # Nova forgets the attachment after it has told Cinder.
            self.until(lambda: answer('GET').status_code == 404)

    # What libvirt has

    def domain(self, server: str) -> ElementTree.Element:
        """Return the XML of a server's guest."""
        host = self.server(server)['OS-EXT-SRV-ATTR:host']
        xml = self._virsh(host, 'dumpxml', server)
        return ElementTree.fromstring(xml)  # noqa: S314 - our own

    def _virsh(self, host: str, *words: str) -> str:
        """Return what virsh says on a compute host."""
        first, second = _ADDRESSES[_FIRST], _ADDRESSES[host]
        uri = os.environ['LIBVIRT_DEFAULT_URI'].replace(first, second)
        done = subprocess.run(
            ['virsh', '-c', uri, *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def disk_driver(self, server: str, volume: str) -> dict[str, str]:
        """Return what the XML has of the ``driver`` of a volume's disk."""
        driver = self.disk_xml(server, volume).find('driver')
        return {} if driver is None else dict(driver.attrib)

    def disk_xml(self, server: str, volume: str) -> ElementTree.Element:
        """Return the ``disk`` element of a volume, by its serial number."""
        (disk,) = (
            each
            for each in self.domain(server).iter('disk')
            if each.findtext('serial') == volume
        )
        return disk

    def cache_mode(self, server: str, volume: str) -> str | None:
        """Return the ``cache`` that a volume's disk has in the XML."""
        return self.disk_driver(server, volume).get('cache')

    # What the guest says

    def console(self, server: str) -> str:
        """Return all that the guest wrote to its serial console."""
        body: base.Record = {'os-getConsoleOutput': {}}
        answer = self.compute('POST', f'/servers/{server}/action', body)
        return str(answer['output'])

    def wait_for_guest(self, server: str) -> None:
        """Wait until the guest runs."""
        self.until(lambda: guest.UP in self.console(server))

    def seen_by_guest(self, server: str, volume: str) -> dict[str, str]:
        """Wait until the guest sees a volume's disk; return what it sees."""
        found: dict[str, str] = self.until(
            lambda: guest.seen(self.console(server), volume)
        )
        return found

    def ask_guest(self, server: str, volume: str, request: str) -> str:
        """Ask the guest for something by a volume; return its answer.

        :param request: such as ``write 4 word`` or ``read 4``
        """
        number = next(_NUMBERS)
        name = self.show(volume)['os-vol-mig-status-attr:name_id'] or volume
        guest.ask(f'volumes/volume-{name}', f'{number} {request}')
        said: str = self.until(
            lambda: guest.answer(self.console(server), number)
        )
        return said

    def check_guest_writes(self, server: str, volume: str) -> str:
        """Check that what the guest writes it can read; return the word."""
        word = uuid.uuid4().hex
        said = self.ask_guest(server, volume, f'write 4 {word}')
        self.assertEqual(f'wrote 4 MiB md5={guest.checksum(word, 4)}', said)
        return word
