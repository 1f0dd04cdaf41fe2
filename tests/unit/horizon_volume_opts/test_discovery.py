# SPDX-License-Identifier: Apache-2.0

"""Offers of volume types, from a fake Cinder through Horizon's client."""

import pickle
from typing import Any
from unittest import mock

from django import test
from django.core import cache
from django.test import utils
from openstack_auth import utils as auth_utils
import requests.exceptions

from horizon_volume_opts import discovery
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_ASK = 'GET /v3/p/os-rbd-volume-options'


class ByTypeTestCase(horizon_case.HorizonTestCase):
    def request(self) -> Any:
        request = test.RequestFactory().get('/')
        request.user = auth_utils.get_user(request)
        request.session = {}
        return request

    def asked(self) -> int:
        return self.cloud.asked.count(_ASK)

    def test_cached_for_a_user_with_a_scope(self) -> None:
        scopes: tuple[dict[str, Any], ...] = (
            {},
            {'id': 'somebody else'},
            {'roles': [{'name': 'admin'}]},
            {'endpoint': 'http://other.example/v3'},
            {'services_region': 'other'},
            {'domain_id': 'other'},
            {'system_scoped': True},
        )
        for scope in scopes:
            request = self.request()
            for name, value in scope.items():
                setattr(request.user, name, value)
            for _ in range(2):
                discovery.by_type(request)
        self.assertEqual(len(scopes), self.asked())

    def test_kept_as_long_as_set(self) -> None:
        with (
            utils.override_settings(RBD_VOLUME_OPTIONS={'discovery_cache': 7}),
            mock.patch.object(cache.cache, 'set', autospec=True) as kept,
        ):
            discovery.by_type(self.request())
        self.assertEqual(7, kept.call_args.args[-1])

    def test_many_types_fit_into_memcached(self) -> None:
        self.cloud.types = [
            fake_cloud.offered(f'type-{n}') for n in range(999)
        ]
        with mock.patch.object(cache.cache, 'set', autospec=True) as kept:
            discovery.by_type(self.request())
        self.assertLess(len(pickle.dumps(kept.call_args.args[1])), 1 << 19)

    def test_works_without_the_cache(self) -> None:
        request = self.request()
        broken = OSError('no memcached')
        with (
            mock.patch.object(
                cache.cache, 'get', autospec=True, side_effect=broken
            ),
            mock.patch.object(
                cache.cache, 'set', autospec=True, side_effect=broken
            ),
        ):
            for _ in range(3):
                self.assertIn('rbd', discovery.by_type(request, ['private']))
        self.assertEqual(1, self.asked())
        self.assertEqual(2, self.log.output.count('no memcached'))

    def test_a_cached_value_of_something_else_is_ignored(self) -> None:
        with mock.patch.object(cache.cache, 'get', autospec=True) as get:
            get.return_value = b'of something else'
            self.assertIn('rbd', discovery.by_type(self.request()))
        self.assertEqual(1, self.asked())

    def test_asked_anew_for_a_type_that_the_answer_lacks(self) -> None:
        discovery.by_type(self.request(), ['rbd'])
        self.cloud.types.append(fake_cloud.offered('new'))
        self.assertIn('new', discovery.by_type(self.request(), ['new']))
        discovery.by_type(self.request(), ['new', 'rbd'])
        self.assertEqual(2, self.asked())

    def test_asked_once_for_a_page_with_types_of_others(self) -> None:
        discovery.by_type(self.request())
        request = self.request()
        for name in ('private', 'hidden', 'private', 'rbd'):
            discovery.of_type(request, name)
        self.assertEqual(2, self.asked())

    def test_waits_no_longer_than_set(self) -> None:
        discovery.by_type(self.request())
        self.assertEqual(3, self.cloud.timeouts[_ASK])

    def test_a_cinder_that_does_not_answer(self) -> None:
        for fault in (
            requests.exceptions.ReadTimeout('slow'),
            requests.exceptions.ConnectionError('nobody there'),
            fake_cloud.Refused(503, 'no back end has reported'),
            fake_cloud.Refused(500, 'oops'),
        ):
            cache.cache.clear()
            self.cloud.asked.clear()
            self.cloud.faults = {_ASK: fault}
            for _ in range(2):
                self.assertRaises(
                    discovery.Unavailable, discovery.by_type, self.request()
                )
            # A request that just failed is not repeated.
            self.assertEqual(1, self.asked())
        self.assertIn('forms do not show them', self.log.output)

    def test_an_invalid_type_does_not_affect_others(self) -> None:
        """Lists cannot be looked up, so they are no codes and no texts."""
        self.cloud.types += [
            fake_cloud.offered('from', object_size={'default_from': []}),
            {**fake_cloud.not_offered('reason'), 'reason': ['why']},
            fake_cloud.offered('zero', object_size={'minimum': 0}),
        ]
        offers = discovery.by_type(self.request())
        self.assertIsNone(offers['rbd'].reason)
        for name in ('from', 'reason', 'zero'):
            self.assertTrue(offers[name].is_invalid, name)
            self.assertEqual(frozenset(), offers[name].settable)

    def test_an_answer_of_something_else(self) -> None:
        self.cloud.types = None  # type: ignore[assignment]
        self.assertRaises(
            discovery.Unavailable, discovery.by_type, self.request()
        )

    def test_a_region_without_cinder(self) -> None:
        request = self.request()
        request.user.services_region = 'elsewhere'
        self.assertEqual({}, discovery.by_type(request))
        self.assertEqual(0, self.asked())

    def test_a_cinder_without_the_extension(self) -> None:
        for status in (404, 403):
            cache.cache.clear()
            self.cloud.faults = {_ASK: fake_cloud.Refused(status, 'no')}
            self.assertEqual({}, discovery.by_type(self.request(), ['rbd']))


class PagesTestCase(horizon_case.HorizonTestCase):
    def test_number_of_requests_is_that_of_the_page_for_operators(
        self,
    ) -> None:
        """The administrator's guide has this table."""
        self.login('admin')
        self.cloud.add_volume('v')
        self.cloud.snapshots['s'] = {
            'id': 's',
            'name': 's',
            'volume_id': 'v',
            'size': 1,
            'status': 'available',
        }
        self.cloud.servers['s'] = {'id': 's', 'name': 's', 'status': 'ACTIVE'}
        for path, ours in (
            ('project/volumes/', 1),
            ('project/volumes/create/', 1),
            ('project/volumes/create/?snapshot_id=s', 3),
            ('project/volumes/v/attach/', 1),
            ('project/volumes/v/retype/', 1),
            ('project/volumes/v/extend/', 0),
            ('project/instances/s/attach_volume/', 1),
            ('admin/volume_types/', 1),
            ('admin/volume_types/id-of-rbd/rbd_options/', 1),
        ):
            numbers = []
            by_type: Any
            for by_type in (discovery.by_type, lambda request, names=(): {}):
                cache.cache.clear()
                self.cloud.asked.clear()
                with mock.patch.object(discovery, 'by_type', by_type):
                    response = self.client.get(f'/{path}')
                self.assertEqual(200, response.status_code)
                # Without look-ups of the versions of an API.
                asked = [a for a in self.cloud.asked if a != 'GET /']
                numbers.append(len(asked))
            self.assertEqual(ours, numbers[0] - numbers[1], path)
