# SPDX-License-Identifier: Apache-2.0

"""Options and reported capabilities of a back end."""

import json
import subprocess

from oslo_utils import units

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base


class StatsTest(base.DriverTestCase):
    """Tests for the report to the scheduler."""

    def test_report_has_the_options_of_the_back_end(self) -> None:
        driver = self.make_driver(
            rbd_volume_object_size='8M',
            rbd_max_stripe_count=4,
            rbd_tenant_options=keys.CACHE_MODE,
        )
        stats = driver.get_volume_stats(refresh=True)
        self.assertIs(True, stats['rbd_volume_options'])
        self.assertEqual(8 * units.Mi, stats['rbd_volume_object_size'])
        self.assertEqual(4, stats['rbd_max_stripe_count'])
        self.assertEqual([keys.CACHE_MODE], stats['rbd_tenant_options'])
        self.assertNotIn('unsafe', stats['rbd_allowed_cache_modes'])
        # The report is sent over RPC as JSON.
        self.assertEqual(stats, json.loads(json.dumps(stats)))

    def test_capacity_is_that_of_the_data_pool(self) -> None:
        driver = self.make_driver(rbd_volume_data_pool='volumes-data')
        self._quota('volumes-data', 3 * units.Gi)
        self.addCleanup(self._quota, 'volumes-data', 0)
        stats = driver.get_volume_stats(refresh=True)
        self.assertEqual(3.0, stats['total_capacity_gb'])
        plain = self.make_driver().get_volume_stats(refresh=True)
        self.assertNotEqual(3.0, plain['total_capacity_gb'])

    def _quota(self, pool: str, size: int) -> None:
        command = ['ceph', '--conf', self.cluster.conf, '--id', 'admin']
        command += ['osd', 'pool', 'set-quota', pool, 'max_bytes', str(size)]
        subprocess.run(command, capture_output=True, check=True)


class SettingsTest(base.DriverTestCase):
    def test_pool_that_does_not_exist_prevents_startup(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidBackendOptions,
            self.make_driver,
            rbd_volume_data_pool='nowhere',
        )
        self.assertIn("'nowhere'", str(error))
        self.assertIn('the pool does not exist', str(error))


class CephConfigurationTest(base.DriverTestCase):
    """The configuration of Ceph has the lowest precedence."""

    def setUp(self) -> None:
        super().setUp()
        for option, value in (
            ('rbd_default_stripe_unit', '65536'),
            ('rbd_default_stripe_count', '2'),
        ):
            self.rbd('config', 'pool', 'set', 'volumes', option, value)
            self.addCleanup(
                self.rbd, 'config', 'pool', 'rm', 'volumes', option
            )

    def test_striping_of_the_pool_with_an_object_size(self) -> None:
        volume = self.made_volume({keys.OBJECT_SIZE: '1M'})
        self.assertEqual(
            {
                'object_size': units.Mi,
                'stripe_unit': 65536,
                'stripe_count': 2,
            },
            self.layout_of(volume),
        )

    def test_the_scheduler_is_told(self) -> None:
        stats = self.driver.get_volume_stats(refresh=True)
        self.assertEqual(65536, stats['rbd_default_stripe_unit'])
        self.assertEqual(2, stats['rbd_default_stripe_count'])
        self.assertIn('object-map', stats['rbd_default_features'])

    def test_an_object_size_smaller_than_the_pools_unit(self) -> None:
        volume = self.new_volume({keys.OBJECT_SIZE: '32K'})
        error = self.assertRaises(
            exceptions.VolumeOptionRefused, self.driver.create_volume, volume
        )
        self.assertIn('not a factor', str(error))
        self.assertEqual([], self.cluster.names())

    def test_no_striping_by_the_volume(self) -> None:
        volume = self.made_volume(
            {keys.STRIPE_UNIT: '4M', keys.STRIPE_COUNT: '1'}
        )
        self.assertNotIn('striping', self.features_of(volume))
