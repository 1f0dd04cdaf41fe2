# SPDX-License-Identifier: Apache-2.0

"""Tests through the APIs of a real cloud, as a tenant and an operator."""

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
_MICROVERSIONS = {
    'block_storage': MICROVERSION,
    'compute': '2.96',
    'placement': '1.36',
}

#: The default metadata of the tests' volumes, and the resulting layout.
ASKED = {
    'rbd:object_size': '1M',
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
    'rbd:object_map': 'true',
}
#: With a cache mode, which Cinder's own attachments do not require.
ASKED_WITH_MODE = {**ASKED, 'rbd:cache_mode': 'writeback'}
MADE = {'object_size': 2**20, 'stripe_unit': 65536, 'stripe_count': 8}

Record = dict[str, Any]


@functools.cache
def connection(cloud: str) -> Any:
    """Return a connection for a cloud, ``demo`` or ``admin``."""
    return openstack.connect(cloud=cloud)


def release() -> str:
    """Return the release of OpenStack that the sandbox runs."""
    state = pathlib.Path(os.environ['RBD_SANDBOX_STATE'])
    return (state / 'run' / 'release').read_text().strip()


def rbd(*arguments: str) -> Any:
    """Run ``rbd`` as Ceph's administrator and return its JSON output."""
    done = subprocess.run(
        ['rbd', *arguments, '--format', 'json'],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def images(pool: str = 'volumes') -> list[str]:
    """Return the names of the RBD images in a pool."""
    names: list[str] = rbd('ls', pool)
    return names


class CloudTestCase(base.TestCase):
    """Create a tenant's volumes and remove them with all their dependents."""

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
        """Send a request; fail if it does not succeed."""
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
        """Send a request and return the response, whatever its status."""
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
        """Check that a request is refused with a certain message."""
        response = self.respond(method, path, body, cloud)
        shown = f'{method} {path} {body}: {response.text}'
        self.assertEqual(status, response.status_code, shown)
        (fault,) = response.json().values()
        self.assertIn(words, fault['message'], shown)

    def create(self, **values: Any) -> str:
        """Request a volume and return its ID immediately."""
        body = {'size': 1, 'volume_type': 'rbd', **values}
        answer = self.request('POST', '/volumes', {'volume': body})
        ident: str = answer['volume']['id']
        self.addCleanup(self.remove, ident)
        return ident

    def created(self, **values: Any) -> str:
        """Create a volume and return its ID when it is available."""
        ident = self.create(**values)
        self.wait_for(ident)
        return ident

    def show(self, ident: str, kind: str = 'volumes') -> Record:
        """Return a resource of Cinder as an operator sees it."""
        answer = self.request('GET', f'/{kind}/{ident}', cloud=self.operator)
        record: Record = answer[kind.rstrip('s')]
        return record

    def wait_for(
        self, ident: str, status: str = 'available', kind: str = 'volumes'
    ) -> Record:
        """Wait for a status; fail if the resource is in error."""

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
        """Wait until a function returns a true value; return the value."""
        deadline = time.monotonic() + seconds
        pause = 0.2
        while time.monotonic() < deadline:
            result = done()
            if result:
                return result
            time.sleep(pause)
            # Requests take processor time that the services need.
            pause = min(1.5 * pause, 1.5)
        raise AssertionError(f'still waiting after {seconds} s for {done}')

    # Clean-up

    def remove(self, ident: str, kind: str = 'volumes') -> None:
        """Force the deletion of a resource and wait until it is gone."""
        path = f'/{kind}/{ident}'
        api = self.operator.block_storage
        if kind in ('volumes', 'snapshots'):
            status = {'os-reset_status': {'status': 'error'}}
            api.post(f'{path}/action', json=status)
        api.delete(path, microversion=MICROVERSION)
        self.until(
            lambda: api.get(path, microversion=MICROVERSION).status_code == 404
        )

    # Snapshots, actions and volume types

    def snapshot(self, volume: str) -> str:
        """Create a snapshot of a volume and return its ID."""
        answer = self.request(
            'POST', '/snapshots', {'snapshot': {'volume_id': volume}}
        )
        ident: str = answer['snapshot']['id']
        self.addCleanup(self.remove, ident, 'snapshots')
        self.wait_for(ident, kind='snapshots')
        return ident

    def action(self, volume: str, cloud: Any = None, **action: Any) -> Record:
        """Send an action to a volume."""
        return self.request('POST', f'/volumes/{volume}/action', action, cloud)

    def make_type(self, **specs: str) -> str:
        """Create a volume type; ``rbd_x`` stands for ``rbd:x``."""
        name = f'test-{uuid.uuid4().hex[:8]}'
        extra_specs = {
            f'rbd:{k[4:]}' if k.startswith('rbd_') else k: v
            for k, v in specs.items()
            if k != 'volume_backend_name'
        }
        extra_specs['volume_backend_name'] = specs.get(
            'volume_backend_name', 'rbd'
        )
        answer = self.request(
            'POST',
            '/types',
            {'volume_type': {'name': name, 'extra_specs': extra_specs}},
            self.operator,
        )
        ident = answer['volume_type']['id']
        self.addCleanup(self.operator.block_storage.delete, f'/types/{ident}')
        return name

    # Checks

    def info(self, volume: str, pool: str = 'volumes') -> Record:
        """Return the output of ``rbd info`` for the RBD image of a volume."""
        record: Record = rbd('info', f'{pool}/{self.image_name(volume)}')
        return record

    def image_name(self, volume: str) -> str:
        """Return the name of the RBD image of a volume.

        After a migration or a retype, it is not made of the volume's ID.
        """
        name = self.show(volume)['os-vol-mig-status-attr:name_id'] or volume
        return f'volume-{name}'

    def check_made(self, volume: str, pool: str = 'volumes') -> Record:
        """Check that a volume has the layout and features of ASKED."""
        info = self.info(volume, pool)
        layout = {key: info.get(key) for key in MADE}
        self.assertEqual(MADE, layout, str(info))
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        return info

    def metadata(self, volume: str) -> Record:
        """Return a volume's metadata as the tenant sees it."""
        answer = self.request('GET', f'/volumes/{volume}/metadata')
        items: Record = answer['metadata']
        return items
