# SPDX-License-Identifier: Apache-2.0

"""Deletions that were interrupted are completed by the next ones."""

from typing import Any
from unittest import mock

from cinder import exception
import ddt
import rbd

from cinder_rbd_ext import locks
from cinder_rbd_ext.trash import entries
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import scan
from tests.functional import filling
from tests.functional import interruptions
from tests.functional.cinder_rbd_ext import connections

_OBJECTS = 200
_MIB = 1 << 20


@ddt.ddt
class InterruptedTest(connections.ConnectionsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(interruptions.ShortWatch(self.cluster))

    def _written(self, object_map: str = 'false') -> tuple[Any, str]:
        """Return a volume with data, and the prefix of its objects."""
        metadata = {'rbd:object_map': object_map, 'rbd:object_size': '4M'}
        volume = self.made_volume(metadata)
        return volume, self._write(volume.name)

    def _write(self, name: str) -> str:
        with self.cluster.image(name) as image:
            for number in range(_OBJECTS):
                image.write(b'x', number * 4 * _MIB)
            prefix = str(image.block_name_prefix())
        self.assertEqual(_OBJECTS, self._objects(prefix))
        return prefix

    def _objects(self, prefix: str) -> int:
        return interruptions.objects(self.cluster, prefix)

    def _kill(self, name: str, prefix: str) -> None:
        interruptions.kill_during_removal(self.cluster, name)
        self.assertIn(self._objects(prefix), range(1, _OBJECTS))
        self.assertRaises(rbd.ImageNotFound, self.cluster.image, name)

    @ddt.data('false', 'true')
    def test_killed_deletion_is_completed(self, object_map: str) -> None:
        """The stock driver reports that the image no longer exists."""
        volume, prefix = self._written(object_map)
        self._kill(volume.name, prefix)
        self.driver.delete_volume(volume)
        self.assertEqual(0, self._objects(prefix))
        self.assertEqual([], self.cluster.names())

    def test_volume_does_not_become_available_without_its_lock(self) -> None:
        """Cinder makes it available after VolumeIsBusy."""
        volume, prefix = self._written()
        self._kill(volume.name, prefix)
        locked = locks.LockUnavailable(volume_id=volume.id)
        with mock.patch.object(
            locks, 'exclusive', autospec=True, side_effect=locked
        ):
            self.assertRaises(
                exception.VolumeBackendAPIException,
                self.driver.delete_volume,
                volume,
            )
        self.driver.delete_volume(volume)
        self.assertEqual(0, self._objects(prefix))

    def test_audit_shows_it(self) -> None:
        volume, prefix = self._written()
        self._kill(volume.name, prefix)
        scanned = scan.Cluster(
            self.driver.rados, rbd, self.cluster.conf, 'admin'
        ).scan('volumes')
        self.assertEqual({}, scanned.unreadable)
        (entry,) = scanned.trash
        self.assertEqual(volume.name, entry.name)
        self.assertIs(objects.TrashSource.REMOVING, entry.source)
        self.driver.delete_volume(volume)
        self.assertEqual(0, self._objects(prefix))

    def test_deleted_source_of_the_last_clone(self) -> None:
        """The deletion of a clone was interrupted when it removed both."""
        source = self.made_volume()
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.driver.delete_volume(source)
        kept = f'{source.name}.deleted'
        prefix = self._write(kept)
        snapshot = f'{clone.name}.clone_snap'
        rbd.RBD().remove(self.cluster.ioctx(), clone.name)
        with self.cluster.image(kept) as image:
            image.unprotect_snap(snapshot)
            image.remove_snap(snapshot)
        self._kill(kept, prefix)
        self.driver.delete_volume(clone)
        self.assertEqual(0, self._objects(prefix))
        self.assertEqual([], self.cluster.names())

    def test_blocklisted_deletion_is_repeated(self) -> None:
        """The deletion is repeated with a new connection."""
        self.warm_up()
        volume, prefix = self._written()
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_concurrent_management_ops', '1')
        # Now, because eventlet cannot be used in librbd's thread.
        address = self.client().get_addrs()
        left: list[int] = []

        def half_way(done: int, total: int) -> int:
            if done * 2 >= total and not left:
                filling.Monitor(self.cluster).blocklist(address)
                left.append(self._objects(prefix))
            return 0

        def remove(driver: Any, ioctx: Any, name: str) -> bool:
            driver.rbd.RBD().remove(ioctx, name, on_progress=half_way)
            return True

        with (
            self.connecting(1),
            mock.patch.object(entries, 'remove_now', remove),
        ):
            self.driver.delete_volume(volume)
        self.assertIn(left.pop(), range(1, _OBJECTS))
        self.assertEqual(0, self._objects(prefix))
        self.assertEqual([], self.cluster.names())

    def test_purge_is_blocklisted(self) -> None:
        """A later purge has a new connection."""
        driver = self.make_driver(
            enable_deferred_deletion=True,
            deferred_deletion_delay=0,
            deferred_deletion_purge_interval=3600,
        )
        for volume in [self.made_volume(driver=driver) for _ in range(4)]:
            self.delete_with_record(volume, driver)
        client = self.client(driver)
        remove = entries.remove

        def blocklist(*how: Any) -> None:
            address = client.get_addrs()
            filling.Monitor(self.cluster).blocklist(address)
            remove(*how)

        with mock.patch.object(
            entries, 'remove', autospec=True, side_effect=blocklist
        ):
            driver._trash_purge()
        self.assertNotEqual([], self._trashed())
        driver._trash_purge()
        driver._trash_purge()
        self.assertEqual([], self._trashed())

    def _trashed(self) -> list[Any]:
        return list(rbd.RBD().trash_list(self.cluster.ioctx()))
