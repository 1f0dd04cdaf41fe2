# SPDX-License-Identifier: Apache-2.0

"""Attachments of volumes that request a cache mode.

These tests use Cinder's attachments API as Nova does. See
test_attach_servers for attachments by Nova.
"""

import subprocess
from typing import Any
from typing import ClassVar
import uuid

from tests import runs
from tests.cloud import base

_ASKED = {'rbd:cache_mode': 'writeback'}
_CONNECTOR = {'host': 'compute-7', 'ip': '127.0.0.1', 'platform': 'x86_64'}
_REFUSED = 'os-rbd-volume-options:attach_refused'


class ConnectorTestCase(base.CloudTestCase):
    """Attachments for a server that does not exist, created as Nova does."""

    def reserve(self, volume: str, server: str = '', **more: Any) -> str:
        """Reserve an attachment and return its ID."""
        body = {
            'volume_uuid': volume,
            'instance_uuid': server or str(uuid.uuid4()),
            **more,
        }
        answer = self.request(
            'POST', '/attachments', {'attachment': body}, self.operator
        )
        ident: str = answer['attachment']['id']
        return ident

    def connect(self, attachment: str, cloud: Any = None, **offer: Any) -> Any:
        """Update an attachment with a connector, as an operator by default."""
        return self.respond(
            'PUT',
            f'/attachments/{attachment}',
            {'attachment': {'connector': {**_CONNECTOR, **offer}}},
            cloud or self.operator,
        )

    def check_refused_with(
        self, volume: str, response: Any, *words: str
    ) -> None:
        """Check for HTTP 400 and a message that names no host."""
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

    def messages(self, volume: str) -> list[str]:
        """Return the user messages about a volume, the newest first."""
        answer = self.request('GET', f'/messages?resource_uuid={volume}')
        return [each['user_message'] for each in answer['messages']]

    def check_free(self, volume: str, attachment: str = '') -> None:
        """Check that a volume is unchanged after its attachment is deleted."""
        if attachment:
            self.assertEqual('reserved', self.show(volume)['status'])
            self.request(
                'DELETE', f'/attachments/{attachment}', cloud=self.operator
            )
        self.wait_for(volume)
        shown = self.show(volume)
        self.assertEqual([], shown['attachments'])
        self.assertEqual({}, shown['os-rbd-volume-options:cache_modes'])


@runs.tags(runs.RELEASES)
class RefusalTest(ConnectorTestCase):
    """Refused attachments."""

    def test_attachment_that_waits(self) -> None:
        """Boot, attach, resize and unshelve reserve the attachment first."""
        volume = self.created(metadata=_ASKED)
        attachment = self.reserve(volume)
        answer = self.connect(attachment)
        self.check_refused_with(volume, answer, 'offers no cache modes')
        answer = self.connect(
            attachment, rbd_host={'modes': ['none', 'directsync']}
        )
        words = 'does not offer it; allowed: none, directsync'
        self.check_refused_with(volume, answer, words)
        # Messages of the same second have no order.
        self.assertIn(words, ''.join(self.messages(volume)))
        self.check_free(volume, attachment)

    def test_attachment_at_once(self) -> None:
        """Live migration reserves and connects in one request."""
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
        """The driver refuses what the API extension cannot check."""
        volume = self.created(metadata=_ASKED)
        spec = f'volumes/volume-{volume}'
        subprocess.run(
            ['rbd', 'image-meta', 'set', spec, 'conf_rbd_cache', 'false'],
            check=True,
        )
        attachment = self.reserve(volume)
        answer = self.connect(attachment, rbd_host={'modes': ['writeback']})
        if base.release() == '2025.1':
            # Its API returns 500 for any refusal by the driver.
            self.assertEqual(500, answer.status_code, answer.text)
            message = answer.json()['computeFault']['message']
            self._check_text(volume, message, 'conf_rbd_cache = false')
        else:
            self.check_refused_with(volume, answer, 'conf_rbd_cache = false')
            self.assertNotIn('Traceback', answer.text)
        self.assertIn('conf_rbd_cache = false', ''.join(self.messages(volume)))
        self.check_free(volume, attachment)
        body = {
            'volume_uuid': volume,
            'instance_uuid': str(uuid.uuid4()),
            'connector': {**_CONNECTOR, 'rbd_host': {'modes': ['writeback']}},
        }
        answer = self.respond(
            'POST', '/attachments', {'attachment': body}, self.operator
        )
        self.check_refused_with(volume, answer, 'conf_rbd_cache = false')


class MovedTest(ConnectorTestCase):
    """An attachment of a server that has the volume."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.created(metadata=_ASKED)
        self.machine = str(uuid.uuid4())
        self.first = self.reserve(self.volume, self.machine)

    def complete(self, attachment: str) -> None:
        """Complete an attachment."""
        path = f'/attachments/{attachment}'
        self.request(
            'POST', f'{path}/action', {'os-complete': None}, self.operator
        )

    def drop(self, attachment: str) -> None:
        """Delete an attachment."""
        path = f'/attachments/{attachment}'
        self.request('DELETE', path, cloud=self.operator)

    def modes(self) -> list[tuple[str | None, str | None]]:
        """Return the modes of attachments, requested and in force."""
        shown = self.show(self.volume)
        requested = shown['os-rbd-volume-options:cache_modes']
        in_force = shown['os-rbd-volume-options:cache_modes_in_force']
        return [(mode, in_force[key]) for key, mode in requested.items()]

    def test_move_is_not_refused_and_its_owner_is_told(self) -> None:
        self.connect(self.first, rbd_host={'modes': ['writeback']})
        self.complete(self.first)
        self.assertEqual([('writeback', 'writeback')], self.modes())
        former = self.first
        for offer, in_force, words in (
            ({}, None, 'offers no cache modes'),
            ({'rbd_host': {'modes': ['none']}}, 'none', 'does not offer it'),
        ):
            new = self.reserve(self.volume, self.machine)
            self.drop(former)
            answer = self.connect(new, **offer)
            self.assertEqual(200, answer.status_code, answer.text)
            self.complete(new)
            self.assertEqual([('writeback', in_force)], self.modes())
            self.assertIn(words, ''.join(self.messages(self.volume)))
            former = new
        self.assertIsNone(self.show(self.volume)[_REFUSED])
        self.drop(former)


class SpoofedTest(ConnectorTestCase):
    """A tenant's connector that offers arbitrary cache modes."""

    _OFFER: ClassVar[dict[str, Any]] = {
        'rbd_host': {'modes': ['writeback', 'unsafe']}
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
        self.connect(attachment, rbd_host={'modes': ['writeback']})
        path = f'/attachments/{attachment}'
        self.request(
            'POST', f'{path}/action', {'os-complete': None}, self.operator
        )
        before = self.request('GET', path, cloud=self.operator)
        answer = self.connect(attachment, self.tenant, **self._OFFER)
        self.assertIn('offers no cache modes', answer.text)
        after = self.request('GET', path, cloud=self.operator)
        self.assertEqual(before, after)
        # The volume is in use, so nothing is said about its disk.
        shown = self.request('GET', f'/volumes/{volume}')['volume']
        self.assertIsNone(shown[_REFUSED])
        self.request('DELETE', path, cloud=self.operator)

    def test_nobody_waits(self) -> None:
        volume = self.created(metadata=_ASKED)
        connector = {**_CONNECTOR, **self._OFFER}
        answer = self.action(
            volume, **{'os-initialize_connection': {'connector': connector}}
        )
        self.assertNotIn('cache_mode', answer['connection_info']['data'])


class OwnTest(base.CloudTestCase):
    """Cinder's own attachments succeed with any requested mode.

    Volumes in ``test_operations.py`` and ``test_creation_paths.py`` request a
    mode as well.
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
        shown = self.tenant.image.get_image(image)
        self.assertEqual('active', shown.status)
