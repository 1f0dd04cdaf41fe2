# SPDX-License-Identifier: Apache-2.0

"""Objects that are removed together with a clone."""

import concurrent.futures
import contextlib
import errno
import functools
import threading
import time
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
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures
from oslo_config import fixture as config_fixture

from cinder_rbd_ext import locks
from cinder_rbd_ext import releases
from cinder_rbd_ext import turns
from cinder_rbd_ext.lifecycle import deletion
from cinder_rbd_ext.retype import trash
from rbd_volume_options import keys
from tests.fakes import fake_handle
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.unit.cinder_rbd_ext import base

#: Seconds after which a test fails that would otherwise wait forever.
_PATIENCE = 60


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

    def test_volume_whose_removal_has_begun_does_not_become_available(
        self,
    ) -> None:
        """A part of its data may be lost."""
        error = fake_images.Timeout('error removing image')
        self.cluster.fail('RBD.remove', error)
        self.assertRaises(
            fake_images.Timeout, self.driver.delete_volume, self.clone
        )

    def test_deleted_clone_leaves_no_snapshot_of_its_own(self) -> None:
        self._take('of-somebody')
        self.driver.delete_volume(self.clone)
        self.assertEqual(['of-somebody'], self.snapshots_of(self.source.name))

    def test_source_that_is_gone(self) -> None:
        del self.cluster.pools['volumes'].images[self.source.name]
        self.driver.delete_volume(self.clone)

    def test_clone_that_is_there(self) -> None:
        """Remove the clone's snapshot, which the stock driver leaves."""
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().clone(
                ioctx, self.source.name, self.snapshot, ioctx, self.clone.name
            )
        self.driver.delete_volume(self.clone)
        self.assertEqual([self.source.name], self.cluster.names())
        self.assertEqual([], self.snapshots_of(self.source.name))

    def test_failure_is_logged(self) -> None:
        """Delete the volume; the next deletion retries the clean-up."""
        self.cluster.fail('Image.remove_snap', fake_images.OSError('broken'))
        self.driver.delete_volume(self.clone)
        self.assertIn('Could not clean up after', self.log.output)
        self.assertEqual([self.snapshot], self.snapshots_of(self.source.name))


class InterruptedTest(base.DriverTestCase):
    """A deletion that was interrupted after the image was in the trash."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.pool = self.cluster.pools['volumes']

    def _interrupted(self, error: Exception) -> None:
        self.cluster.fail('RBD.remove half-way', error)
        self.assertIs(
            error, self.raised(self.driver.delete_volume, self.volume)
        )
        self.assertEqual([self.volume.name], [*self.pool.removing])

    def test_completed_by_the_next_one(self) -> None:
        self._interrupted(fake_images.OSError('timed out'))
        self.driver.delete_volume(self.volume)
        self.assertEqual({}, self.pool.removing)
        self.assertIn('Completed the removal', self.log.output)
        self.driver.delete_volume(self.volume)

    def test_repeated_after_a_lost_connection(self) -> None:
        lost = fake_images.OSError('lost')
        lost.errno = errno.ESHUTDOWN
        self.cluster.fail('RBD.remove half-way', lost)
        self.driver.delete_volume(self.volume)
        self.assertEqual({}, self.pool.removing)

    def test_not_deferred(self) -> None:
        self._interrupted(fake_images.OSError('timed out'))
        self.override_backend('enable_deferred_deletion', True)
        self.driver.delete_volume(self.volume)
        self.assertEqual({}, self.pool.removing)

    def test_source_of_the_last_clone(self) -> None:
        clone = self.new_volume(source_volid=self.volume.id)
        self.driver.create_cloned_volume(clone, self.volume)
        self.driver.delete_volume(self.volume)
        kept = f'{self.volume.name}.deleted'
        self.assertIn(kept, self.pool.images)
        self.pool.removing[kept] = self.pool.images.pop(kept)
        del self.pool.images[clone.name]
        self.driver.delete_volume(clone)
        self.assertEqual({}, self.pool.removing)

    def test_client_that_is_not_forgotten_yet(self) -> None:
        self._interrupted(fake_images.OSError('timed out'))
        self._patch(f'{trash.__name__}.PAUSE', 0)
        self.cluster.fail('RBD.remove', fake_images.ImageBusy(), times=3)
        self.driver.delete_volume(self.volume)
        self.assertEqual({}, self.pool.removing)

    def test_client_that_is_never_forgotten(self) -> None:
        """Cinder must not make the volume available: its data is lost."""
        self._interrupted(fake_images.OSError('timed out'))
        self._patch(f'{trash.__name__}.WATCHED_FOR', -1)
        self.cluster.fail('RBD.remove', fake_images.ImageBusy())
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.delete_volume,
            self.volume,
        )


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

    def test_failure_does_not_end_the_periodic_purge(self) -> None:
        """An exception would end it until the service restarts."""
        self.cluster.fail('RBD.trash_list', self.lost)
        with mock.patch.object(
            stock.RBDDriver,
            '_trash_purge',
            autospec=True,
            side_effect=exception.VolumeBackendAPIException(data='no cluster'),
        ):
            self.driver._trash_purge()
        self.assertEqual(
            2, self.log.output.count('Could not purge the whole trash')
        )

    def test_kept_source_of_a_retype_is_left_to_its_recovery(self) -> None:
        """It may be the only image of its volume."""
        volume = self.made_volume()
        entry = self.cluster.stored(volume.name)
        with self.cluster.connected('volumes') as ioctx:
            ioctx.pool.trash[entry.ident] = ioctx.pool.images.pop(entry.name)
            entry.name = f'{volume.name}.retyped-{entry.ident}'
            volume.destroy()
            self.driver._trash_purge()
            self.assertEqual([entry.ident], [*ioctx.pool.trash])
            self.assertNotIn('Error deleting', self.log.output)
            self.assertNotIn('Could not', self.log.output)
            # Recovery may remove it at the same time.
            with self.driver.deletions.purging():
                self.driver.rbd.RBD().trash_remove(ioctx, entry.ident, True)
            self.assertEqual([], [*ioctx.pool.trash])

    def test_before_the_removal(self) -> None:
        volume = self.made_volume()
        self.cluster.fail('Image.list_snaps', self.lost)
        self.driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())


class AtOnceTest(base.DriverTestCase):
    def test_concurrent_deletions_are_limited(self) -> None:
        """Limit concurrent deletions; the others wait."""
        volumes = [self.made_volume() for _ in range(30)]
        lock = threading.Lock()
        running = most = 0

        def delete(self: Any, volume: Any, client: Any) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            original(self, volume, client)
            with lock:
                running -= 1

        original = stock.RBDDriver._delete_volume
        with (
            mock.patch.object(
                stock.RBDDriver, '_delete_volume', autospec=True
            ) as patched,
            concurrent.futures.ThreadPoolExecutor(len(volumes)) as pool,
        ):
            patched.side_effect = delete
            list(pool.map(self.driver.delete_volume, volumes))
        self.assertEqual(turns.MOST_AT_ONCE - turns.FOR_OTHERS, most)
        self.assertEqual([], self.cluster.names())

    def test_small_one_among_large_ones(self) -> None:
        """Large images without an object map do not delay others."""
        plain = self.make_type(**{keys.FEATURES: 'layering'})
        large = [self.made_volume({}, plain, size=100) for _ in range(12)]
        small = self.made_volume()
        held = []
        # Images are removed in native threads.
        end = releases._native(threading).Event()
        remove = fake_librbd.RBD.remove

        def hold(self: Any, ioctx: Any, name: str) -> None:
            if name != small.name:
                held.append(name)
                end.wait(_PATIENCE)
            remove(self, ioctx, name)

        with (
            mock.patch.object(
                fake_librbd.RBD, 'remove', autospec=True, side_effect=hold
            ),
            concurrent.futures.ThreadPoolExecutor(len(large) + 1) as pool,
        ):
            self.addCleanup(end.set)
            deleted = [
                pool.submit(self.driver.delete_volume, each) for each in large
            ]
            try:
                while len(held) < turns.MOST_SLOW - turns.FOR_OTHERS:
                    time.sleep(0.01)
                pool.submit(self.driver.delete_volume, small).result(_PATIENCE)
                self.assertEqual(
                    sorted(each.name for each in large), self.cluster.names()
                )
                # Those that wait have no image open.
                self.assertEqual([], self.cluster.open_images)
            finally:
                end.set()
            for each in deleted:
                each.result(_PATIENCE)
        self.assertEqual([], self.cluster.names())


class ClonesOfDeletedTest(base.DriverTestCase):
    """Clones whose deletion may remove a source of any size."""

    def setUp(self) -> None:
        super().setUp()
        self.source = self.made_volume()
        self.clone = self.new_volume(source_volid=self.source.id)
        self.driver.create_cloned_volume(self.clone, self.source)

    def _is_slow(self) -> bool:
        """Delete the clone."""
        self.driver.delete_volume(self.clone)
        return f'deletion of {self.clone.name} takes long' in self.log.output

    def test_clone_of_deleted_source_waits_among_slow_ones(self) -> None:
        self.driver.delete_volume(self.source)
        self.assertTrue(self._is_slow())
        self.assertEqual([], self.cluster.names())

    def test_clone_of_existing_source_is_quick(self) -> None:
        self.assertFalse(self._is_slow())

    def test_deferred_deletion_is_quick(self) -> None:
        """It only moves images to the trash."""

        def move(self: Any, ioctx: Any, name: str, delay: int) -> None:
            moved = ioctx.pool.images.pop(name)
            ioctx.pool.trash[moved.ident] = moved

        self.driver.delete_volume(self.source)
        self.override_backend('enable_deferred_deletion', True)
        with mock.patch.object(
            fake_librbd.RBD, 'trash_move', move, create=True
        ):
            self.assertFalse(self._is_slow())
        self.assertNotIn(self.clone.name, self.cluster.names())


class DeferredTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.override_backend('deferred_deletion_delay', 7)
        self.rbd = mock.Mock(spec=['trash_move'])

    def _move(self, has_snapshots: bool) -> None:
        sources: Any = None
        deferred = deletion._Deletion(sources, is_deferred=True)
        deferred.has_snapshots = has_snapshots
        move = functools.partial(
            self.driver.deletions._move, deferred, self.rbd, None, 'volume'
        )
        if has_snapshots:
            self.assertRaises(fake_images.ImageHasSnapshots, move)
        move()
        self.rbd.trash_move.assert_called_once_with(None, 'volume', 7)

    def test_uninspected_image_is_moved_to_trash(self) -> None:
        """An image is moved, too, if it could not be inspected."""
        self._move(has_snapshots=False)

    def test_clones_are_flattened_first(self) -> None:
        self._move(has_snapshots=True)


@ddt.ddt
class PostponedTest(base.DriverTestCase):
    """Cinder's volume manager, with a deletion that is postponed."""

    MOCK_WORKER = False

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(f'{turns.__name__}.MOST_WAITING', 1)
        )
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
        self.line = self.driver.deletions.turns.quick
        self.cast = self.useFixture(
            fixtures.MockPatchObject(
                rpcapi.VolumeAPI, '_get_cctxt', autospec=True
            )
        ).mock.return_value.cast
        self.manager = mock.Mock(
            spec=manager.VolumeManager,
            driver=self.driver,
            db=db,
            message_api=mock.create_autospec(message_api.API),
        )
        self.quotas = self.useFixture(
            fixtures.MockPatchObject(manager, 'QUOTAS', autospec=True)
        ).mock

    def delete(self, volume: Any, **how: Any) -> None:
        """Process a request to delete a volume."""
        manager.VolumeManager.delete_volume(
            self.manager, self.admin, volume, **how
        )

    def postpone(self) -> None:
        """Delete the volume while its project has no place."""
        project = self.volume.project_id
        with contextlib.ExitStack() as running:
            for _ in range(turns.MOST_AT_ONCE - turns.FOR_OTHERS):
                running.enter_context(self.line.turn(project))
            waiting = threading.Thread(target=self._wait, args=(project,))
            waiting.start()
            while not self.line._threads():
                time.sleep(0.01)
            self.assertRaises(turns.Postponed, self.delete, self.volume)
            self.cast.assert_not_called()
        waiting.join()

    def _wait(self, project: str) -> None:
        with self.line.turn(project, self.fail):
            pass

    def worker(self) -> Any:
        """Return the entry by which a restart finds the deletion."""
        return db.worker_get(self.admin, resource_id=self.volume.id)

    def test_volume_keeps_status_quota_and_worker_until_its_turn(self) -> None:
        self.postpone()
        self.volume.refresh()
        self.assertEqual('deleting', self.volume.status)
        self.assertEqual('deleting', self.worker().status)
        self.assertIsNotNone(self.worker().service_id)
        self.assertEqual([self.volume.name], self.cluster.names())
        self.quotas.reserve.assert_not_called()
        deadline = time.monotonic() + _PATIENCE
        while not self.cast.called:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        method, sent = self.cast.call_args.args[1], self.cast.call_args.kwargs
        self.assertEqual('delete_volume', method)
        self.delete(sent['volume'])
        self.assertEqual([], self.cluster.names())
        self.assertRaises(exception.VolumeNotFound, self.volume.refresh)
        self.assertRaises(exception.WorkerNotFound, self.worker)
        self.quotas.commit.assert_called_once()

    def test_volume_that_was_reset_while_its_deletion_waited_stays(
        self,
    ) -> None:
        """Its owner may want to keep it, and a deletion can wait for hours."""
        project = self.volume.project_id
        with concurrent.futures.ThreadPoolExecutor() as executor:
            with contextlib.ExitStack() as running:
                for _ in range(turns.MOST_AT_ONCE - turns.FOR_OTHERS):
                    running.enter_context(self.line.turn(project))
                waiting = executor.submit(self.delete, self.volume)
                while not self.line._threads():
                    time.sleep(0.01)
                db.volume_update(
                    self.admin, self.volume.id, {'status': 'available'}
                )
            self.assertIsNotNone(waiting.exception(_PATIENCE))
        self.assertEqual([self.volume.name], self.cluster.names())
        stored = objects.Volume.get_by_id(self.admin, self.volume.id)
        self.assertEqual('available', stored.status)
        self.cast.assert_not_called()

    def test_volume_that_lost_data_stays_in_deletion_while_a_client_is_there(
        self,
    ) -> None:
        self._patch(f'{trash.__name__}.WATCHED_FOR', -1)
        self.cluster.pools['volumes'].images.pop(self.volume.name)
        self.cluster.fail('RBD.remove', fake_images.ImageBusy())
        self.assertRaises(turns.Postponed, self.delete, self.volume)
        self.volume.refresh()
        self.assertEqual('deleting', self.volume.status)
        self.assertEqual('deleting', self.worker().status)
        self.cast.assert_called_once()
        self.delete(self.volume)
        self.assertRaises(exception.VolumeNotFound, self.volume.refresh)

    @ddt.data((True, turns.Postponed), (False, exception.CinderException))
    @ddt.unpack
    def test_volume_that_lost_data_is_deleted_after_the_start_of_the_service(
        self, offload: bool, ends_with: type[BaseException]
    ) -> None:
        """Unless the service waits for all deletions before it starts."""
        self.override_config('volume_service_inithost_offload', offload)
        self._patch(f'{trash.__name__}.WATCHED_FOR', -1)
        self.cluster.pools['volumes'].images.pop(self.volume.name)
        self.cluster.fail('RBD.remove', fake_images.ImageBusy())
        self.volume.worker = self.worker()
        self.volume.worker.cleaning = True
        self.assertRaises(ends_with, self.delete, self.volume)
        self.assertIs(offload, self.cast.called)
        self.assertEqual('deleting', self.worker().status)

    @ddt.data(locks.VolumeLocked, locks.LockUnavailable)
    def test_volume_that_lost_data_stays_in_deletion_without_the_lock(
        self, locked: type[locks.VolumeLocked]
    ) -> None:
        """Cinder would make it available."""
        self.cluster.pools['volumes'].images.pop(self.volume.name)
        with self._locked(locked):
            self.assertRaises(turns.Postponed, self.delete, self.volume)
        self.volume.refresh()
        self.assertEqual('deleting', self.volume.status)
        self.assertEqual((0, 1), self.line.counts())
        # Usually after some seconds.
        self.line._request()
        self.cast.assert_called_once()

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
        self.cast.assert_not_called()

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
        self.assertRaises(turns.Postponed, self.delete, self.volume)
        lock.assert_called_once_with(self.driver, volume.name)
        self.volume.refresh()
        self.assertEqual('deleting', self.volume.status)

    def test_former_image_that_is_open_does_not_become_available(self) -> None:
        """Its record would be another volume of the project."""
        self.update(
            self.volume,
            {'migration_status': 'deleting', '_name_id': self.volume.id},
        )
        self.cluster.fail('RBD.remove', fake_images.ImageBusy(), times=2)
        self.assertRaises(turns.Postponed, self.delete, self.volume)
        self.volume.refresh()
        self.assertEqual('deleting', self.volume.status)

    def test_restart_begins_a_postponed_deletion_again(self) -> None:
        self.postpone()
        entry = self.worker()
        entry.cleaning = True
        volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        volume.worker = entry
        # Cinder deletes it in a thread that handles no requests.
        self.assertIsNone(deletion._request(volume))
        self.delete(volume)
        self.assertEqual([], self.cluster.names())
        # The request that was sent before the restart finds nothing.
        self.delete(self.volume)
        deletion._request_again(self.admin, self.volume.id)

    def _clean_up(self) -> None:
        """Do what Cinder does for the volume when the service starts."""
        manager.VolumeManager._do_cleanup(
            self.manager, self.admin, self.volume
        )

    def test_service_takes_requests_while_it_completes_deletions(self) -> None:
        self._clean_up()
        self.manager._add_to_threadpool.assert_called_once()
        self.manager.delete_volume.assert_not_called()

    def test_explicit_value_of_the_operator_stays(self) -> None:
        settings = self.useFixture(config_fixture.Config(deletion.CONF))
        settings.load_raw_values(volume_service_inithost_offload='False')
        self.driver = self.make_driver()
        self._clean_up()
        self.manager._add_to_threadpool.assert_not_called()
        self.manager.delete_volume.assert_called_once()

    def test_deletion_that_a_restart_does_not_repeat_is_not_postponed(
        self,
    ) -> None:
        """Such as that of a group's volume."""
        volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        self.assertIsNone(deletion._request(volume))


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
