# SPDX-License-Identifier: Apache-2.0

"""The source of a new volume."""

from cinderclient import exceptions
from django import test
from openstack_auth import utils as auth_utils

from horizon_volume_opts import source
from tests.unit.horizon_volume_opts import horizon_case


class FindTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.request = test.RequestFactory().get('/')
        self.request.user = auth_utils.get_user(self.request)
        self.cloud.add_volume('v', volume_type='fast')
        self.cloud.snapshots['s'] = {'id': 's', 'volume_id': 'v', 'size': 1}

    def test_volume_and_snapshot(self) -> None:
        for kind, ident in (('volume', 'v'), ('snapshot', 's')):
            origin = source.find(self.request, kind, ident)
            self.assertEqual('fast', origin.volume_type)
            self.assertEqual('name-of-v', origin.name)

    def test_not_there(self) -> None:
        self.assertRaises(
            exceptions.NotFound, source.find, self.request, 'volume', 'w'
        )
