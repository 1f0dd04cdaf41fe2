# SPDX-License-Identifier: Apache-2.0

"""Routes for the scripts of the pages."""

import requests.exceptions

from horizon_volume_opts import rest
from horizon_volume_opts.volumes import create
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_ROUTES = ('new-volume', 'cache-modes', 'effects')


class FragmentTest(horizon_case.HorizonTestCase):
    def test_address_has_what_does_not_depend_on_the_form(self) -> None:
        self.assertEqual(
            '/api/rbd_volume_options/new-volume/?default_type=a+%26',
            rest.address(create.Group, default_type='a &'),
        )

    def test_no_answer_while_cinder_does_not_return_the_options(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        status, answer = self.ask('new-volume', type='rbd')
        self.assertEqual(503, status)
        # The script shows the texts then, too.
        self.assertEqual('RBD Volume Options', answer['title'])

    def test_only_for_users_who_are_logged_in(self) -> None:
        self.logout()
        for route in _ROUTES:
            status, _answer = self.ask(route)
            self.assertEqual(401, status)
        self.assertEqual([], self.cloud.asked)

    def test_volume_that_does_not_exist(self) -> None:
        for route in ('cache-modes', 'effects'):
            status, _answer = self.ask(route, volume='none', volume_type='rbd')
            self.assertEqual(404, status)

    def test_type_that_is_newer_than_the_cached_answer(self) -> None:
        self.ask('new-volume', type='rbd')
        self.cloud.types.append(fake_cloud.offered('new'))
        _status, answer = self.ask('new-volume', type='new')
        self.assertIn('(default)', answer['html'])
