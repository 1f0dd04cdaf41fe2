# SPDX-License-Identifier: Apache-2.0

import argparse
from typing import Any
from unittest import mock

import ddt
from osc_lib import exceptions
import requests

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.client import attach
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_TOLD = 'the compute host offers no cache modes'


class Cloud:
    """A fake Cinder and Nova with one volume and one server.

    :ivar offers: modes that the compute host offers; None without plug-in
    :ivar polls: number of polls until an attachment is complete
    """

    def __init__(self) -> None:
        self.metadata: dict[str, str] = {}
        self.status = 'available'
        self.attachments: list[dict[str, str]] = []
        self.modes: dict[str, str | None] = {}
        self.refused: dict[str, str] | None = None
        self.server_status = 'ACTIVE'
        self.offers: list[str] | None = [*'abc', 'writeback', 'none']
        self.fails = False
        self.polls = 2
        self.device: str | None = None
        self._left = -1

    # Cinder

    def get(self, path: str) -> requests.Response:
        self._proceed()
        if path == '/volumes/v-id':
            return fake_cloud.response(
                200,
                {
                    'volume': {
                        'id': 'v-id',
                        'status': self.status,
                        'metadata': self.metadata,
                        'attachments': self.attachments,
                        'os-rbd-volume-options:cache_modes': self.modes,
                        'os-rbd-volume-options:attach_refused': self.refused,
                    }
                },
            )
        if path == '/servers/s-id':
            return fake_cloud.response(
                200, {'server': {'status': self.server_status}}
            )
        if path == '/servers/s-id/os-volume_attachments/v-id':
            if self._left >= 0 or self.attachments:
                return fake_cloud.response(200, {'volumeAttachment': {}})
            return fake_cloud.fault(404, 'no such attachment')
        raise AssertionError(path)

    def delete(self, path: str) -> requests.Response:
        """Respond to DELETE: remove the mode from the metadata."""
        if path != '/volumes/v-id/metadata/rbd:cache_mode':
            raise AssertionError(path)
        del self.metadata['rbd:cache_mode']
        return fake_cloud.response(200)

    def post(
        self, path: str, json: Any, microversion: str | None = None
    ) -> requests.Response:
        """Respond to POST: set the mode or attach the volume."""
        if path == '/volumes/v-id/metadata':
            return self._set(json['metadata'])
        if path != '/servers/s-id/os-volume_attachments':
            raise AssertionError(path)
        if self.status != 'available':
            return fake_cloud.fault(400, f'Invalid volume: {self.status}')
        self.device = json['volumeAttachment'].get('device', '/dev/vdb')
        self.status = 'reserved'
        self._left = self.polls
        return fake_cloud.response(200, {'volumeAttachment': {'id': 'v-id'}})

    def _set(self, items: dict[str, str]) -> requests.Response:
        mode = cache_modes.parse_cache_mode(items['rbd:cache_mode'])
        if mode not in cache_modes.SAFE_CACHE_MODES:
            return fake_cloud.fault(400, f'{mode.value}: not allowed')
        self.metadata = {**self.metadata, **items}
        return fake_cloud.response(200)

    # Time

    def _proceed(self) -> None:
        if self._left < 0 or self.server_status == 'SHELVED_OFFLOADED':
            return
        self._left -= 1
        if self._left >= 0:
            return
        mode = self.metadata.get('rbd:cache_mode')
        self.status = 'available'
        if mode and mode not in (self.offers or ()):
            self.refused = {'reason': f'{mode}: {_TOLD}', 'at': 'now'}
        elif not self.fails:
            self.status = 'in-use'
            self.attachments = [
                {'server_id': 'another', 'attachment_id': 'x', 'device': 'x'},
                {
                    'server_id': 's-id',
                    'attachment_id': 'a-id',
                    'device': str(self.device),
                },
            ]
            self.modes = {'x': None, 'a-id': mode}


@ddt.ddt
class AttachTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud = Cloud()
        # iterate_timeout() would sleep.
        patch = mock.patch('time.sleep', autospec=True)
        patch.start()
        self.addCleanup(patch.stop)

    def _parsed(self, *words: str) -> argparse.Namespace:
        parser = attach.AttachRBDVolume(mock.sentinel.app, None).get_parser('')
        return parser.parse_args([*words, 's', 'v'])

    def _attach(self, *words: str) -> dict[str, Any]:
        attachment = attach.Attachment(self.cloud, self.cloud, 'v-id', 's-id')
        parsed = self._parsed(*words)
        seconds = parsed.timeout if parsed.wait else None
        values = attachment.make(parsed.cache_mode, parsed.device, seconds)
        return dict(zip(attach.COLUMNS, values, strict=True))

    def _fails(self, *words: str) -> str:
        error = self.assertRaises(
            exceptions.CommandError, self._attach, *words
        )
        return str(error)

    def test_attached_with_a_mode(self) -> None:
        self.assertEqual(
            {
                'server_id': 's-id',
                'volume_id': 'v-id',
                'device': '/dev/vdc',
                'attachment_id': 'a-id',
                'asked_cache_mode': 'writeback',
                'cache_mode': 'writeback',
            },
            self._attach('--cache-mode', 'writeback', '--device', '/dev/vdc'),
        )
        self.assertEqual({'rbd:cache_mode': 'writeback'}, self.cloud.metadata)

    def test_mode_that_the_volume_asks_for(self) -> None:
        self.cloud.metadata = {'rbd:cache_mode': 'none', 'a': 'b'}
        row = self._attach()
        self.assertEqual(
            ('none', 'none'), (row['asked_cache_mode'], row['cache_mode'])
        )

    @ddt.data({}, {'rbd:cache_mode': 'none'}, {'a': 'b'})
    def test_refused_by_the_host(self, before: dict[str, str]) -> None:
        self.cloud.metadata = dict(before)
        self.cloud.offers = None
        text = self._fails('--cache-mode', 'writeback')
        self.assertIn(f'v-id was not attached: writeback: {_TOLD}', text)
        self.assertEqual(before, self.cloud.metadata)

    def test_another_reason(self) -> None:
        """Do not report the reason of an earlier refusal."""
        self.cloud.refused = {'reason': 'an earlier one', 'at': 'then'}
        self.cloud.fails = True
        text = self._fails('--cache-mode', 'writeback')
        self.assertNotIn('an earlier one', text)
        self.assertIn('server event list', text)
        self.assertEqual({}, self.cloud.metadata)

    def test_mode_that_is_not_allowed(self) -> None:
        self.cloud.metadata = {'rbd:cache_mode': 'none'}
        text = self._fails('--cache-mode', 'unsafe')
        self.assertEqual('unsafe: not allowed (HTTP 400)', text)
        self.assertEqual({'rbd:cache_mode': 'none'}, self.cloud.metadata)
        self.assertEqual('available', self.cloud.status)

    def test_refused_by_nova(self) -> None:
        self.cloud.status = 'in-use'
        text = self._fails('--cache-mode', 'writeback')
        self.assertEqual('Invalid volume: in-use (HTTP 400)', text)
        self.assertEqual({}, self.cloud.metadata)

    def test_mode_that_can_not_be_put_back(self) -> None:
        self.cloud.metadata = {'rbd:cache_mode': 'unsafe'}
        self.cloud.offers = None
        text = self._fails('--cache-mode', 'writeback')
        self.assertIn(_TOLD, text)
        self.assertIn('of the volume to unsafe: unsafe: not', text)

    def test_no_wait(self) -> None:
        self.cloud.offers = None
        row = self._attach('--cache-mode', 'writeback', '--no-wait')
        self.assertEqual(
            ('writeback', None), (row['asked_cache_mode'], row['device'])
        )
        self.assertEqual('reserved', self.cloud.status)
        self.assertEqual({'rbd:cache_mode': 'writeback'}, self.cloud.metadata)

    def test_too_late(self) -> None:
        """Keep the mode after a timeout: the attachment may still succeed."""
        self.cloud.polls = 9999999
        text = self._fails('--cache-mode', 'writeback', '--timeout', '0')
        self.assertIn('within 0 seconds. Its status is reserved', text)
        self.assertIn('reserved', text)
        self.assertEqual({'rbd:cache_mode': 'writeback'}, self.cloud.metadata)

    def test_server_on_no_host(self) -> None:
        """A shelved server gets the volume when it is unshelved."""
        self.cloud.server_status = 'SHELVED_OFFLOADED'
        row = self._attach('--cache-mode', 'writeback')
        self.assertIsNone(row['attachment_id'])
        self.assertEqual('writeback', row['asked_cache_mode'])

    def test_without_the_extension(self) -> None:
        """Refuse to attach: without the extension the result is unknown."""
        client = fake_cloud.Client(extension=False)
        client.storage.names = {'Volume': {'v': 'v-id'}}
        client.compute.names = {'Server': {'s': 's-id'}}
        error = self.assertRaises(
            exceptions.CommandError,
            client.run,
            attach.AttachRBDVolume,
            *('--cache-mode', 'writeback', 's', 'v'),
        )
        self.assertIn('API extension not loaded', str(error))
        self.assertEqual([], client.storage.posted + client.compute.posted)

    def test_missing_mode_is_shown_as_nothing(self) -> None:
        """Show nothing for no mode: "None" would look like the mode none."""
        client = fake_cloud.Client()
        client.storage.names = {'Volume': {'v': 'v-id'}}
        client.compute.names = {'Server': {'s': 's-id'}}
        values = ('s-id', 'v-id', '\x1b', 'a-id', None, None)
        with mock.patch.object(
            attach.Attachment, 'make', autospec=True, return_value=values
        ):
            text = client.run(attach.AttachRBDVolume, 's', 'v')
            rows = client.rows(attach.AttachRBDVolume, 's', 'v')
        self.assertRegex(text, r'\| cache_mode +\|  +\|')
        self.assertIn(r'\x1b', text)
        self.assertNotIn('\x1b', text)
        self.assertIsNone(rows['cache_mode'])
