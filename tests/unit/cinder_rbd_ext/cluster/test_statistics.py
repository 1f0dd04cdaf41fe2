# SPDX-License-Identifier: Apache-2.0

"""The statistics of a back end."""

import errno
from typing import Any
from unittest import mock

from cinder_rbd_ext.cluster import statistics
from rbd_volume_options import backend_settings
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_LOCATION = {backend_settings.LOCATION_INFO: 'ceph:volumes'}


class StatisticsTest(base.DriverTestCase):
    def test_of_a_back_end_that_is_up(self) -> None:
        reported = statistics.added(
            self.driver, {'backend_state': 'up', **_LOCATION}
        )
        self.assertIs(True, reported[backend_settings.CAPABILITY])
        self.assertIn('layering', reported['rbd_default_features'])
        self.assertEqual(
            'ceph:volumes', reported[backend_settings.LOCATION_INFO]
        )

    def test_of_a_back_end_that_is_down(self) -> None:
        """The cluster is not queried."""
        reported = statistics.added(
            self.driver, {'backend_state': 'down', **_LOCATION}
        )
        self.assertIsNone(reported['rbd_default_features'])

    def test_size_of_the_volumes_follows_the_database(self) -> None:
        """Cinder adds up a number that a migration makes wrong."""
        self.driver.host = 'test_host'
        self.new_volume(size=2)
        moved = self.new_volume(size=3)

        def provisioned(**stock: Any) -> Any:
            up = {'backend_state': 'up', **_LOCATION, **stock}
            return statistics.added(self.driver, up).get(
                'provisioned_capacity_gb'
            )

        self.assertEqual(5, provisioned())
        self.update(moved, {'host': 'elsewhere'})
        self.assertEqual(2, provisioned())
        self.assertIsNone(provisioned(provisioned_capacity_gb=9))
        self.driver.cluster_name = 'cluster@ceph'
        self.assertIsNone(provisioned())


_STOCK = {backend_settings.LOCATION_INFO: 'ceph:volumes'}


class DataPoolsTest(base.DriverTestCase):
    """The pools of the fake cluster."""

    def _reported(self, state: str = 'up') -> list[str] | None:
        report = statistics.added(
            self.driver, {'backend_state': state, **_STOCK}
        )
        names: list[str] | None = report[backend_settings.RBD_DATA_POOLS]
        return names

    def test_other_pools_of_the_application_are_reported(self) -> None:
        self.cluster.pools['images'].applications = ('rgw',)
        self.assertEqual(['data', 'volumes2'], self._reported())

    def test_operator_lists_the_pools(self) -> None:
        self.driver = self.make_driver(rbd_data_pools='volumes2,gone')
        self.assertEqual(['volumes2'], self._reported())

    def test_no_pool_is_written(self) -> None:
        for pool in self.cluster.pools.values():
            pool.write_error = errno.EPERM
        self.assertEqual(['data', 'images', 'volumes2'], self._reported())

    def test_pool_that_is_deleted_meanwhile_is_left_out(self) -> None:
        with mock.patch.object(
            fake_rados.Rados,
            'list_pools',
            autospec=True,
            return_value=['gone', 'data'],
        ):
            self.assertEqual(['data'], self._reported())

    def test_number_of_pools_is_limited(self) -> None:
        for number in range(2 * statistics.MAXIMUM):
            self.cluster.add_pool(f'more-{number:03d}')
        self.assertEqual(statistics.MAXIMUM, len(self._reported() or ()))
        self.assertIn('Only 50 of 103 pools', self.log.output)

    def test_pools_are_unknown_if_the_cluster_fails(self) -> None:
        self.cluster.fail('Rados.list_pools', fake_rados.OSError(5))
        self.assertIsNone(self._reported())
        self.assertIn('Could not list the pools', self.log.output)

    def test_cluster_that_is_down_is_not_asked(self) -> None:
        self.assertIsNone(self._reported('down'))
