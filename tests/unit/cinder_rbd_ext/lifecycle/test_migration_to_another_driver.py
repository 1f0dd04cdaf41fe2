# SPDX-License-Identifier: Apache-2.0

"""Volumes that are migrated to a back end without our driver."""

from typing import Any
from unittest import mock

from cinder import objects
from cinder.db import api as db
import ddt

from cinder_rbd_ext import record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit.cinder_rbd_ext import base

_THERE = 'host@stock#stock'
_STATE = options.image_values(layout.ImageLayout(4 << 20), frozenset())


@ddt.ddt
class FinishedTest(base.DriverTestCase):
    def _migrated(
        self, host: str | None = _THERE, recorded_by: str = ''
    ) -> tuple[Any, Any]:
        """Return a volume and the row of its former image, as in Cinder."""
        volume = self.made_volume({**base.ASKED, 'colour': 'blue'})
        former = self.new_volume(
            {**base.ASKED, 'colour': 'blue'}, status='available', host=_THERE
        )
        volume = objects.Volume.get_by_id(self.admin, volume.id)
        volume.previous_status = 'available'
        former = objects.Volume.get_by_id(self.admin, former.id)
        # Cinder copies the column to the new volume, and swaps both.
        former.provider_id = volume.provider_id
        if recorded_by:
            former.provider_id = record.text_for(
                volume, _STATE, volume.id, backend=recorded_by
            )
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

    def test_back_end_of_ours(self) -> None:
        volume, former = self._migrated(recorded_by='host@stock')
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
