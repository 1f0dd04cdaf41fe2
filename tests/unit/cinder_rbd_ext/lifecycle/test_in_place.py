# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import exception
from cinder.db import api as db
import ddt

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests import feature_bits
from tests.unit.cinder_rbd_ext import base

_LOCK, _MAP = feature_bits.LOCK, feature_bits.MAP


@ddt.ddt
class ExtendTest(base.DriverTestCase):
    def _size(self, volume: Any) -> int:
        return int(self.cluster.stored(volume.name).size)

    def test_extend_resizes_image(self) -> None:
        volume = self.made_volume(base.ASKED)
        self.driver.extend_volume(volume, '3')
        self.assertEqual(3 * base.GIB, self._size(volume))

    def test_late_request_does_not_truncate_what_was_extended_since(
        self,
    ) -> None:
        """A service was stopped, and an administrator reset the status."""
        volume = self.made_volume()
        self.driver.extend_volume(volume, '3')
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.extend_volume,
            volume,
            '2',
        )
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
        # The volume is unchanged: no reason is recorded for its tenant.
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
        self._refused(volume, 4, '4 GiB is not a multiple of 64 KiB x 3')
        self.driver.extend_volume(volume, 6)
        self.assertEqual(6 * base.GIB, self._size(volume))

    def test_renamed_section(self) -> None:
        """As in the API, the record applies whatever section wrote it."""
        volume = self.made_volume(
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}, size=3
        )
        self.update(volume, {'host': 'host@renamed#ceph'})
        self._refused(volume, 4, 'not a multiple')

    def test_edited_record(self) -> None:
        """As in the API, an invalid record counts as none."""
        volume = self.made_volume(
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}, size=3
        )
        db.volume_update(self.admin, volume.id, {'provider_id': 'x'})
        self.driver.extend_volume(volume, 4)
        self.assertEqual(4 * base.GIB, self._size(volume))

    def test_map_that_would_be_too_large(self) -> None:
        volume = self.made_volume(
            {keys.OBJECT_SIZE: '4K', keys.OBJECT_MAP: 'true'}
        )
        self._refused(volume, 2048, 'up to 256,000,000 objects')
        self.driver.extend_volume(volume, 900)
