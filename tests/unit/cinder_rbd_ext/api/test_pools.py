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

"""Unit tests of cinder_rbd_ext.api.pools."""

from typing import Any
from unittest import mock

from cinder import objects
from cinder.scheduler import rpcapi
import webob.exc

from cinder_rbd_ext.api import pools
from tests.unit import base
from tests.unit.cinder_rbd_ext.api import base as api_base


class ReportedPoolsTest(base.TestCase):
    """What the scheduler tells, and for how long it is good."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(rpcapi, 'SchedulerAPI', autospec=True)
        self.scheduler = patch.start().return_value
        self.addCleanup(patch.stop)
        self.scheduler.get_pools.return_value = api_base.POOLS
        self.now = 1000.0
        self.reported = pools.ReportedPools(lambda: self.now)

    def _matching(self, **specs: str) -> list[str]:
        return [pool.backend for pool in self.reported.matching(specs)]

    def test_asked_for_once_in_a_while(self) -> None:
        for seconds, asked in ((0, 1), (9.9, 1), (10, 2), (11, 2)):
            self.now = 1000.0 + seconds
            self.reported.all()
            self.assertEqual(asked, self.scheduler.get_pools.call_count)

    def test_nothing_is_not_remembered(self) -> None:
        self.scheduler.get_pools.return_value = []
        self.assertRaises(webob.exc.HTTPServiceUnavailable, self.reported.all)
        self.scheduler.get_pools.return_value = api_base.POOLS
        self.assertEqual(3, len(self.reported.all()))

    def test_matching(self) -> None:
        self.assertEqual(
            ['host@rbd'], self._matching(volume_backend_name='rbd')
        )
        specs: Any = {'capabilities:rbd_volume_options': '<is> True'}
        self.assertEqual(['host@rbd', 'host@rbd2'], self._matching(**specs))
        specs = {'rbd:stripe_unit': '64K', 'vendor:x': '1'}
        self.assertEqual(3, len(self._matching(**specs)))
        self.assertEqual([], self._matching(volume_backend_name='none'))

    def test_operand_that_is_none(self) -> None:
        self.assertEqual([], self._matching(volume_backend_name='<or>'))
        self.assertEqual([], self._matching(rbd_max_stripe_count='s< x'))

    def test_holding(self) -> None:
        pool = self._holding(host='host@rbd#rbd')
        self.assertIsNotNone(pool)
        self.assertIsNone(self._holding(host='host@none#none'))
        self.assertIsNone(self._holding(host=None))

    def test_holding_of_a_cluster(self) -> None:
        """Its pools are named by the cluster; its volumes' hosts are not."""
        where = {'host': 'one@rbd#rbd', 'cluster_name': 'host@rbd#rbd'}
        pool = self._holding(**where)
        self.assertEqual('host@rbd#rbd', pool and pool.name)

    def _holding(self, **where: str | None) -> pools.Pool | None:
        return self.reported.holding(
            objects.Volume(**{'cluster_name': None, **where})
        )
