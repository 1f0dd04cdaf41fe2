# SPDX-License-Identifier: Apache-2.0

"""Test deferred deletion and deletion with an invalid object map."""

import json
from typing import Any
import uuid

from cinder.db import api as db
from cinder.objects import volume as volume_objects
import fixtures
import rbd

from rbd_volume_options import image_handles
from tests import runs
from tests.functional.cinder_rbd_ext import base

_MAP = rbd.RBD_FEATURE_OBJECT_MAP | rbd.RBD_FEATURE_FAST_DIFF


class DeferredTest(base.DriverTestCase):
    """Volumes move to the trash; a purge leaves nothing behind."""

    def _driver(self, delay: int) -> Any:
        return self.make_driver(
            enable_deferred_deletion=True,
            deferred_deletion_delay=delay,
            deferred_deletion_purge_interval=3600,
        )

    def _trashed(self) -> list[str]:
        listed = rbd.RBD().trash_list(self.cluster.ioctx())
        return [entry['name'] for entry in listed]

    def _empty_trash(self) -> None:
        ioctx = self.cluster.ioctx()
        for entry in list(rbd.RBD().trash_list(ioctx)):
            rbd.RBD().trash_remove(ioctx, entry['id'], force=True)

    def test_kept_until_the_delay_has_passed(self) -> None:
        self.addCleanup(self._empty_trash)
        log = self.useFixture(fixtures.FakeLogger('cinder'))
        driver = self._driver(3600)
        volume = self.made_volume(driver=driver)
        driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())
        driver._trash_purge()
        self.assertEqual([volume.name], self._trashed())
        self.assertNotIn('Could not remove', log.output)

    def test_only_images_that_the_driver_moved_are_purged(self) -> None:
        """Operators and other clouds use the trash of the pool, too."""
        self.addCleanup(self._empty_trash)
        log = self.useFixture(fixtures.FakeLogger('cinder'))
        driver = self._driver(0)
        deleted, unmanaged, moved = (
            self.made_volume(driver=driver) for _ in 'abc'
        )
        foreign, source = f'volume-{uuid.uuid4()}', f'{moved.name}.deleted'
        for name in (foreign, source):
            rbd.RBD().create(self.cluster.ioctx(), name, 1 << 22)
        self.delete_with_record(deleted, driver)
        driver.unmanage(unmanaged)
        unmanaged.destroy()
        kept = [foreign, moved.name, unmanaged.name]
        for name in kept:
            self.rbd('trash', 'mv', f'volumes/{name}')
        driver._trash_purge()
        self.assertEqual(sorted(kept), sorted(self._trashed()))
        # It looks like the source of deleted clones.
        self.assertEqual([source], self.cluster.names())
        self.assertNotIn('Could not remove', log.output)

    def test_image_that_a_migrated_volume_has_left_is_purged(self) -> None:
        """Cinder has deleted the record of its former back end."""
        driver = self._driver(0)
        former, volume = (self.made_volume(driver=driver) for _ in 'ab')
        # Both have exchanged their images.
        for each, other in ((former, volume), (volume, former)):
            db.volume_update(self.admin, each.id, {'_name_id': other.id})
        former = volume_objects.Volume.get_by_id(self.admin, former.id)
        self.delete_with_record(former, driver)
        self.assertEqual([former.name], self._trashed())
        driver._trash_purge()
        self.assertEqual([], self._trashed())
        volume = volume_objects.Volume.get_by_id(self.admin, volume.id)
        self.assertEqual([volume.name], self.cluster.names())

    def test_purge_during_a_migration(self) -> None:
        """The source of a migration is in the trash, too."""
        driver = self._driver(0)
        deleted, migrated = (self.made_volume(driver=driver) for _ in 'ab')
        self.delete_with_record(deleted, driver)
        ioctx = self.cluster.ioctx()
        rbd.RBD().migration_prepare(ioctx, migrated.name, ioctx, migrated.name)
        driver._trash_purge()
        rbd.RBD().migration_abort(ioctx, migrated.name)
        driver._trash_purge()
        self.assertEqual([], self._trashed())
        self.assertEqual([migrated.name], self.cluster.names())

    def test_part_of_a_creation_is_not_deferred(self) -> None:
        """An import deletes the image during the creation and replaces it."""
        driver = self._driver(0)
        volume = self.made_volume(driver=driver)
        with driver._maker.creating(volume):
            driver.delete_volume(volume)
        self.assertEqual([], self._trashed())


@runs.tags(runs.DEBIAN)
class InvalidMapTest(base.DriverTestCase):
    def _flagged(self) -> Any:
        """Return a volume of 2,048 objects with an invalid object map."""
        volume = self.made_volume(size=8)
        with self.cluster.image(volume.name) as image:
            if image.features() & rbd.RBD_FEATURE_OBJECT_MAP:
                image.update_features(_MAP, False)
            image.update_features(rbd.RBD_FEATURE_OBJECT_MAP, True)
            image.write(b'content', 0)
        self.assertNotEqual(0, self.flags_of(volume))
        return volume

    def _writes(self) -> int:
        status, output, text = self.cluster.rados.osd_command(
            0, json.dumps({'prefix': 'perf dump'}), b''
        )
        self.assertEqual(0, status, text)
        return int(json.loads(output)['osd']['op_w'])

    def test_empty_image(self) -> None:
        """The object map is rebuilt; only existing objects are removed."""
        volume = self._flagged()
        before = self._writes()
        self.driver.delete_volume(volume)
        self.assertLess(self._writes() - before, 200)

    def test_image_in_the_trash(self) -> None:
        driver = self.make_driver(
            enable_deferred_deletion=True, deferred_deletion_delay=0
        )
        volume = self._flagged()
        before = self._writes()
        self.delete_with_record(volume, driver)
        driver._trash_purge()
        self.assertLess(self._writes() - before, 200)

    def test_full_image(self) -> None:
        """A rebuild of the object map would cost more than it saves."""
        volume = self._flagged()
        with self.cluster.image(volume.name) as image:
            for index in range(32):
                image.write(b'content', index * image.size() // 32)
            self.assertFalse(image_handles.rebuild_map(image))
        self.assertNotEqual(0, self.flags_of(volume))
