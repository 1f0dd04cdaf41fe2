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

import json
from typing import Any

from cinder import exception
from cinder import objects
from cinder.db import api as db
import ddt

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests import feature_bits
from tests.unit.cinder_rbd_ext import base

_LOCK, _MAP = feature_bits.LOCK, feature_bits.MAP


@ddt.ddt
class StartTest(base.DriverTestCase):
    """A backend that can't be had doesn't start."""

    def test_options_that_contradict(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidBackendOptions,
            self.make_driver,
            rbd_volume_stripe_unit='64K',
        )
        for text in ('Backend ceph: ', 'rbd_volume_stripe_unit', 'without'):
            self.assertIn(text, str(error))

    def test_value_that_is_none(self) -> None:
        """oslo.config's own complaint: it names the option."""
        error = self.assertRaises(
            ValueError, self.make_driver, rbd_volume_object_size='3M'
        )
        self.assertIn('not a power of two', str(error))

    def test_data_pool_that_is_not_there(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidBackendOptions,
            self.make_driver,
            rbd_volume_data_pool='nowhere',
        )
        self.assertIn("'nowhere'", str(error))
        self.assertIn('no such pool', str(error))

    def test_data_pool(self) -> None:
        made = self.make_driver(rbd_volume_data_pool='data')
        self.assertEqual('data', made.settings.options.data_pool)

    def test_stock_still_complains(self) -> None:
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
        # What is provisioned is counted where the images are.
        self.assertIn(':volumes', stats['location_info'])


@ddt.ddt
class ExtendTest(base.DriverTestCase):
    def _size(self, volume: Any) -> int:
        return int(self.cluster.stored(volume.name).size)

    def test_extended(self) -> None:
        volume = self.made_volume(base.ASKED)
        self.driver.extend_volume(volume, '3')
        self.assertEqual(3 * base.GIB, self._size(volume))

    def _refused(self, volume: Any, size: int, text: str) -> None:
        error = self.assertRaises(
            exceptions.VolumeOptionRefused,
            self.driver.extend_volume,
            volume,
            size,
        )
        self.assertIn(text, str(error))
        self.assertEqual(volume.size * base.GIB, self._size(volume))
        # The volume is as good as it was: no reason on it for its tenant.
        self.assertRaises(
            exception.GlanceMetadataNotFound,
            db.volume_glance_metadata_get,
            self.admin,
            volume.id,
        )

    def test_broken_stripe(self) -> None:
        volume = self.made_volume(
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}, size=3
        )
        self._refused(volume, 4, '4 GiB is no multiple of 64 KiB x 3')
        self.driver.extend_volume(volume, 6)
        self.assertEqual(6 * base.GIB, self._size(volume))

    def test_map_that_would_be_too_large(self) -> None:
        volume = self.made_volume(
            {keys.OBJECT_SIZE: '4K', keys.OBJECT_MAP: 'true'}
        )
        self._refused(volume, 2048, 'up to 256,000,000 objects')
        self.driver.extend_volume(volume, 900)


@ddt.ddt
class RetypeTest(base.DriverTestCase):
    def _retype(self, volume: Any, **specs: str) -> Any:
        new_type = self.make_type(**specs)
        moved, update = self.driver.retype(
            self.context, volume, new_type, {}, None
        )
        self.update(volume, update)
        return moved

    def _mask(self, volume: Any) -> int:
        return int(self.cluster.stored(volume.name).mask)

    def test_map_on_and_valid(self) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_features='layering')
        )
        self.new_snapshot(volume)
        self.assertTrue(self._retype(volume, rbd_object_map='true'))
        stored = self.cluster.stored(volume.name)
        self.assertEqual(feature_bits.LAYERING | _LOCK | _MAP, stored.mask)
        self.assertEqual([0, 0], [stored.flags, stored.snapshots[0].flags])
        self.assertIn('object-map', self.recorded(volume)[keys.FEATURES])

    def test_map_off(self) -> None:
        volume = self.made_volume()
        self.assertTrue(self._retype(volume, rbd_object_map='false'))
        self.assertEqual(0, self._mask(volume) & _MAP)
        self.assertNotIn('object-map', self.recorded(volume)[keys.FEATURES])

    def test_layout_needs_a_migration(self) -> None:
        volume = self.made_volume()
        before = self._mask(volume)
        moved = self._retype(
            volume, rbd_object_size='1M', rbd_object_map='false'
        )
        self.assertFalse(moved)
        self.assertEqual(before, self._mask(volume))
        self.assertIn('needs a migration', self.log.output)
        self.assertIn('rbd:object_size', self.log.output)

    def test_refused(self) -> None:
        """A type that no volume of this size can have."""
        volume = self.made_volume({keys.OBJECT_MAP: 'true'})
        self.assertRaises(
            exceptions.VolumeOptionRefused,
            self._retype,
            volume,
            rbd_stripe_unit='64K',
            rbd_stripe_count='3',
        )
        self.assertNotEqual(0, self._mask(volume) & _MAP)

    def test_key_that_multiattach_excludes(self) -> None:
        volume = self.made_volume({keys.OBJECT_MAP: 'true', 'a': 'b'})
        self.assertTrue(self._retype(volume, multiattach='<is> True'))
        self.assertEqual(0, self._mask(volume) & (_LOCK | _MAP))
        self.assertEqual({'a': 'b'}, self._metadata(volume))
        self.assertIn('Removed from the metadata', self.log.output)

    def _metadata(self, volume: Any) -> dict[str, str]:
        return dict(db.volume_metadata_get(self.admin, volume.id))

    def test_keys_that_are_not_for_tenants(self) -> None:
        """A cache mode goes; a layout needs a migration to go with it."""
        locked = {'rbd_tenant_options': ''}
        volume = self.made_volume({keys.CACHE_MODE: 'none'})
        self.assertTrue(self._retype(volume, **locked))
        self.assertEqual({}, self._metadata(volume))
        volume = self.made_volume(base.ASKED)
        self.assertFalse(self._retype(volume, **locked))
        self.assertEqual(base.ASKED, self._metadata(volume))

    def test_data_pool_of_the_former_type(self) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_data_pool='data')
        )
        self.assertFalse(self._retype(volume))
        self.assertIn('data pool of the former', self.log.output)

    def test_multiattach_and_back(self) -> None:
        volume = self.made_volume()
        before = self._mask(volume)
        shared = self.make_type(multiattach='<is> True')
        moved, update = self.driver.retype(
            self.context, volume, shared, {}, None
        )
        self.assertTrue(moved)
        self.assertEqual(0, self._mask(volume) & (_LOCK | _MAP))
        self.update(volume, {**update, 'volume_type_id': shared.id})
        volume = objects.Volume.get_by_id(self.admin, volume.id)
        self.new_snapshot(volume)
        self.assertTrue(self._retype(volume))
        stored = self.cluster.stored(volume.name)
        self.assertEqual(before, stored.mask)
        self.assertEqual([0, 0], [stored.flags, stored.snapshots[0].flags])

    @ddt.data(None, '{}')
    def test_nothing_saved(self, location: str | None) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_features='layering')
        )
        volume.provider_location = location
        self.assertEqual(
            {'provider_location': None},
            self.driver._disable_multiattach(volume),
        )
        self.assertEqual(feature_bits.LAYERING, self._mask(volume))
