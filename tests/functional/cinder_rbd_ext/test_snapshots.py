# SPDX-License-Identifier: Apache-2.0

"""Snapshots of images that an operator migrates."""

from cinder import exception
from cinder import objects

from cinder_rbd_ext import exceptions
from tests import runs
from tests.functional.cinder_rbd_ext import base


@runs.tags(runs.DEBIAN)
class SnapshotsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.snapshot = objects.Snapshot.get_by_id(
            self.admin, self.new_snapshot(self.volume).id
        )

    def test_live_migration_by_an_operator_ends_no_service(self) -> None:
        """librbd aborts the process that removes the snapshot."""
        # Not in this process: librbd may end it.
        image = f'volumes/{self.volume.name}'
        self.rbd('migration', 'prepare', image, image)
        self.assertRaises(
            exception.SnapshotIsBusy,
            self.driver.delete_snapshot,
            self.snapshot,
        )
        clone = self.new_volume(source_volid=self.volume.id)
        error = self.assertRaises(
            exceptions.ImageMigrating,
            self.driver.create_cloned_volume,
            clone,
            self.volume,
        )
        self.assertIn('in a live migration', str(error))
        self.rbd('migration', 'execute', image)
        self.rbd('migration', 'commit', image)
        self.driver.delete_snapshot(self.snapshot)
