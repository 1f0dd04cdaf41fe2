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

"""Tests on a real cloud, through its APIs, as a tenant and an operator."""

from collections.abc import Callable
import functools
import json
import os
import pathlib
import subprocess
import time
from typing import Any
import uuid

import openstack

from tests.unit import base

#: The newest microversion of Cinder 2025.1, the oldest release we support.
MICROVERSION = '3.71'
_MICROVERSIONS = {'block_storage': MICROVERSION, 'compute': '2.96'}

#: What every test asks for unless it says otherwise, and what is made of it.
ASKED = {
    'rbd:object_size': '1M',
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
    'rbd:object_map': 'true',
}
#: With a mode as well, which Cinder's own attachments must not need.
ASKED_WITH_MODE = {**ASKED, 'rbd:cache_mode': 'writeback'}
MADE = {'object_size': 2**20, 'stripe_unit': 65536, 'stripe_count': 8}

Record = dict[str, Any]


@functools.cache
def connection(cloud: str) -> Any:
    """Return a connection as a user of clouds.yaml: ``demo``, ``admin``."""
    return openstack.connect(cloud=cloud)


def release() -> str:
    """Return the release of OpenStack that the sandbox runs."""
    state = pathlib.Path(os.environ['RBD_SANDBOX_STATE'])
    return (state / 'run' / 'release').read_text().strip()


def rbd(*arguments: str) -> Any:
    """Run ``rbd`` as Ceph's administrator; return what it says in JSON."""
    done = subprocess.run(
        ['rbd', *arguments, '--format', 'json'],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def images(pool: str = 'volumes') -> list[str]:
    """Return the names of a pool's images."""
    found: list[str] = rbd('ls', pool)
    return found


class CloudTestCase(base.TestCase):
    """Volumes of a tenant, removed at the end with all that hangs on them."""

    timeout = 240

    def setUp(self) -> None:
        super().setUp()
        self.tenant = connection('demo')
        self.operator = connection('admin')

    # Requests

    def request(
        self,
        method: str,
        path: str,
        body: Record | None = None,
        cloud: Any = None,
        service: str = 'block_storage',
    ) -> Record:
        """Send a request; fail on anything but success."""
        response = self.respond(method, path, body, cloud, service)
        if response.status_code >= 400:
            raise AssertionError(
                f'{method} {path}: {response.status_code} {response.text}'
            )
        answer: Record = response.json() if response.content else {}
        return answer

    def respond(
        self,
        method: str,
        path: str,
        body: Any = None,
        cloud: Any = None,
        service: str = 'block_storage',
    ) -> Any:
        """Send a request; return the response, whatever it is."""
        api = getattr(cloud or self.tenant, service)
        extra: Record = {'json': body} if body is not None else {}
        if service in _MICROVERSIONS:
            extra['microversion'] = _MICROVERSIONS[service]
        return api.request(path, method, raise_exc=False, **extra)

    def check_refused(
        self,
        status: int,
        words: str,
        method: str,
        path: str,
        body: Any = None,
        cloud: Any = None,
    ) -> None:
        """Check that a request is refused, with a text that has words."""
        response = self.respond(method, path, body, cloud)
        shown = f'{method} {path} {body}: {response.text}'
        self.assertEqual(status, response.status_code, shown)
        (fault,) = response.json().values()
        self.assertIn(words, fault['message'], shown)

    def create(self, **values: Any) -> str:
        """Ask for a volume; return its id at once."""
        body = {'size': 1, 'volume_type': 'rbd', **values}
        answer = self.request('POST', '/volumes', {'volume': body})
        ident: str = answer['volume']['id']
        self.addCleanup(self.remove, ident)
        return ident

    def created(self, **values: Any) -> str:
        """Ask for a volume; return its id when it's available."""
        ident = self.create(**values)
        self.wait_for(ident)
        return ident

    def show(self, ident: str, kind: str = 'volumes') -> Record:
        """Return a resource of Cinder's, as an operator sees it."""
        answer = self.request('GET', f'/{kind}/{ident}', cloud=self.operator)
        record: Record = answer[kind.rstrip('s')]
        return record

    def wait_for(
        self, ident: str, status: str = 'available', kind: str = 'volumes'
    ) -> Record:
        """Wait until a resource has a status; fail on another final one."""

        def done() -> Record | None:
            record = self.show(ident, kind)
            if record['status'] == status:
                return record
            if record['status'].startswith('error'):
                raise AssertionError(f'{kind} {ident}: {record}')
            return None

        record: Record = self.until(done)
        return record

    def until(self, done: Callable[[], Any], seconds: float = 120) -> Any:
        """Wait until a function returns something true; return that."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = done()
            if found:
                return found
            time.sleep(0.3)
        raise AssertionError(f'still waiting after {seconds} s for {done}')

    # Cleaning up

    def remove(self, ident: str, kind: str = 'volumes') -> None:
        """Delete something, by force, and wait until it is gone."""
        path = f'/{kind}/{ident}'
        api = self.operator.block_storage
        if kind in ('volumes', 'snapshots'):
            status = {'os-reset_status': {'status': 'error'}}
            api.post(f'{path}/action', json=status)
        api.delete(path, microversion=MICROVERSION)
        self.until(
            lambda: api.get(path, microversion=MICROVERSION).status_code == 404
        )

    # What is made of other things

    def snapshot(self, volume: str) -> str:
        """Return the id of a snapshot of a volume."""
        answer = self.request(
            'POST', '/snapshots', {'snapshot': {'volume_id': volume}}
        )
        ident: str = answer['snapshot']['id']
        self.addCleanup(self.remove, ident, 'snapshots')
        self.wait_for(ident, kind='snapshots')
        return ident

    def action(self, volume: str, cloud: Any = None, **action: Any) -> Record:
        """Do something to a volume."""
        return self.request('POST', f'/volumes/{volume}/action', action, cloud)

    def make_type(self, **specs: str) -> str:
        """Make a volume type; ``rbd_x`` stands for ``rbd:x``."""
        name = f'test-{uuid.uuid4().hex[:8]}'
        given = {
            f'rbd:{k[4:]}' if k.startswith('rbd_') else k: v
            for k, v in specs.items()
            if k != 'volume_backend_name'
        }
        given['volume_backend_name'] = specs.get('volume_backend_name', 'rbd')
        answer = self.request(
            'POST',
            '/types',
            {'volume_type': {'name': name, 'extra_specs': given}},
            self.operator,
        )
        ident = answer['volume_type']['id']
        self.addCleanup(self.operator.block_storage.delete, f'/types/{ident}')
        return name

    # What is there

    def info(self, volume: str, pool: str = 'volumes') -> Record:
        """Return what ``rbd info`` says of a volume's image."""
        # A volume that was migrated within a pool keeps the image's new name.
        name = self.show(volume)['os-vol-mig-status-attr:name_id'] or volume
        record: Record = rbd('info', f'{pool}/volume-{name}')
        return record

    def check_made(self, volume: str, pool: str = 'volumes') -> Record:
        """Check that a volume is what ASKED asks for."""
        info = self.info(volume, pool)
        found = {key: info.get(key) for key in MADE}
        self.assertEqual(MADE, found, str(info))
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        return info

    def metadata(self, volume: str) -> Record:
        """Return a volume's metadata as its tenant sees it."""
        answer = self.request('GET', f'/volumes/{volume}/metadata')
        found: Record = answer['metadata']
        return found
