# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from rbd_volume_tools.client import create
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_MADE = {
    'id': 'v-id',
    'name': 'v',
    'status': 'creating',
    'size': 8,
    'volume_type': 'rbd',
    'metadata': {'rbd:stripe_unit': '64K'},
}


def _client(extension: bool = True) -> fake_cloud.Client:
    client = fake_cloud.Client(extension)
    client.storage.answers['POST /volumes'] = {'volume': _MADE}
    client.storage.names = {'Volume': {'v': '1'}, 'Snapshot': {'s': '2'}}
    client.image.names = {'Image': {'i': '3'}}
    return client


@ddt.ddt
class CreateTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client = _client()

    def _request(self, *words: str) -> Any:
        self.client.run(create.CreateRBDVolume, *words)
        (body,) = self.client.storage.posted
        return body['volume']

    def _fails(self, client: fake_cloud.Client, *words: str) -> str:
        error = self.assertRaises(
            exceptions.CommandError,
            client.run,
            create.CreateRBDVolume,
            *words,
        )
        self.assertEqual([], client.storage.posted)
        return str(error)

    def test_options_become_metadata(self) -> None:
        body = self._request(
            *('v', '--size', '8', '--type', 'rbd', '--object-size', '4M'),
            *('--stripe-unit', '64K', '--stripe-count', '1'),
            *('--no-object-map', '--cache-mode', 'writeback'),
        )
        self.assertEqual(
            {
                'rbd:object_size': '4M',
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '1',
                'rbd:object_map': 'false',
                'rbd:cache_mode': 'writeback',
            },
            body['metadata'],
        )

    def test_size_in_a_list_may_have_another_spelling(self) -> None:
        words = ('v', '--size', '1', '--discard-granularity')
        for text in ('32K', '32768', '32KiB'):
            client = _client()
            client.run(create.CreateRBDVolume, *words, text)
            (body,) = client.storage.posted
            self.assertEqual(
                {'rbd:discard_granularity': '32KiB'},
                body['volume']['metadata'],
            )

    @ddt.data(
        (('--source', 'v'), {'source_volid': '1'}),
        (('--source', '1'), {'source_volid': '1'}),
        (('--snapshot', 's'), {'snapshot_id': '2'}),
        (('--image', 'i', '--size', '1'), {'imageRef': '3', 'size': 1}),
    )
    @ddt.unpack
    def test_source_by_name_or_id(
        self, words: tuple[str, ...], wanted: dict[str, Any]
    ) -> None:
        self.assertEqual({'name': 'w', **wanted}, self._request('w', *words))

    @ddt.data('--source', '--snapshot', '--image')
    def test_source_that_does_not_exist(self, option: str) -> None:
        error = self.assertRaises(
            sdk_exceptions.NotFoundException,
            self.client.run,
            create.CreateRBDVolume,
            *('w', '--size', '1', option, 'x'),
        )
        self.assertIn('found for x', str(error))
        self.assertEqual([], self.client.storage.posted)

    @ddt.data((), ('--image', 'i'))
    def test_without_size(self, words: tuple[str, ...]) -> None:
        self.assertIn(
            '--size is required', self._fails(self.client, 'v', *words)
        )

    def test_without_the_extension(self) -> None:
        """A stock driver would ignore the options silently."""
        text = self._fails(_client(extension=False), 'v', '--size', '1')
        self.assertIn('API extension not loaded', text)

    @ddt.data(
        ('--object-size', '3M'),
        ('--stripe-count', '0'),
        ('--features', 'object-map'),
        ('--cache-mode', 'fast'),
        ('--image', '1', '--source', '2'),
    )
    @ddt.unpack
    def test_invalid_values(self, *words: str) -> None:
        self.assertRaises(SystemExit, self._request, 'v', *words)
        self.assertEqual([], self.client.storage.posted)
