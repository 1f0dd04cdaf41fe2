# SPDX-License-Identifier: Apache-2.0

"""Objects that are removed together with a clone."""

import errno
import functools
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder import service as cinder_service
from cinder.db import api as db
from cinder.message import api as message_api
from cinder.objects import base as versions
from cinder.volume import manager
from cinder.volume import rpcapi
import ddt
import fixtures
from oslo_utils import timeutils
from oslo_utils import uuidutils

from cinder_rbd_ext import locks
from cinder_rbd_ext.lifecycle import migration
from cinder_rbd_ext.trash import entries
from rbd_volume_options import trash_mark
from tests.fakes import fake_handle
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base

#: Seconds after which a test fails that would otherwise wait forever.
_PATIENCE = 60


@ddt.ddt
class DeleteTest(base.DriverTestCase):
    """Leftovers of a process that was killed between snapshot and clone."""

    def setUp(self) -> None:
        super().setUp()
        self.source = self.made_volume()
        self.clone = self.new_volume(source_volid=self.source.id)
        self.snapshot = f'{self.clone.name}.clone_snap'
        self._take(self.snapshot)

    def _take(self, name: str) -> None:
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, self.source.name) as image,
        ):
            image.create_snap(name)
            image.protect_snap(name)

    def test_client_that_does_not_answer_makes_no_error_status(self) -> None:
        """librbd tells the clients, also killed ones, about a removal."""
        snapshot = self.new_snapshot(self.source)
        timeout = fake_images.Timeout('error removing snapshot')
        self.cluster.fail('Image.remove_snap', timeout)
        self.assertRaises(
            exception.SnapshotIsBusy, self.driver.delete_snapshot, snapshot
        )
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, self.source.name) as image,
        ):
            image.create_snap(f'backup.{snapshot.id}.snap.1')
        self.cluster.fail('Image.remove_snap', timeout)
        self.assertRaises(
            exception.VolumeIsBusy, self.driver.delete_volume, self.source
        )

    @ddt.data(False, True)
    def test_snapshot_whose_lock_ended_is_deleted_from_the_current_image(
        self, is_replaced: bool
    ) -> None:
        """It must not become available without data, nor stay in a copy."""
        snapshot = self.new_snapshot(self.source)
        copy = self.made_volume()
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, copy.name) as image,
        ):
            image.create_snap(snapshot.name)
            image.protect_snap(snapshot.name)
        remove = fake_handle.Image.remove_snap
        removed: list[str] = []

        def stop(image: fake_handle.Image, name: str) -> None:
            remove(image, name)
            if not removed:
                locked = self.cluster.pools['volumes'].locks.held
                for lockers in locked.values():
                    lockers.clear()
                changed = {'_name_id': copy.id} if is_replaced else {}
                now = {'updated_at': timeutils.utcnow()}
                db.volume_update(self.admin, self.source.id, changed | now)
            removed.append(name)

        self._patch(f'{fake_handle.__name__}.Image.remove_snap', stop)
        self.driver.delete_snapshot(snapshot)
        self.assertEqual([snapshot.name] * (1 + is_replaced), removed)
        for name in (self.source.name, copy.name)[: 1 + is_replaced]:
            self.assertNotIn(snapshot.name, self.snapshots_of(name))

    def test_snapshot_that_stays_is_protected_from_a_late_removal(
        self,
    ) -> None:
        snapshot = self.new_snapshot(self.source)
        timeout = fake_images.Timeout('error removing snapshot')
        self.cluster.fail('Image.remove_snap', timeout)
        self.assertRaises(
            exception.SnapshotIsBusy, self.driver.delete_snapshot, snapshot
        )
        stored = self.cluster.stored(self.source.name)
        self.assertTrue(stored.snapshot(snapshot.name).protected)
        for error in (timeout, fake_images.ImageBusy('protecting')):
            self.cluster.fail('Image.remove_snap', timeout)
            self.cluster.fail('Image.protect_snap', error)
            self.assertRaises(
                exception.VolumeBackendAPIException,
                self.driver.delete_snapshot,
                snapshot,
            )
            snapshot.status = 'error_deleting'
            snapshot.save()
            self.assertEqual('error', snapshot.status)

    def test_snapshot_that_was_removed_after_a_timeout_is_deleted(
        self,
    ) -> None:
        snapshot = self.new_snapshot(self.source)
        remove = fake_handle.Image.remove_snap

        def late(image: fake_handle.Image, name: str) -> None:
            remove(image, name)
            raise fake_images.Timeout('error removing snapshot')

        self._patch(f'{fake_handle.__name__}.Image.remove_snap', late)
        self.driver.delete_snapshot(snapshot)
        self.assertNotIn(snapshot.name, self.snapshots_of(self.source.name))

    def test_source_that_is_gone(self) -> None:
        del self.cluster.pools['volumes'].images[self.source.name]
        self.driver.delete_volume(self.clone)

    def test_failure_is_logged(self) -> None:
        """Delete the volume; the next deletion retries the clean-up."""
        self.cluster.fail('Image.remove_snap', fake_images.OSError('broken'))
        self.driver.delete_volume(self.clone)
        self.assertIn('Could not clean up after', self.log.output)
        self.assertEqual([self.snapshot], self.snapshots_of(self.source.name))


@ddt.ddt
class TrashTest(base.DriverTestCase):
    """An image that stays in the trash, which the purger removes."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume(status='deleting')
        self.pool = self.cluster.pools['volumes']

    def _only_entry(self) -> Any:
        with self.cluster.connected() as ioctx:
            (entry,) = entries.Marks(self.driver).entries(ioctx)
        return entry

    @ddt.data(
        fake_images.ImageBusy('open'),
        fake_images.Timeout('no answer'),
        fake_images.OSError('lost'),
    )
    def test_removal_that_fails_is_left_to_the_purger(
        self, error: Exception
    ) -> None:
        """The deletion was accepted, and its owner need not repeat it."""
        self.cluster.fail('RBD.trash_remove', error)
        self.driver.delete_volume(self.volume)
        self.assertEqual([], self.cluster.names())
        entry = self._only_entry()
        self.assertEqual(
            (trash_mark.DELETED, self.volume.id),
            (entry.mark.kind, entry.mark.volume),
        )
        self.assertTrue(self.driver.purger._wake.is_set())
        self.driver.delete_volume(self.volume)
        self.driver._trash_purge()
        self.assertEqual({}, self.pool.trash)

    def test_removal_by_the_stock_driver_is_completed(self) -> None:
        """librbd does not list its image in the trash."""
        images = self.pool.images
        self.pool.removing[self.volume.name] = images.pop(self.volume.name)
        self.driver.delete_volume(self.volume)
        self.assertEqual({}, self.pool.removing)

    def test_entry_without_an_image_is_removed_with_its_volume(self) -> None:
        """A removal was killed after its last step but one."""
        self.cluster.fail('RBD.trash_remove', fake_images.OSError('killed'))
        self.driver.delete_volume(self.volume)
        self.pool.lost_headers.update(self.pool.trash)
        self.driver._trash_purge()
        self.assertEqual(1, len(self.pool.trash))
        self.volume.destroy()
        self.driver._trash_purge()
        self.assertEqual({}, self.pool.trash)

    def test_entry_without_an_image_of_another_cloud_stays(self) -> None:
        with self.cluster.connected() as ioctx:
            name = f'volume-{uuidutils.generate_uuid()}'
            for each in (name, 'disk'):
                self.librbd.RBD().create(ioctx, each, 7)
                self.librbd.RBD().trash_move(ioctx, each)
        self.pool.lost_headers.update(self.pool.trash)
        self.driver._trash_purge()
        self.assertEqual(2, len(self.pool.trash))


class LostTest(base.DriverTestCase):
    """A connection that is lost while what a deletion left is removed."""

    def setUp(self) -> None:
        super().setUp()
        self.lost = fake_images.OSError('lost')
        self.lost.errno = errno.ESHUTDOWN

    def test_lost_connection_repeats_removal_of_snapshot(self) -> None:
        source = self.made_volume()
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.cluster.fail('Image.remove_snap', self.lost)
        self.driver.delete_volume(clone)
        self.assertEqual([source.name], self.cluster.names())
        self.assertEqual([], self.snapshots_of(source.name))


@ddt.ddt
class ManagerTest(base.DriverTestCase):
    """Deletions that Cinder's volume manager requests."""

    MOCK_WORKER = False

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.volume.status = 'deleting'
        self.volume.save()
        # What Cinder's API does.
        self.volume.create_worker()
        service = {
            'host': 'host',
            'binary': 'cinder-volume',
            'topic': 'volume',
            'rpc_current_version': rpcapi.VolumeAPI.RPC_API_VERSION,
            'object_current_version': versions.OBJ_VERSIONS.get_current(),
        }
        self.useFixture(
            fixtures.MockPatchObject(
                cinder_service.Service,
                'service_id',
                db.service_create(self.admin, service).id,
            )
        )
        self.manager = mock.Mock(
            spec=manager.VolumeManager,
            driver=self.driver,
            db=db,
            message_api=mock.create_autospec(message_api.API),
        )
        self.manager._clear_db.side_effect = functools.partial(
            manager.VolumeManager._clear_db, self.manager
        )
        self.useFixture(
            fixtures.MockPatchObject(manager, 'QUOTAS', autospec=True)
        )

    def delete(self, volume: Any, **how: Any) -> None:
        """Process a request to delete a volume."""
        manager.VolumeManager.delete_volume(
            self.manager, self.admin, volume, **how
        )

    def worker(self) -> Any:
        """Return the entry by which a restart finds the deletion."""
        return db.worker_get(self.admin, resource_id=self.volume.id)

    def test_volume_that_was_reset_while_its_deletion_waited_stays(
        self,
    ) -> None:
        """Its owner may want to keep it, and a deletion waits for the lock."""
        exclusive = locks.exclusive

        def reset(*args: Any, **how: Any) -> Any:
            changed = {'status': 'available'}
            db.volume_update(self.admin, self.volume.id, changed)
            return exclusive(*args, **how)

        with mock.patch.object(
            locks, 'exclusive', autospec=True, side_effect=reset
        ):
            self.assertRaises(
                exception.VolumeBackendAPIException, self.delete, self.volume
            )
        self.assertEqual([self.volume.name], self.cluster.names())
        stored = objects.Volume.get_by_id(self.admin, self.volume.id)
        self.assertEqual('available', stored.status)

    def test_volume_that_was_reset_while_its_service_was_stopped_stays(
        self,
    ) -> None:
        """The service goes on after its lock has ended."""
        image_needed = migration.image_needed

        def stop(*args: Any) -> Any:
            for lockers in self.cluster.pools['volumes'].locks.held.values():
                lockers.clear()
            changed = {'status': 'available'}
            db.volume_update(self.admin, self.volume.id, changed)
            return image_needed(*args)

        with mock.patch.object(
            migration, 'image_needed', autospec=True, side_effect=stop
        ):
            self.assertRaises(
                exception.VolumeBackendAPIException, self.delete, self.volume
            )
        self.assertEqual([self.volume.name], self.cluster.names())
        stored = objects.Volume.get_by_id(self.admin, self.volume.id)
        self.assertEqual('available', stored.status)

    def test_deletion_whose_lock_ended_is_repeated(self) -> None:
        image_needed = migration.image_needed

        def stop(*args: Any) -> Any:
            if called.call_count == 1:
                held = self.cluster.pools['volumes'].locks.held
                for lockers in held.values():
                    lockers.clear()
            return image_needed(*args)

        with mock.patch.object(
            migration, 'image_needed', autospec=True, side_effect=stop
        ) as called:
            self.delete(self.volume)
        self.assertEqual(2, called.call_count)
        self.assertEqual([], self.cluster.names())

    def test_volume_without_an_image_does_not_become_available(self) -> None:
        self.cluster.pools['volumes'].images.pop(self.volume.name)
        with self._locked(locks.VolumeLocked):
            self.assertRaises(
                exception.VolumeBackendAPIException, self.delete, self.volume
            )
        self.delete(self.volume)
        self.assertRaises(exception.VolumeNotFound, self.volume.refresh)

    def test_volume_without_its_key_does_not_become_available(self) -> None:
        """Cinder's API destroys the key before the driver deletes."""
        key = {'encryption_key_id': uuidutils.generate_uuid()}
        db.volume_update(self.admin, self.volume.id, key)
        self.volume.refresh()
        with self._locked(locks.VolumeLocked):
            self.assertRaises(
                exception.VolumeBackendAPIException, self.delete, self.volume
            )
        self.assertEqual('error', self._status())

    @ddt.data('lost', 'in a group of RBD images')
    def test_deletion_that_fails_can_be_repeated_by_the_owner(
        self, why: str
    ) -> None:
        """Only an administrator can change the status error_deleting."""
        if why == 'lost':
            lost = locks.LockLost(volume_id=self.volume.id)
            failing: Any = mock.patch.object(
                migration, 'image_needed', autospec=True, side_effect=lost
            )
        else:
            failing = mock.patch.object(
                fake_handle.Image, 'group', lambda _: {'pool': 1}
            )
        with failing:
            self.raised(self.delete, self.volume)
        self.assertEqual('error', self._status())
        self.volume.status = 'deleting'
        self.volume.save()
        self.delete(self.volume)
        self.assertEqual([], self.cluster.names())

    def test_volume_that_a_client_has_open_goes_to_the_trash(self) -> None:
        """The deletion was accepted; the purger waits for the client."""
        with self.driver.images.opened(self.volume.name):
            self.delete(self.volume)
            self.assertEqual(1, len(self.cluster.pools['volumes'].trash))
        self.assertRaises(exception.VolumeNotFound, self.volume.refresh)

    def _status(self) -> str:
        return str(objects.Volume.get_by_id(self.admin, self.volume.id).status)

    def test_volume_whose_snapshot_stays_is_not_deleted(self) -> None:
        """After SnapshotIsBusy, Cinder's manager deletes the volume."""
        snapshot = self.new_snapshot(self.volume)
        snapshot.status = 'deleting'
        snapshot.save()
        self.manager.delete_snapshot.side_effect = functools.partial(
            manager.VolumeManager.delete_snapshot, self.manager
        )
        self.cluster.fail('Image.remove_snap', fake_images.Timeout('busy'))
        self.delete(self.volume, cascade=True)
        self.manager._clear_db.assert_called_once_with(
            self.volume, 'available'
        )
        snapshot.refresh()
        self.assertEqual('available', snapshot.status)
        self.assertEqual([snapshot.name], self.snapshots_of(self.volume.name))
        # Cinder's API requests it again.
        snapshot.status = 'deleting'
        snapshot.save()
        self.delete(self.volume, cascade=True)
        self.assertRaises(exception.SnapshotNotFound, snapshot.refresh)
        self.assertRaises(exception.VolumeNotFound, self.volume.refresh)

    def test_whole_volume_is_available_again_without_the_lock(self) -> None:
        with self._locked(locks.VolumeLocked):
            self.delete(self.volume)
        self.manager._clear_db.assert_called_once_with(
            self.volume, 'available'
        )

    def _locked(self, locked: type[locks.VolumeLocked]) -> Any:
        error = locked(volume_id=self.volume.id)
        return mock.patch.object(
            locks, 'exclusive', autospec=True, side_effect=error
        )

    def test_former_image_waits_for_the_volume_that_was_migrated(self) -> None:
        volume = self.new_volume()
        self.update(
            self.volume,
            {'migration_status': 'deleting', '_name_id': volume.id},
        )
        lock = self.useFixture(
            fixtures.MockPatchObject(
                locks,
                'name',
                autospec=True,
                side_effect=locks.VolumeLocked(volume_id=volume.id),
            )
        ).mock
        self.assertRaises(
            exception.VolumeBackendAPIException, self.delete, self.volume
        )
        lock.assert_called_once_with(self.driver, volume.name)


class GroupTest(base.DriverTestCase):
    """Cinder removes the records of a group although a part is busy."""

    def setUp(self) -> None:
        super().setUp()
        self.manager = mock.Mock(
            spec=manager.VolumeManager,
            driver=self.driver,
            driver_delete_volume=self.driver.delete_volume,
            driver_delete_snapshot=self.driver.delete_snapshot,
        )
        self.cluster.fail('Image.remove_snap', fake_images.Timeout('busy'))

    def test_busy_snapshot_of_a_group_has_an_error(self) -> None:
        volume = self.made_volume()
        snapshot = self.new_snapshot(volume)
        snapshot.group_snapshot_id = volume.id
        delete = manager.VolumeManager._delete_group_snapshot_generic
        update, (of_snapshot,) = delete(
            self.manager, self.admin, mock.Mock(status='deleting'), [snapshot]
        )
        self.assertEqual('error', update['status'])
        self.assertEqual('error', of_snapshot['status'])

    def test_busy_volume_of_a_group_has_an_error(self) -> None:
        volume = self.made_volume(status='deleting')
        volume.group_id = volume.id
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, volume.name) as image,
        ):
            image.create_snap(f'backup.{volume.id}.snap.1')
        delete = manager.VolumeManager._delete_group_generic
        update, (of_volume,) = delete(
            self.manager, self.admin, mock.Mock(status='deleting'), [volume]
        )
        self.assertEqual('error', update['status'])
        self.assertEqual('error', of_volume['status'])


class KeepTest(base.DriverTestCase):
    """Volumes of a type with rbd:keep_deleted."""

    def setUp(self) -> None:
        super().setUp()
        self.kept = self.make_type(rbd_keep_deleted='48')
        self.volume = self.made_volume(
            volume_type=self.kept,
            metadata={'colour': 'blue'},
            display_name='data',
            status='deleting',
        )

    def _kept(self) -> list[entries.Entry]:
        self.driver.delete_volume(self.volume)
        with self.cluster.connected() as ioctx:
            return entries.Marks(self.driver).entries(ioctx)

    def test_image_stays_in_the_trash_with_what_a_restored_volume_needs(
        self,
    ) -> None:
        (entry,) = self._kept()
        hours = (entry.until - timeutils.utcnow()).total_seconds() / 3600
        self.assertEqual((self.volume.name, 48), (entry.name, round(hours)))
        volume = self.volume
        self.assertEqual(
            ('data', {'colour': 'blue'}, volume.volume_type_id, volume.host),
            tuple(
                entry.mark.record[each]
                for each in ('name', 'metadata', 'volume_type', 'host')
            ),
        )

    def test_encrypted_volume_is_not_kept(self) -> None:
        """Cinder has destroyed its key before the driver is called."""
        self.volume.encryption_key_id = uuidutils.generate_uuid()
        self.assertEqual([], self._kept())

    def test_volume_of_another_type_is_not_kept(self) -> None:
        self.volume = self.made_volume(status='deleting')
        self.assertEqual([], self._kept())
