# SPDX-License-Identifier: Apache-2.0
"""A second cinder-api service that does not load the API extension.

A forgotten node, a rolling upgrade or a wrong configuration: what comes
through such a service must not get more than its project may have.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
from typing import Any
from typing import ClassVar
import uuid

from keystoneauth1 import exceptions

from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.cloud import base

_PORT = 8786
_OURS = 'osapi_volume_extension = cinder_rbd_ext'
_CONNECTOR = {'host': 'compute-7', 'rbd_host': {'modes': ['writeback']}}
_WORDS = 'tenants may not set this key'


@contextlib.contextmanager
def stock_api() -> Iterator[None]:
    """Run a cinder-api service without the extension."""
    place = state.State(state.default_root())
    supervisor = supervise.Supervisor(place, {})
    own = pathlib.Path(f'/proc/{supervisor.processes()["cinder-api"]["pid"]}')
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        conf, ini = folder / 'cinder.conf', folder / 'uwsgi.ini'
        lines = (place.etc / 'cinder/cinder.conf').read_text().splitlines()
        conf.write_text('\n'.join(x for x in lines if not x.startswith(_OURS)))
        ini.write_text(
            (place.etc / 'cinder/uwsgi.ini')
            .read_text()
            .replace(':8776', f':{_PORT}')
            .replace(str(place.etc / 'cinder/cinder.conf'), str(conf))
            .replace('/cinder-api.log', '/cinder-api-stock.log')
        )
        command = own.joinpath('cmdline').read_text().split('\0')[:-1]
        pairs = own.joinpath('environ').read_bytes().split(b'\0')
        process = subprocess.Popen(
            [str(ini) if x.endswith('uwsgi.ini') else x for x in command],
            env=dict(x.decode().split('=', 1) for x in pairs if b'=' in x),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class StockApiTest(base.CloudTestCase):
    """Requests of a tenant to the service without the extension."""

    _service: ClassVar[contextlib.ExitStack]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls._service = contextlib.ExitStack()
        cls._service.enter_context(stock_api())

    @classmethod
    def tearDownClass(cls) -> None:
        cls._service.close()
        super().tearDownClass()

    def setUp(self) -> None:
        super().setUp()
        self.until(self._answers, 60)

    def _answers(self) -> bool:
        try:
            return bool(self.past('GET', '/types').status_code == 200)
        except exceptions.ConnectFailure:
            return False

    def past(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request past the extension and return the response."""
        tenant = self.tenant
        return tenant.block_storage.request(
            path,
            method,
            json=body,
            raise_exc=False,
            connect_retries=0,
            microversion=base.MICROVERSION,
            endpoint_override=(
                f'http://127.0.0.1:{_PORT}/v3/{tenant.current_project_id}'
            ),
        )

    def test_cache_mode_needs_permission_at_the_attachment(self) -> None:
        kind = self.make_type(
            **{'volume_backend_name': 'rbd', 'rbd:tenant_options': ''}
        )
        volume = self.created(volume_type=kind)
        metadata = {'metadata': {'rbd:cache_mode': 'writeback'}}
        answer = self.past('POST', f'/volumes/{volume}/metadata', metadata)
        self.assertEqual(200, answer.status_code, answer.text)
        body = {'volume_uuid': volume, 'instance_uuid': str(uuid.uuid4())}
        answer = self.past('POST', '/attachments', {'attachment': body})
        attachment = answer.json()['attachment']['id']
        answer = self.past(
            'PUT',
            f'/attachments/{attachment}',
            {'attachment': {'connector': _CONNECTOR}},
        )
        refused = 500 if base.release() == '2025.1' else 400
        self.assertEqual(refused, answer.status_code, answer.text)
        self.assertIn(_WORDS, answer.text)
        shown = self.show(volume)['os-rbd-volume-options:attach_refused']
        self.assertIn(_WORDS, shown['reason'])

    def test_creation_is_refused_by_the_driver(self) -> None:
        kind = self.make_type(
            **{'volume_backend_name': 'rbd', 'rbd:tenant_options': ''}
        )
        body = {
            'size': 1,
            'volume_type': kind,
            'metadata': {'rbd:cache_mode': 'writeback'},
        }
        answer = self.past('POST', '/volumes', {'volume': body})
        volume = answer.json()['volume']['id']
        self.addCleanup(self.remove, volume)
        self.until(lambda: self.show(volume)['status'] == 'error')
        shown = self.show(volume)['os-rbd-volume-options:refused']
        self.assertIn(_WORDS, shown)

    def test_changed_fixed_key_changes_no_image_and_no_origin(self) -> None:
        volume = self.created()
        metadata = {'metadata': {'rbd:object_size': '8M'}}
        answer = self.past('POST', f'/volumes/{volume}/metadata', metadata)
        self.assertEqual(200, answer.status_code, answer.text)
        shown = self.show(volume)
        self.assertEqual(4 << 20, shown['os-rbd-volume-options:object_size'])
        origins = shown['os-rbd-volume-options:origins']
        self.assertEqual('backend configuration', origins['object_size'])
