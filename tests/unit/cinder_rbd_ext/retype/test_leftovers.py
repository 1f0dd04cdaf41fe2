# SPDX-License-Identifier: Apache-2.0

from cinder import exception
from cinder.db import api as db

from cinder_rbd_ext.retype import leftovers
from cinder_rbd_ext.retype import marker
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import base


class SettledTest(base.DriverTestCase):
    def test_key_that_contradicts_the_image_is_removed(self) -> None:
        """A client has written back what it read before the retype."""
        volume = self.made_volume()
        written = {keys.OBJECT_SIZE: '1M', 'a': 'b'}
        db.volume_metadata_update(self.admin, volume.id, written, False)
        marker.write(volume.id, marker.Marker('req-1', 'type', '123'))
        self.driver._retypes.leftovers.settle(volume.id)
        metadata = db.volume_metadata_get(self.admin, volume.id)
        self.assertEqual({'a': 'b'}, dict(metadata))
        self.assertIsNone(marker.of_volume(volume.id))

    def test_marker_of_a_retype_without_its_image_stays(self) -> None:
        """The pool is wrong. In the right one, a swap may be half done."""
        volume = self.made_volume()
        written = marker.write(volume.id, marker.Marker('r-1', 'type', '123'))
        self.driver.configuration.rbd_pool = 'volumes2'
        self.driver._retypes.leftovers.settle_other('r-2', volume.id)
        self.assertEqual(written, marker.of_volume(volume.id))
        # Half of a swap would be removed as that of a deleted volume.
        self.assertRaises(
            exception.VolumeBackendAPIException, self.driver.unmanage, volume
        )
        marker.forget(volume.id)
        self.driver.unmanage(volume)

    def test_removal_that_fails_is_logged(self) -> None:
        with leftovers.attempting('the-volume'):
            self.driver.images.state_of('no-image')
        self.assertIn('the-volume has left; trying again', self.log.output)
