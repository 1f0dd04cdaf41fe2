# SPDX-License-Identifier: Apache-2.0

"""Volumes that are migrated to a back end without our driver."""

from typing import Any
from unittest import mock

from cinder import objects
from cinder.db import api as db
import ddt

from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import base

_THERE = 'host@stock#stock'


@ddt.ddt
class FinishedTest(base.DriverTestCase):
    def _migrated(self, host: str | None = _THERE) -> tuple[Any, Any]:
        """Return a volume and the record of its former image, as in Cinder."""
        volume = self.made_volume({**base.ASKED, 'colour': 'blue'})
        former = self.new_volume(
            {**base.ASKED, 'colour': 'blue'}, status='available', host=_THERE
        )
        volume = objects.Volume.get_by_id(self.admin, volume.id)
        volume.previous_status = 'available'
        former = objects.Volume.get_by_id(self.admin, former.id)
        former = volume.finish_volume_migration(former)
        if host:
            volume.host = host
            volume.save()
        former.refresh()
        return volume, former

    def _metadata(self, volume: Any) -> dict[str, str]:
        return dict(db.volume_metadata_get(self.admin, volume.id))

    def test_keys_and_record_are_removed_with_the_image(self) -> None:
        volume, former = self._migrated()
        self.driver.delete_volume(former)
        self.assertEqual([], self.cluster.names())
        self.assertEqual({'colour': 'blue'}, self._metadata(volume))
        self.assertEqual({}, self.recorded(volume))
        self.assertIn('new back end does not support', self.log.output)

    def test_old_record(self) -> None:
        volume, former = self._migrated()
        db.volume_admin_metadata_delete(
            self.admin, volume.id, 'rbd:recorded_by'
        )
        self.driver.delete_volume(former)
        self.assertEqual({'colour': 'blue'}, self._metadata(volume))

    def test_back_end_of_ours(self) -> None:
        volume, former = self._migrated()
        db.volume_admin_metadata_update(
            self.admin, volume.id, {'rbd:recorded_by': 'host@stock'}, False
        )
        before = self.recorded(volume)
        self.driver.delete_volume(former)
        self.assertEqual(before, self.recorded(volume))
        self.assertIn(keys.OBJECT_SIZE, self._metadata(volume))

    def test_other_deletion(self) -> None:
        """The status decides; a tenant can change only the description."""
        volume, former = self._migrated()
        former.migration_status = None
        former.save()
        self.driver.delete_volume(former)
        self.assertIn(keys.OBJECT_SIZE, self._metadata(volume))

    def test_deleted_meanwhile(self) -> None:
        volume, former = self._migrated()
        volume.destroy()
        self.driver.delete_volume(former)
        self.assertEqual([], self.cluster.names())

    def test_image_is_deleted_if_keys_remain(self) -> None:
        """Delete the image even if the keys cannot be removed."""
        _, former = self._migrated()
        with mock.patch.object(
            db, 'volume_metadata_delete', autospec=True, side_effect=OSError
        ):
            self.driver.delete_volume(former)
        self.assertEqual([], self.cluster.names())
        self.assertIn('Could not remove the keys', self.log.output)
