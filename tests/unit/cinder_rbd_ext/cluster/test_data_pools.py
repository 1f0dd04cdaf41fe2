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

"""Unit tests of cinder_rbd_ext.cluster.data_pools."""

import errno
import threading
from unittest import mock

from cinder_rbd_ext.cluster import data_pools
from cinder_rbd_ext.cluster import statistics
from rbd_volume_options import wire
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_STOCK = {'backend_state': 'up', wire.LOCATION_INFO: 'ceph:volumes'}


class DataPoolsTest(base.DriverTestCase):
    """The search for data pools on the fake cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.pools = data_pools.DataPools(self.driver, lambda: self.now)
        self.found = self.cluster.pools

    def _searched(self) -> list[str] | None:
        self.pools.search()
        return self.pools.names

    def test_other_pools_of_the_application(self) -> None:
        self.found['images'].applications = ('rgw',)
        self.assertEqual(['data', 'volumes2'], self._searched())
        for pool in self.found.values():
            self.assertEqual({}, pool.objects)

    def test_only_pools_that_can_be_written(self) -> None:
        self.found['data'].write_error = errno.EPERM
        self.found['images'].write_error = errno.ENOSPC
        self.assertEqual(['volumes2'], self._searched())

    def test_pool_that_is_deleted_meanwhile(self) -> None:
        with mock.patch.object(
            fake_rados.Rados,
            'list_pools',
            autospec=True,
            return_value=['gone', 'data'],
        ):
            self.assertEqual(['data'], self._searched())

    def test_ends_at_the_first_silent_pool_and_tries_it_last(self) -> None:
        self.found['data'].write_error = errno.ETIMEDOUT
        self.assertEqual([], self._searched())
        self.assertIn('Pool data does not respond', self.log.output)
        # The others are found by the next search.
        self.assertEqual(['images', 'volumes2'], self._searched())
        self.found['data'].write_error = 0
        self.assertEqual(['data', 'images', 'volumes2'], self._searched())

    def test_number_is_limited(self) -> None:
        for number in range(2 * data_pools.MAXIMUM):
            self.cluster.add_pool(f'more-{number:03d}')
        self.assertEqual(data_pools.MAXIMUM, len(self._searched() or ()))
        self.assertIn('Only 50 of 103 pools', self.log.output)

    def _start(self) -> int:
        """Start as the statistics do; return the number of threads."""
        before = set(threading.enumerate())
        self.pools.start()
        begun = set(threading.enumerate()) - before
        for thread in begun:
            thread.join()
        return len(begun)

    def test_once_in_ten_minutes(self) -> None:
        self.driver.host = 'host@ceph'
        with mock.patch.object(self.pools, 'search', autospec=True) as search:
            for now, count in ((0, 1), (599, 1), (600, 2)):
                self.now = now
                self._start()
                self.assertEqual(count, search.call_count, now)

    def test_in_the_background(self) -> None:
        """The statistics do not wait, and have the last result."""
        go = threading.Event()
        self.addCleanup(go.set)
        self.driver.host = 'host@ceph'
        self.driver.images.data_pools = self.pools
        found = ['data']

        def slow() -> None:
            go.wait(60)
            self.pools.names = found

        with mock.patch.object(
            self.pools, 'search', autospec=True, side_effect=slow
        ):
            before = set(threading.enumerate())
            first = statistics.added(self.driver, _STOCK)
            (thread,) = set(threading.enumerate()) - before
            self.now = 1e6
            statistics.added(self.driver, _STOCK)
            self.assertEqual(1, len(set(threading.enumerate()) - before))
            go.set()
            thread.join()
        self.now = 0
        self.assertIsNone(first[wire.RBD_DATA_POOLS])
        second = statistics.added(self.driver, _STOCK)
        self.assertEqual(found, second[wire.RBD_DATA_POOLS])

    def test_cluster_that_fails(self) -> None:
        """The last result stays."""
        self.pools.names = ['data']
        self.driver.host = 'host@ceph'
        self.cluster.fail('Rados.list_pools', fake_rados.OSError(5))
        self._start()
        self.assertEqual(['data'], self.pools.names)
        self.assertIn('Could not search for data pools', self.log.output)

    def test_not_without_a_service(self) -> None:
        self.driver.host = None
        self.pools.start()
        self.driver.host = 'host@ceph'
        self.driver.images.data_pools = self.pools
        statistics.added(self.driver, {**_STOCK, 'backend_state': 'down'})
        self.assertIsNone(self.pools.names)
