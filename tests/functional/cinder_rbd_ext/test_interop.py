# SPDX-License-Identifier: Apache-2.0

"""Volumes of the stock driver in our driver and vice versa."""

from typing import Any

from cinder import objects
from cinder.volume.drivers import rbd as stock_rbd
import ddt
from oslo_utils import units

from cinder_rbd_ext import driver as driver_module
from tests import rbd_content
from tests import runs
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import test_retypes

_OURS = driver_module.RBDExtDriver
_STOCK = stock_rbd.RBDDriver


@runs.tags(runs.DEBIAN)
@ddt.ddt
class InteropTest(base.DriverTestCase):
    """Volumes that one driver creates and the other uses."""

    @ddt.data((_OURS, _STOCK), (_STOCK, _OURS))
    def test_a_whole_life(self, pair: tuple[Any, Any]) -> None:
        maker, user = (self.make_driver(cls) for cls in pair)
        metadata = base.ASKED if pair[0] is _OURS else None
        volume = self.made_volume(metadata, driver=maker)
        made = self.layout_of(volume)
        with self.cluster.image(volume.name) as image:
            image.write(b'content', 3 * units.Mi)

        snapshot = self.new_snapshot(volume, user)
        from_snapshot = self.new_volume()
        user.create_volume_from_snapshot(from_snapshot, snapshot)
        clone = self.new_volume()
        user.create_cloned_volume(clone, volume)
        for made_of in (from_snapshot, clone):
            with self.cluster.image(made_of.name) as image:
                self.assertEqual(b'content', image.read(3 * units.Mi, 7))
        self.assertEqual(made, self.layout_of(clone))

        user.extend_volume(volume, 2)
        self.assertEqual(2 * units.Gi, self.size_of(volume))
        self.assertEqual(made, self.layout_of(volume))
        connection = user.initialize_connection(volume, {'host': 'h'})
        self.assertEqual(f'volumes/{volume.name}', connection['data']['name'])
        for gone in (from_snapshot, clone):
            user.delete_volume(gone)
        user.delete_snapshot(snapshot)
        user.delete_volume(volume)
        # The stock driver renames a cloned volume and keeps it for the
        # snapshot of a clone that was deleted before.
        left = [f'{volume.name}.deleted'] if pair[1] is _STOCK else []
        self.assertEqual(left, self.cluster.names())


@ddt.ddt
class ReplacedImageTest(test_retypes.RetypeTestCase):
    """Volumes whose image a retype has replaced, and the stock driver."""

    def setUp(self) -> None:
        super().setUp()
        self.stock = self.make_driver(_STOCK)
        volume = self.filled_volume()
        self.assertTrue(
            self.retype(volume, rbd_stripe_unit='64K', rbd_stripe_count='8')
        )
        self.volume = self.read_again(volume)
        self.assertNotEqual(volume.id, self.volume.name_id)
        self.made = self.layout_of(self.volume)

    def _snapshots(self) -> list[Any]:
        return list(
            objects.SnapshotList.get_all_for_volume(
                self.context, self.volume.id
            )
        )

    def _check_copies(self, driver: Any, other: Any) -> None:
        """Clone the volume and an old snapshot; another driver deletes."""
        sums = self.sums(self.volume)
        first = self._snapshots()[0]
        restored = self.new_volume(snapshot_id=first.id)
        driver.create_volume_from_snapshot(restored, first)
        clone = self.new_volume(source_volid=self.volume.id)
        driver.create_cloned_volume(clone, self.volume)
        self.assertEqual(sums[first.name], self.sums(restored)[''])
        self.assertEqual(sums[''], self.sums(clone)[''])
        for volume in (restored, clone):
            other.delete_volume(volume)
            volume.destroy()
        self.assertEqual([self.volume.name], self.cluster.names())

    def _check_snapshot_and_growth(self, driver: Any, other: Any) -> None:
        sums = self.sums(self.volume)
        snapshot = self.new_snapshot(self.volume, driver)
        size = self.volume.size + 1
        driver.extend_volume(self.volume, size)
        self.update(self.volume, {'size': size})
        self.assertEqual(size * units.Gi, self.size_of(self.volume))
        self.assertEqual(
            {**sums, snapshot.name: sums['']}, self.sums(self.volume)
        )
        self.assertEqual(self.made, self.layout_of(self.volume))
        info = driver.initialize_connection(self.volume, {'host': 'h'})
        self.assertEqual(f'volumes/{self.volume.name}', info['data']['name'])
        other.delete_snapshot(snapshot)
        snapshot.destroy()
        self.assertEqual(sums, self.sums(self.volume))

    @ddt.data(False, True)
    def test_both_drivers_use_it(self, ends_with_stock: bool) -> None:
        """The suite was removed, or a service of each driver runs."""
        for driver, other in (
            (self.stock, self.stock),
            (self.stock, self.driver),
            (self.driver, self.stock),
        ):
            self._check_copies(driver, other)
            self._check_snapshot_and_growth(driver, other)
        last = self.stock if ends_with_stock else self.driver
        for snapshot in self._snapshots():
            last.delete_snapshot(snapshot)
            snapshot.destroy()
        last.delete_volume(self.volume)
        # The stock driver keeps a source whose clones it has deleted.
        left = [f'{self.volume.name}.deleted'] if ends_with_stock else []
        self.assertEqual(left, self.cluster.names())

    @ddt.data(_OURS, _STOCK)
    def test_migration_by_cinder_leaves_the_data_with_the_volume(
        self, cls: Any
    ) -> None:
        """Cinder copies the data, and exchanges the rows of both volumes."""
        for snapshot in self._snapshots():
            self.driver.delete_snapshot(snapshot)
            snapshot.destroy()
        volume, there = self.volume, self.make_driver(cls, pool='volumes2')
        self.update(volume, {'migration_status': 'migrating'})
        target = self.new_volume(
            volume_type=volume.volume_type_id,
            host='host@other#other',
            migration_status=f'target:{volume.id}',
        )
        self.update(target, there.create_volume(target))
        with self.cluster.image(target.name, 'volumes2') as image:
            rbd_content.write(image, 3, 2)
            sums = rbd_content.sums(image)
        former = volume.name
        update = there.update_migrated_volume(
            self.context, volume, target, 'available'
        )
        self.update(target, {name: volume[name] for name in update})
        self.update(volume, update)
        deleted = volume.finish_volume_migration(target)
        self.assertEqual(former, deleted.name)
        self.driver.delete_volume(deleted)
        deleted.destroy()
        volume = self.read_again(volume)
        self.assertEqual([], self.cluster.names())
        self.assertEqual([volume.name], self.cluster.names('volumes2'))
        with self.cluster.image(
            volume.name, 'volumes2', read_only=True
        ) as image:
            self.assertEqual(sums, rbd_content.sums(image))
        there.delete_volume(volume)
        self.assertEqual([], self.cluster.names('volumes2'))
