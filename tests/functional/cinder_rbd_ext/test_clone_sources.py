# SPDX-License-Identifier: Apache-2.0

"""Test the deletion of clones and their sources.

``test_purger.py`` deletes them in each order.
"""

from typing import Any

from cinder.volume.drivers import rbd as stock_rbd
import ddt
import rbd

from tests.functional.cinder_rbd_ext import base


class CloneSourcesTestCase(base.DriverTestCase):
    """Base class of tests with volumes and their clones."""

    def clone(self, source: Any, driver: Any = None) -> Any:
        """Return a clone of a volume."""
        volume = self.new_volume(
            size=source.size,
            source_volid=source.id,
            volume_type=source.volume_type_id,
        )
        made = (driver or self.driver).create_cloned_volume(volume, source)
        self.update(volume, made)
        return volume

    def snapshots_of(self, name: str) -> list[str]:
        """Return the names of an image's snapshots."""
        with self.cluster.image(name, read_only=True) as image:
            return [snapshot['name'] for snapshot in image.list_snaps()]

    def trashed(self) -> list[str]:
        """Return the names of the images in the trash."""
        entries = rbd.RBD().trash_list(self.cluster.ioctx())
        return [entry['name'] for entry in entries]

    def empty_trash(self) -> None:
        """Remove all images in the trash."""
        ioctx = self.cluster.ioctx()
        for entry in list(rbd.RBD().trash_list(ioctx)):
            rbd.RBD().trash_remove(ioctx, entry['id'], force=True)


@ddt.ddt
class SourcesTest(CloneSourcesTestCase):
    """Snapshots of sources go with their clones, and nothing else."""

    def test_snapshot_goes_with_its_clone(self) -> None:
        source = self.made_volume()
        first, second = self.clone(source), self.clone(source)
        self.driver.delete_volume(first)
        self.assertEqual(
            [f'{second.name}.clone_snap'], self.snapshots_of(source.name)
        )

    @ddt.data(True, False)
    def test_flattened_clone(self, clone_first: bool) -> None:
        source = self.made_volume()
        clone = self.clone(source)
        with self.cluster.image(clone.name) as image:
            image.flatten()
        volumes = (clone, source) if clone_first else (source, clone)
        for volume in volumes:
            self.driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())

    def test_clone_of_a_snapshot_of_a_clone(self) -> None:
        source = self.made_volume()
        between = self.clone(source)
        snapshot = self.new_snapshot(between)
        last = self.new_volume()
        self.driver.create_volume_from_snapshot(last, snapshot)
        self.driver.delete_volume(source)
        self.driver.delete_snapshot(snapshot)
        # Its snapshot in librbd's trash has a clone.
        self.driver.delete_volume(between)
        self.driver.delete_volume(last)
        for _ in range(3):
            self.driver._trash_purge()
        self.assertEqual([], self.trashed())
        self.assertEqual([], self.cluster.names())

    def test_what_users_took_is_kept(self) -> None:
        """A snapshot with another name keeps a deleted source."""
        source = self.made_volume()
        clone = self.clone(source)
        self.driver.delete_volume(source)
        with self.cluster.image(f'{source.name}.deleted') as image:
            image.create_snap('mine')
        self.driver.delete_volume(clone)
        self.assertEqual(['mine'], self.snapshots_of(f'{source.name}.deleted'))

    def test_content_of_the_other_clone(self) -> None:
        source = self.made_volume()
        with self.cluster.image(source.name) as image:
            image.write(b'content', 0)
        first, second = self.clone(source), self.clone(source)
        self.driver.delete_volume(source)
        self.driver.delete_volume(first)
        with self.cluster.image(second.name) as image:
            self.assertEqual(b'content', image.read(0, 7))


class TrashTest(CloneSourcesTestCase):
    """A clone in the trash still counts as a clone."""

    def trash(self, volume: Any) -> None:
        """Move a volume to the trash, as operators or the stock driver may."""
        rbd.RBD().trash_move(self.cluster.ioctx(), volume.name, 0)

    def test_delete_does_not_fail(self) -> None:
        source = self.made_volume()
        clone = self.clone(source)
        self.trash(clone)
        self.driver.delete_volume(clone)
        self.assertEqual(
            [f'{clone.name}.clone_snap'], self.snapshots_of(source.name)
        )
        self.empty_trash()
        self.driver.delete_volume(source)
        self.assertEqual([], self.cluster.names())

    def test_source_is_kept(self) -> None:
        source = self.made_volume()
        with self.cluster.image(source.name) as image:
            image.write(b'content', 0)
        clone = self.clone(source)
        self.trash(clone)
        self.driver.delete_volume(source)
        self.driver.delete_volume(clone)
        ioctx = self.cluster.ioctx()
        (entry,) = rbd.RBD().trash_list(ioctx)
        rbd.RBD().trash_restore(ioctx, entry['id'], clone.name)
        with self.cluster.image(clone.name) as image:
            self.assertEqual(b'content', image.read(0, 7))
        self.driver.delete_volume(clone)
        self.assertEqual([], self.cluster.names())

    def test_source_that_a_client_has_open_is_kept_for_its_clones(
        self,
    ) -> None:
        source = self.made_volume()
        clone = self.clone(source, self.driver)
        with self.cluster.image(source.name) as image:
            image.write(b'content', 0)
            self.driver.delete_volume(source)
            self.assertIn(f'{source.name}.deleted', self.cluster.names())
            self.assertEqual(b'content', image.read(0, 7))
        self.driver.delete_volume(clone)
        self.assertEqual([], self.cluster.names())

    def test_failed_clean_up_is_no_failed_deletion(self) -> None:
        source = self.made_volume()
        clone = self.clone(source)
        self.patch(
            'cinder_rbd_ext.trash.relatives.Relatives.release',
            side_effect=rbd.OperationNotSupported('made to fail'),
        )
        self.driver.delete_volume(clone)
        self.assertEqual([source.name], self.cluster.names())


class StockLeftoversTest(CloneSourcesTestCase):
    """Later deletions remove the leftovers of the stock driver."""

    def setUp(self) -> None:
        super().setUp()
        self.stock = self.make_driver(stock_rbd.RBDDriver)

    def test_stock_leaves_it(self) -> None:
        """If this test fails, the bug is fixed in Cinder."""
        source = self.made_volume(driver=self.stock)
        clone = self.clone(source, self.stock)
        self.stock.delete_volume(clone)
        self.stock.delete_volume(source)
        self.assertEqual([f'{source.name}.deleted'], self.cluster.names())

    def test_source_is_deleted(self) -> None:
        source = self.made_volume(driver=self.stock)
        clone = self.clone(source, self.stock)
        self.stock.delete_volume(clone)
        self.driver.delete_volume(source)
        self.assertEqual([], self.cluster.names())

    def test_other_clone_is_deleted(self) -> None:
        source = self.made_volume(driver=self.stock)
        clones = [self.clone(source, self.stock) for _ in range(2)]
        self.stock.delete_volume(source)
        self.stock.delete_volume(clones[0])
        self.driver.delete_volume(clones[1])
        self.assertEqual([], self.cluster.names())

    def test_live_source_keeps_others(self) -> None:
        """A snapshot is kept while its clone may still be in creation."""
        source = self.made_volume()
        with self.cluster.image(source.name) as image:
            image.create_snap('volume-x.clone_snap')
        clone = self.clone(source)
        self.driver.delete_volume(clone)
        self.assertEqual(
            ['volume-x.clone_snap'], self.snapshots_of(source.name)
        )
