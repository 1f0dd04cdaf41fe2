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

"""A volume that asks for a cache mode, and who attaches it.

Servers that Nova attaches are in test_attach_servers; here Cinder's own API
of attachments is used as Nova uses it.
"""

import subprocess
from typing import Any
from typing import ClassVar
import uuid

from tests.cloud import base

_ASKED = {'rbd:cache_mode': 'writeback'}
_CONNECTOR = {'host': 'compute-7', 'ip': '127.0.0.1', 'platform': 'x86_64'}
_REFUSED = 'os-rbd-volume-options:attach_refused'


class ConnectorTestCase(base.CloudTestCase):
    """Attachments of a made-up server, as Nova makes them."""

    def reserve(self, volume: str) -> str:
        """Return the id of an attachment that waits."""
        answer = self.request(
            'POST',
            '/attachments',
            {
                'attachment': {
                    'volume_uuid': volume,
                    'instance_uuid': str(uuid.uuid4()),
                }
            },
        )
        ident: str = answer['attachment']['id']
        return ident

    def connect(self, attachment: str, cloud: Any = None, **offer: Any) -> Any:
        """Return the answer to a host's connector; an operator's counts."""
        return self.respond(
            'PUT',
            f'/attachments/{attachment}',
            {'attachment': {'connector': {**_CONNECTOR, **offer}}},
            cloud or self.operator,
        )

    def check_refused_with(
        self, volume: str, response: Any, *words: str
    ) -> None:
        """Check a refusal: 400 with its text, which names no host."""
        self.assertEqual(400, response.status_code, response.text)
        self._check_text(
            volume, response.json()['badRequest']['message'], *words
        )

    def _check_text(self, volume: str, message: str, *words: str) -> None:
        recorded = self.request('GET', f'/volumes/{volume}')['volume']
        told = recorded[_REFUSED]['reason']
        for word in ("rbd:cache_mode = 'writeback'", *words):
            self.assertIn(word, message)
            self.assertIn(word, told)
        for text in (message, told):
            self.assertNotIn('compute-7', text)

    def check_free(self, volume: str, attachment: str = '') -> None:
        """Check that a volume is as it was, once its attachment is gone."""
        if attachment:
            self.assertEqual('reserved', self.show(volume)['status'])
            self.request(
                'DELETE', f'/attachments/{attachment}', cloud=self.operator
            )
        self.wait_for(volume)
        shown = self.show(volume)
        self.assertEqual([], shown['attachments'])
        self.assertEqual({}, shown['os-rbd-volume-options:cache_modes'])


class RefusalTest(ConnectorTestCase):
    """What is left of an attachment that a host can't have."""

    def test_attachment_that_waits(self) -> None:
        """A boot, an attach, a resize, an unshelve: reserved before."""
        volume = self.created(metadata=_ASKED)
        attachment = self.reserve(volume)
        answer = self.connect(attachment)
        self.check_refused_with(volume, answer, 'offers no cache modes')
        answer = self.connect(attachment, rbd_cache_modes='none,directsync')
        words = 'does not offer it; allowed: none, directsync'
        self.check_refused_with(volume, answer, words)
        self.check_free(volume, attachment)

    def test_attachment_at_once(self) -> None:
        """A live migration: reserved and connected by one request."""
        volume = self.created(metadata=_ASKED)
        body = {
            'volume_uuid': volume,
            'instance_uuid': str(uuid.uuid4()),
            'connector': _CONNECTOR,
        }
        answer = self.respond('POST', '/attachments', {'attachment': body})
        self.check_refused_with(volume, answer, 'offers no cache modes')
        self.check_free(volume)

    def test_what_only_the_driver_sees(self) -> None:
        """It is the second line, with an answer as good."""
        volume = self.created(metadata=_ASKED)
        spec = f'volumes/volume-{volume}'
        subprocess.run(
            ['rbd', 'image-meta', 'set', spec, 'conf_rbd_cache', 'false'],
            check=True,
        )
        attachment = self.reserve(volume)
        answer = self.connect(attachment, rbd_cache_modes=['writeback'])
        if base.release() == '2025.1':
            # Its API passes no refusal of the driver's on as another code.
            self.assertEqual(500, answer.status_code, answer.text)
            message = answer.json()['computeFault']['message']
            self._check_text(volume, message, 'conf_rbd_cache = false')
        else:
            self.check_refused_with(volume, answer, 'conf_rbd_cache = false')
        self.check_free(volume, attachment)
        body = {
            'volume_uuid': volume,
            'instance_uuid': str(uuid.uuid4()),
            'connector': {**_CONNECTOR, 'rbd_cache_modes': ['writeback']},
        }
        answer = self.respond(
            'POST', '/attachments', {'attachment': body}, self.operator
        )
        self.check_refused_with(volume, answer, 'conf_rbd_cache = false')


class SpoofedTest(ConnectorTestCase):
    """A tenant's own connector, which offers what it likes."""

    _OFFER: ClassVar[dict[str, Any]] = {
        'rbd_cache_modes': ['writeback', 'unsafe']
    }

    def test_server_that_waits(self) -> None:
        volume = self.created(metadata=_ASKED)
        attachment = self.reserve(volume)
        answer = self.connect(attachment, self.tenant, **self._OFFER)
        self.check_refused_with(volume, answer, 'offers no cache modes')
        self.check_free(volume, attachment)

    def test_record_of_an_attachment(self) -> None:
        volume = self.created(metadata=_ASKED)
        attachment = self.reserve(volume)
        self.connect(attachment, rbd_cache_modes=['writeback'])
        path = f'/attachments/{attachment}'
        self.request(
            'POST', f'{path}/action', {'os-complete': None}, self.operator
        )
        before = self.request('GET', path, cloud=self.operator)
        answer = self.connect(attachment, self.tenant, **self._OFFER)
        self.check_refused_with(volume, answer, 'offers no cache modes')
        after = self.request('GET', path, cloud=self.operator)
        self.assertEqual(before, after)
        self.request('DELETE', path, cloud=self.operator)

    def test_nobody_waits(self) -> None:
        volume = self.created(metadata=_ASKED)
        connector = {**_CONNECTOR, **self._OFFER}
        answer = self.action(
            volume, **{'os-initialize_connection': {'connector': connector}}
        )
        self.assertNotIn('cache_mode', answer['connection_info']['data'])


class OwnTest(base.CloudTestCase):
    """Cinder's own attachments succeed, whatever mode is asked for.

    Volumes of ``test_operations.py`` and ``test_creation_paths.py`` ask for
    one as well.
    """

    def test_upload_of_another_format(self) -> None:
        volume = self.created(metadata=_ASKED)
        body = {
            'image_name': 'test',
            'disk_format': 'qcow2',
            'container_format': 'bare',
        }
        answer = self.action(volume, **{'os-volume_upload_image': body})
        image: str = answer['os-volume_upload_image']['image_id']
        self.addCleanup(
            self.tenant.image.delete_image, image, ignore_missing=True
        )
        self.wait_for(volume)
        found = self.tenant.image.get_image(image)
        self.assertEqual('active', found.status)
