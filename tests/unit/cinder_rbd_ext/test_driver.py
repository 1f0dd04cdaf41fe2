# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any
from unittest import mock

from cinder import exception
from cinder.db import api as db
from cinder.volume.drivers import rbd
import ddt

from cinder_rbd_ext import driver
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from tests import feature_bits
from tests.unit.cinder_rbd_ext import base

_LOCK, _MAP = feature_bits.LOCK, feature_bits.MAP


@ddt.ddt
class StartTest(base.DriverTestCase):
    """Tests for startup, which invalid settings prevent."""

    def test_options_that_contradict(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidBackendOptions,
            self.make_driver,
            rbd_volume_stripe_unit='64K',
        )
        for text in ('Back end ceph: ', 'rbd_volume_stripe_unit', 'without'):
            self.assertIn(text, str(error))

    def test_stock_still_complains(self) -> None:
        self.override_backend('rbd_share_connections', False)
        self.cluster.fail(
            'Rados.connect', self.cluster.rados.Error('down'), times=9
        )
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.check_for_setup_error,
        )
        self.cluster.forgive()


class StatsTest(base.DriverTestCase):
    def _stats(self, **options: Any) -> dict[str, Any]:
        driver = self.make_driver(**options)
        stats: dict[str, Any] = driver.get_volume_stats(refresh=True)
        return stats

    def test_capabilities_beside_the_stock_ones(self) -> None:
        stats = self._stats(rbd_max_stripe_count=16)
        self.assertIs(True, stats['rbd_volume_options'])
        self.assertEqual(16, stats['rbd_max_stripe_count'])
        self.assertEqual('ceph', stats['storage_protocol'])
        self.assertEqual('up', stats['backend_state'])
        json.dumps(stats)

    def test_capacity_of_the_pool_that_fills_up(self) -> None:
        gib = base.GIB
        self.cluster.total_bytes = 1000 * gib
        for name, stored, quota in (('volumes', 1, 10), ('data', 5, 50)):
            pool = self.cluster.pools[name]
            pool.stored, pool.quota = stored * gib, quota * gib
            pool.max_avail = 900 * gib
        stats = self._stats()
        self.assertEqual(
            (9.0, 10.0),
            (stats['free_capacity_gb'], stats['total_capacity_gb']),
        )
        stats = self._stats(rbd_volume_data_pool='data')
        self.assertEqual(
            (45.0, 50.0),
            (stats['free_capacity_gb'], stats['total_capacity_gb']),
        )
        # Provisioned capacity is counted in the pool of the images.
        self.assertIn(':volumes', stats['rbd_location_info'])

    def test_deletions_do_not_each_begin_a_search_for_retypes(self) -> None:
        """Cinder requests the statistics after each one."""
        with (
            mock.patch.object(driver, 'SEARCH_INTERVAL', 3600.0),
            mock.patch.object(
                self.driver._recovery, 'start', autospec=True
            ) as start,
            mock.patch.object(
                self.driver._retypes,
                'retype',
                autospec=True,
                side_effect=locks.VolumeLocked(volume_id='volume'),
            ),
        ):
            for _ in range(3):
                self.driver.get_volume_stats(refresh=True)
            start.assert_called_once()
            volume = self.new_volume()
            self.assertRaises(
                locks.VolumeLocked,
                self.driver.retype,
                self.context,
                volume,
                volume.volume_type,
                {},
                None,
            )
            # What a retype has left is searched for at once.
            self.driver.get_volume_stats(refresh=True)
            self.assertEqual(2, start.call_count)


class UploadTest(base.DriverTestCase):
    def _upload(self, volume: Any) -> int:
        """Upload a volume; return the places that are taken meanwhile."""
        self.update(volume, {'status': 'uploading'})
        taken: list[int] = []
        with mock.patch.object(
            rbd.RBDDriver,
            'copy_volume_to_image',
            autospec=True,
            side_effect=lambda *args: taken.append(
                self.driver._transfers._free._taken[volume.project_id]
            ),
        ):
            self.driver.copy_volume_to_image(self.context, volume, None, {})
        return taken[0]

    def test_upload_has_a_place(self) -> None:
        self.assertEqual(1, self._upload(self.made_volume()))

    def test_upload_begins_with_the_limits_of_the_keys(self) -> None:
        """A change of keys during a creation is stored only."""
        key = 'rbd:read_bps_limit'
        former = self.made_volume({key: '1M'})
        db.volume_metadata_delete(self.admin, former.id, key)
        self._upload(former)
        stored = self.cluster.stored(former.name).metadata
        self.assertNotIn('conf_rbd_qos_read_bps_limit', stored)
        new = self.made_volume()
        db.volume_metadata_update(self.admin, new.id, {key: '1M'}, False)
        self._upload(new)
        stored = self.cluster.stored(new.name).metadata
        self.assertIn('conf_rbd_qos_read_bps_limit', stored)
