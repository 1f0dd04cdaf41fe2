# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any

from keystoneauth1 import exceptions as keystone
import requests

from rbd_volume_options import published
from tests.unit.rbd_volume_tools.fleet import commands


def _response(status: int, body: Any, warning: str = '') -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = json.dumps(body).encode()
    if warning:
        response.headers['Warning'] = f'299 - "{warning}"'
    response.headers[published.HEADER_COMPARED] = 'true'
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


class TypesTest(commands.CommandTestCase):
    noun = 'types'

    def setUp(self) -> None:
        super().setUp()
        self.cinder = _Cinder()
        self.cloud.return_value.block_storage = self.cinder

    def applied(self, *words: str) -> dict[str, tuple[str, str]]:
        """Plan and apply; return status and detail of each volume."""
        self.assertEqual(0, self.plan('fast'))
        self.status = self.apply(*words)
        return {
            each['Volume']: (each['Status'], each['Detail'])
            for each in self.rows()
        }

    def test_each_volume_of_the_type_is_compared_with_it(self) -> None:
        self.assertEqual(
            {'1': ('done', 'as its type'), '3': ('done', 'as its type')},
            self.applied('--per-minute', '60000'),
        )
        self.assertEqual(0, self.status)
        self.assertEqual(
            [('1', {'metadata': {}}), ('3', {'metadata': {}})],
            self.cinder.applied,
        )

    def test_volume_that_could_not_be_changed_is_refused(self) -> None:
        fault = {'badRequest': {'message': 'volume is being migrated'}}
        self.cinder.answers = {
            '1': _response(400, fault),
            '3': _response(200, {'metadata': {}}, 'not in force yet'),
        }
        rows = self.applied()
        self.assertEqual(1, self.status)
        self.assertIn('volume is being migrated (HTTP 400)', rows['1'][1])
        self.assertIn('not in force yet', rows['3'][1])

    def test_answer_of_an_api_without_the_extension_is_no_success(
        self,
    ) -> None:
        stock = _response(200, {'metadata': {}})
        del stock.headers[published.HEADER_COMPARED]
        self.cinder.answers['3'] = stock
        status, detail = self.applied()['3']
        self.assertEqual('refused', status)
        self.assertIn('without the extension', detail)

    def test_volume_without_an_answer_does_not_end_the_others(self) -> None:
        self.cinder.answers = {'1': keystone.ConnectFailure('reset')}
        rows = self.applied()
        self.assertEqual(['1', '3'], [each[0] for each in self.cinder.applied])
        self.assertEqual((2, 'failed'), (self.status, rows['1'][0]))
        self.assertIn('the API did not answer: ', rows['1'][1])

    def test_deleted_volume_and_unknown_type(self) -> None:
        self.cinder.answers = {'1': _response(404, {})}
        self.assertEqual('done', self.applied()['1'][0])
        self.assertEqual(3, self.plan('slow'))
