# SPDX-License-Identifier: Apache-2.0


import ddt

from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from tests.unit.cinder_rbd_ext import base as driver_base


@ddt.ddt
class FlatCopyTest(driver_base.DriverTestCase):
    """Copies that do not depend on the parent of their image."""

    def _is_flat(self, name: str) -> bool:
        mark = marker.Marker(
            'uuid', 'host', former_pool='volumes', pool='volumes'
        )
        return copies.Copy(self.driver, name, mark).is_flat

    def test_copy_of_a_clone_of_a_volume_is_flat(self) -> None:
        """The stock driver releases a source by the name of its clone."""
        source = self.made_volume()
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.assertTrue(self._is_flat(clone.name))
        self.assertFalse(self._is_flat(source.name))

    @ddt.data(False, True)
    def test_copy_of_a_restored_snapshot_is_flat_if_it_was_deleted(
        self, is_deleted: bool
    ) -> None:
        source = self.made_volume()
        snapshot = self.new_snapshot(source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.driver.create_volume_from_snapshot(volume, snapshot)
        if is_deleted:
            self.driver.delete_snapshot(snapshot)
        self.assertIs(is_deleted, self._is_flat(volume.name))
