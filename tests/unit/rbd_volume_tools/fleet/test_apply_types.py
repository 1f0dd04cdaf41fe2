# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import json
from typing import Any
from unittest import mock

from keystoneauth1 import exceptions as keystone
import requests

from rbd_volume_options import wire
from rbd_volume_tools import shell
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import progress
from tests.unit import base


def _response(status: int, body: Any, warning: str = '') -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = json.dumps(body).encode()
    if warning:
        response.headers['Warning'] = f'299 - "{warning}"'
    response.headers[wire.HEADER_COMPARED] = 'true'
    return response


class _Cinder:
    """A fake Cinder with two volumes of the type and one of another."""

    def __init__(self) -> None:
        self.applied: list[tuple[str, Any]] = []
        self.answers: dict[str, requests.Response | Exception] = {}

    def get(self, path: str, **options: Any) -> requests.Response:
        if path.startswith('/types'):
            types = [{'id': 'type-id', 'name': 'fast', 'extra_specs': {}}]
            return _response(200, {'volume_types': types})
        if path.startswith('/volumes/detail'):
            volumes = [
                {
                    'id': ident,
                    'volume_type': name,
                    'status': 'in-use',
                    'os-vol-host-attr:host': 'host@rbd#rbd',
                }
                for ident, name in (('1', 'fast'), ('2', 'b'), ('3', 'fast'))
            ]
            return _response(200, {'volumes': volumes})
        return _response(200, {'extension': {}, 'pools': []})

    def post(self, path: str, json: Any) -> requests.Response:
        ident = path.split('/')[2]
        self.applied.append((ident, json))
        answer = self.answers.get(ident, _response(200, {'metadata': {}}))
        if isinstance(answer, Exception):
            raise answer
        return answer


class ApplyTypesTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = _Cinder()
        cloud = mock.Mock(spec_set=['block_storage'])
        cloud.block_storage = self.cinder
        for target, value in (
            ('rbd_volume_tools.shell.Shell.cloud', cloud),
            ('importlib.metadata.version', '1'),
        ):
            patch = mock.patch(target, autospec=True, return_value=value)
            patch.start()
            self.addCleanup(patch.stop)

    def run_command(self, *words: str) -> tuple[int, Any]:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            status = shell.main(['types', 'apply', *words, '-f', 'json'])
        return status, json.loads(shown.getvalue() or 'null')

    def test_answer_of_an_api_without_the_extension_is_no_success(
        self,
    ) -> None:
        stock = _response(200, {'metadata': {}})
        del stock.headers[wire.HEADER_COMPARED]
        self.cinder.answers['3'] = stock
        status, (row,) = self.run_command('fast')
        self.assertEqual((2, '3'), (status, row['Volume']))
        self.assertIn('without the extension', row['Reason'])

    def test_each_volume_of_the_type_is_compared_with_it(self) -> None:
        status, rows = self.run_command('fast', '--rate', '60000')
        self.assertEqual((0, []), (status, rows))
        self.assertEqual(
            [('1', {'metadata': {}}), ('3', {'metadata': {}})],
            self.cinder.applied,
        )

    def test_progress_is_shown(self) -> None:
        with mock.patch.object(progress, 'shown', autospec=True) as shown:
            self.run_command('fast')
        show = shown.return_value.__enter__.return_value
        self.assertEqual(
            [mock.call('fast', 1, 2), mock.call('fast', 2, 2)],
            show.call_args_list,
        )

    def test_volume_that_could_not_be_changed_is_listed(self) -> None:
        fault = {'badRequest': {'message': 'volume is being migrated'}}
        self.cinder.answers = {
            '1': _response(400, fault),
            '3': _response(200, {'metadata': {}}, 'not in force yet'),
        }
        status, rows = self.run_command('type-id')
        self.assertEqual(2, status)
        self.assertEqual(
            [
                {
                    'Volume': '1',
                    'Reason': 'volume is being migrated (HTTP 400)',
                },
                {'Volume': '3', 'Reason': 'not in force yet'},
            ],
            rows,
        )

    def test_volume_without_an_answer_does_not_end_the_others(self) -> None:
        self.cinder.answers = {'1': keystone.ConnectFailure('reset')}
        status, rows = self.run_command('fast')
        self.assertEqual(['1', '3'], [each[0] for each in self.cinder.applied])
        (row,) = rows
        self.assertEqual((2, '1'), (status, row['Volume']))
        self.assertIn('the API did not answer: ', row['Reason'])

    def test_deleted_volume_and_unknown_type(self) -> None:
        self.cinder.answers = {'1': _response(404, {})}
        self.assertEqual((0, []), self.run_command('fast'))
        status, _ = self.run_command('slow')
        self.assertEqual(exit_status.COMMAND, status)
