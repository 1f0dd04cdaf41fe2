# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder_rbd_ext.cluster import capacity
from tests.fakes import fake_images
from tests.unit import base
from tests.unit.cinder_rbd_ext import base as base_of_driver


class _Configuration:
    rbd_pool = 'volumes'
    rbd_user = 'cinder'

    def safe_get(self, name: str) -> Any:
        return getattr(self, name, None)


class _Driver:
    def __init__(self) -> None:
        self.configuration = _Configuration()

    def pool(self) -> str:
        return self.configuration.rbd_pool


class LookingAtTest(base.TestCase):
    def test_view_looks_at_another_pool(self) -> None:
        driver: Any = _Driver()
        view = capacity.looking_at(driver, 'data')
        self.assertEqual('data', view.pool())
        self.assertEqual('cinder', view.configuration.rbd_user)
        self.assertEqual('cinder', view.configuration.safe_get('rbd_user'))

    def test_driver_itself_stays(self) -> None:
        """The driver keeps its pool, which other threads use meanwhile."""
        driver: Any = _Driver()
        capacity.looking_at(driver, 'data')
        self.assertEqual('volumes', driver.pool())


class ProvisionedTest(base_of_driver.DriverTestCase):
    def test_all_images_of_the_pool(self) -> None:
        self.made_volume(size=2)
        self.made_volume(size=1)
        self.assertEqual(3, self.driver._get_usage_info())
        self.override_backend('rbd_exclusive_cinder_pool', False)
        stats = self.driver.get_volume_stats(refresh=True)
        self.assertEqual(3, stats['provisioned_capacity_gb'])

    def test_as_stock_where_librbd_can_not(self) -> None:
        self.made_volume(size=2)
        self.cluster.fail(
            'RBD.pool_stats_get', fake_images.OSError('made to fail')
        )
        self.assertEqual(2, self.driver._get_usage_info())
        self.assertIn('Could not get the size', self.log.output)
