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

"""Unit tests of cinder_rbd_ext.client.volume_rbd."""

import argparse
import json
import types
from typing import Any

from osc_lib import exceptions
import requests

from cinder_rbd_ext.client import volume_rbd
from tests.unit import base

_OPTION = {'settable': True, 'default': None, 'default_from': None}
_RBD = {
    'name': 'rbd',
    'supported': True,
    'options': {
        'rbd:object_size': {
            **_OPTION,
            'type': 'size',
            'minimum': 4096,
            'maximum': 1 << 25,
            'default': 1 << 22,
            'default_from': 'backend configuration',
        },
        'rbd:stripe_count': {
            **_OPTION,
            'type': 'count',
            'minimum': 1,
            'maximum': 64,
            'default': 8,
            'default_from': 'volume type',
        },
        'rbd:object_map': {
            **_OPTION,
            'type': 'boolean',
            'allowed': [False, True],
        },
        'rbd:data_pool': {**_OPTION, 'type': 'pool'},
    },
}
_FAKE = {
    'name': 'fake',
    'supported': False,
    'reason': 'none of ours',
    'options': {},
}


def _response(status: int, body: bytes) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = body
    return response


class CommandTest(base.TestCase):
    """What is asked, and what is shown."""

    def _parsed(self, command: Any, *words: str) -> argparse.Namespace:
        app = types.SimpleNamespace()
        parsed: argparse.Namespace = (
            command(app, None).get_parser('x').parse_args(words)
        )
        return parsed

    def _request(self, *words: str) -> Any:
        parsed = self._parsed(volume_rbd.CreateRBDVolume, *words)
        return volume_rbd.request_of(parsed)

    def test_options(self) -> None:
        rows = list(volume_rbd.rows_of_type(_RBD))
        wanted = [
            'power of two, 4 KiB to 32 MiB',
            '1 to 64',
            'false, true',
            '',
        ]
        self.assertEqual(wanted, [row[3] for row in rows])
        (row,) = volume_rbd.rows_of_type(_FAKE)
        self.assertEqual(('fake', 'none of ours'), (row[0], row[3]))

    def test_where_values_came_from(self) -> None:
        volume = {
            'metadata': {'rbd:object_map': 'true', 'rbd:cache_mode': 'none'},
            'os-rbd-volume-options:object_size': 1 << 20,
            'os-rbd-volume-options:features': ['layering', 'object-map'],
            'os-rbd-volume-options:cache_modes': {'1': 'writeback'},
        }
        rows = list(volume_rbd.rows_of_volume(volume, _RBD))
        found = {key: (value, origin) for key, value, origin in rows}
        self.assertEqual(
            {
                'rbd:object_size': (1 << 20, 'backend configuration'),
                'rbd:stripe_unit': (None, 'Ceph configuration'),
                'rbd:stripe_count': (None, 'volume type'),
                'rbd:features': ('layering,object-map', 'volume metadata'),
                'rbd:data_pool': (None, 'Ceph configuration'),
                'rbd:cache_mode': ('none', 'volume metadata'),
                'attachment 1': ('writeback', 'set at attachment'),
            },
            found,
        )
        rows = list(
            volume_rbd.rows_of_volume({**volume, 'snapshot_id': '2'}, _RBD)
        )
        self.assertEqual('source volume', rows[0][2])

    def test_a_cache_mode_that_nobody_asked_for(self) -> None:
        """It is not the source's either."""
        rows = volume_rbd.rows_of_volume(
            {'metadata': {}, 'source_volid': '2'}, {'options': {}}
        )
        self.assertIn(('rbd:cache_mode', None, 'compute host'), list(rows))

    def test_attachment_that_was_refused(self) -> None:
        key = 'os-rbd-volume-options:attach_refused'
        told = {'reason': 'no plug-in', 'at': '2026-11-21T11:30:00Z'}
        rows = volume_rbd.rows_of_volume(
            {'metadata': {}, key: told}, {'options': {}}
        )
        self.assertIn(('last attachment', *told.values()), list(rows))

    def test_creation_that_was_refused(self) -> None:
        forged = {'rbd_volume_options_error': '\x1b[2Jpay here'}
        told = 'not a power of two'
        for refused in (told, None):
            volume = {
                'metadata': {},
                'volume_image_metadata': forged,
                'os-rbd-volume-options:refused': refused,
            }
            rows = volume_rbd.rows_of_volume(volume, {'options': {}})
            shown = [row for row in rows if row[0] == 'creation']
            wanted = ('creation', told, 'refused by the driver')
            self.assertEqual([wanted] if refused else [], shown)

    def _commands(self, command: Any, **answers: Any) -> Any:
        """Return a command whose cloud answers, by the end of the path."""

        def get(path: str) -> requests.Response:
            name = path.split('/')[-1].replace('-', '_')
            return _response(200, json.dumps(answers[name]).encode())

        api = types.SimpleNamespace(
            get=get,
            post=lambda path, **body: get(path),
            find_volume=lambda name, **how: types.SimpleNamespace(id='v'),
        )
        cloud = types.SimpleNamespace(block_storage=api)
        manager = types.SimpleNamespace(sdk_connection=cloud)
        return command(types.SimpleNamespace(client_manager=manager), None)

    def test_terminal_escapes(self) -> None:
        """Whatever a server, or a tenant through it, has to say."""
        evil = '\x1b]0;x\x07'
        told = {**_FAKE, 'name': evil, 'reason': evil}
        options = self._commands(
            volume_rbd.RBDOptions,
            os_rbd_volume_options={'volume_types': [told]},
        )
        volume = {
            **dict.fromkeys(('id', 'name', 'status', 'size'), evil),
            'volume_type': 't',
            'metadata': {'rbd:cache_mode': evil, evil: evil},
            'os-rbd-volume-options:refused': evil,
            'os-rbd-volume-options:features': [evil],
            'os-rbd-volume-options:cache_modes': {evil: evil},
            'os-rbd-volume-options:attach_refused': {
                'reason': evil,
                'at': evil,
            },
        }
        show = self._commands(
            volume_rbd.ShowRBDVolume,
            v={'volume': volume},
            t={'volume_type': told},
        )
        create = self._commands(
            volume_rbd.CreateRBDVolume, volumes={'volume': volume}
        )
        for command, words in (
            (options, ()),
            (show, ('v',)),
            (create, ('v', '--size=1')),
        ):
            parsed = command.get_parser('x').parse_args(words)
            shown = str(command.take_action(parsed)[1])
            self.assertIn('\\\\x1b]0;x\\\\x07', shown)

    def test_create(self) -> None:
        self.assertEqual(
            {'name': 'v', 'size': 1}, self._request('v', '--size=1')
        )
        found = self._request(
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
            found['metadata'],
        )
        found = self._request('v', '--object-map', '--source', '1')
        self.assertEqual('1', found['source_volid'])
        self.assertEqual({'rbd:object_map': 'true'}, found['metadata'])

    def test_create_checks_at_once(self) -> None:
        for words in (
            ('--object-size', '3M'),
            ('--stripe-count', '0'),
            ('--features', 'object-map'),
            ('--cache-mode', 'fast'),
            ('--image', '1', '--source', '2'),
        ):
            self.assertRaises(SystemExit, self._request, 'v', *words)

    def test_refused(self) -> None:
        body = b'{"badRequest": {"code": 400, "message": "because"}}'
        for response, text in (
            (_response(400, body), 'because (HTTP 400)'),
            (_response(502, b'<html>'), '<html> (HTTP 502)'),
            (_response(502, b'<p>\x1b[2J</p>'), r'<p>\x1b[2J</p> (HTTP 502)'),
        ):
            error = self.assertRaises(
                exceptions.CommandError, volume_rbd.answer, response
            )
            self.assertEqual(text, str(error))
        self.assertEqual({}, volume_rbd.answer(_response(200, b'{}')))
