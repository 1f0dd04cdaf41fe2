# SPDX-License-Identifier: Apache-2.0

"""Requests of the pages' scripts on Horizon's routes."""

import json
from typing import Any

from django import test
from django import urls
from openstack_auth import utils as auth_utils
import requests.exceptions

from rbd_volume_options import registry
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_BASE = '/api/rbd_volume_options'


class RestTestCase(horizon_case.HorizonTestCase):
    """Base class for requests without Django's incompatible test client."""

    def request(self, path: str) -> Any:
        """Return a GET request of the user."""
        request = test.RequestFactory().get(
            path, headers={'X-Requested-With': 'XMLHttpRequest'}
        )
        request.user = auth_utils.get_user(request)
        return request

    def ask(self, path: str) -> tuple[int, Any]:
        """Return the status and body of the response to a GET request."""
        request = self.request(path)
        match = urls.resolve(request.path)
        response = match.func(request, *match.args, **match.kwargs)
        return response.status_code, json.loads(response.content)


class TypesTestCase(RestTestCase):
    def test_what_each_type_offers(self) -> None:
        status, answer = self.ask(f'{_BASE}/types/')
        self.assertEqual(200, status)
        answer = horizon_case.unpacked(answer)
        self.assertEqual({'rbd', 'lvm'}, set(answer))
        self.assertIsNone(answer['rbd']['reason'])
        self.assertIn('no back end', answer['lvm']['reason'])
        told = fake_cloud.offered('rbd')['options']
        # Scripts do not need the data pool.
        self.assertEqual(
            set(registry.volume_keys()), set(answer['rbd']['options'])
        )
        wanted = ('settable', 'default', 'allowed')
        described = {each: told['rbd:object_map'][each] for each in wanted}
        self.assertEqual(
            {**described, 'default_from': 'volume_type'},
            answer['rbd']['options']['rbd:object_map'],
        )

    def test_type_that_is_newer_than_the_answer_kept(self) -> None:
        for path in ('types/', 'types/?named=rbd', 'types/?named=new'):
            self.ask(f'{_BASE}/{path}')
        # One request at first, and one for the type missing in the cache.
        self.assertEqual(2, len(self.cloud.asked))

    def test_nobody_can_tell(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        status, _answer = self.ask(f'{_BASE}/types/')
        self.assertEqual(503, status)

    def test_only_who_is_logged_in(self) -> None:
        self.logout()
        for path in ('types/', 'form/', 'sources/volume/v/'):
            status, _answer = self.ask(f'{_BASE}/{path}')
            self.assertEqual(401, status)
        self.assertEqual([], self.cloud.asked)


class SourceTestCase(RestTestCase):
    def test_volume_source_returns_type_and_layout(self) -> None:
        self.cloud.add_volume('v', volume_type='a "type"')
        _status, answer = self.ask(f'{_BASE}/sources/volume/v/')
        self.assertEqual('a "type"', answer['volume_type'])
        self.assertEqual(
            {
                'object_size': 2**23,
                'stripe_unit': 2**16,
                'stripe_count': 8,
                'features': ['layering', 'striping'],
            },
            answer['made'],
        )

    def test_snapshot_stands_for_its_volume(self) -> None:
        self.cloud.add_volume('v', volume_type='fast')
        self.cloud.snapshots['s'] = {'id': 's', 'volume_id': 'v', 'size': 1}
        _status, answer = self.ask(f'{_BASE}/sources/snapshot/s/')
        self.assertEqual('fast', answer['volume_type'])

    def test_nothing_recorded(self) -> None:
        self.cloud.add_volume('v', **{f'{fake_cloud.ALIAS}:object_size': None})
        _status, answer = self.ask(f'{_BASE}/sources/volume/v/')
        self.assertIsNone(answer['made'])

    def test_not_there(self) -> None:
        status, _answer = self.ask(f'{_BASE}/sources/volume/none/')
        self.assertEqual(404, status)

    def test_names_of_lists_of_cinder(self) -> None:
        for path in (
            'volume/detail',
            'volume/summary',
            'snapshot/detail',
        ):
            status, _answer = self.ask(f'{_BASE}/sources/{path}/')
            self.assertEqual(404, status)

    def test_no_other_kind(self) -> None:
        self.assertRaises(
            urls.Resolver404, self.ask, f'{_BASE}/sources/secret/v/'
        )
