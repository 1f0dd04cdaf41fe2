# SPDX-License-Identifier: Apache-2.0

"""Locks of volumes, on the fake cluster and with Cinder's database."""

import errno
import time
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.volume.drivers import rbd as stock_rbd
import ddt
from oslo_utils import timeutils

from cinder_rbd_ext import locks
from cinder_rbd_ext.cluster import advisory_locks
from cinder_rbd_ext.cluster import blocklisting
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_SHARED = advisory_locks.Kind.SHARED


@ddt.ddt
class LocksTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()

    @property
    def lockers(self) -> list[Any]:
        """The lockers of all images and names."""
        held = self.cluster.pools['volumes'].locks.held
        return [each for lockers in held.values() for each in lockers]

    def shared(self, wait: float = 0) -> Any:
        return locks.shared(self.driver, self.volume, wait)

    def exclusive(self, wait: float = 0) -> Any:
        return locks.exclusive(self.driver, self.volume, wait)

    def replace_image(self) -> Any:
        """Give the volume another image; return the volume that it is of."""
        other = self.made_volume()
        values = {'_name_id': other.id}
        db.volume_update(self.admin, self.volume.id, values)
        return other

    def test_shared_holders_exclude_exclusive_ones_only(self) -> None:
        with self.locked(self.volume, _SHARED):
            with self.shared() as current:
                self.assertEqual(self.volume.id, current.id)
            self.assertRaises(
                locks.VolumeLocked, self.exclusive(0.1).__enter__
            )
        with self.exclusive() as lock:
            self.assertEqual(self.volume.id, lock.volume.id)
            lock.check()
        self.assertEqual([], self.lockers)

    def test_holder_may_take_it_again(self) -> None:
        with self.exclusive() as lock:
            with self.shared():
                pass
            with self.exclusive() as again:
                again.check()
            lock.check()
        with self.shared(), self.shared():
            self.assertRaises(RuntimeError, self.exclusive().__enter__)
            self.assertEqual(1, len(self.lockers))

    def test_volume_is_read_under_the_lock(self) -> None:
        db.volume_update(self.admin, self.volume.id, {'size': 7})
        with self.shared() as current:
            self.assertEqual(7, current.size)
            request = self.volume._context
            self.assertEqual(request.request_id, current._context.request_id)
            # Its type may no longer be visible to the tenant.
            self.assertTrue(current._context.is_admin)
        with self.exclusive() as lock:
            self.assertEqual(7, lock.volume.size)

    def test_volume_that_got_another_image_is_locked_there(self) -> None:
        other = self.replace_image()
        with self.locked(other):
            self.assertRaises(locks.VolumeLocked, self.shared().__enter__)
        with self.exclusive() as lock:
            ident = self.cluster.stored(other.name).ident
            self.assertEqual(ident, lock.image_id)
        self.assertEqual([], self.lockers)

    def test_waiting_operation_locks_the_image_that_the_volume_got(
        self,
    ) -> None:
        former = self.cluster.stored(self.volume.name).ident
        commits: list[Any] = []
        with self.locked(self.volume) as held:

            def commit(_seconds: float) -> None:
                if not commits:
                    commits.append(self.replace_image())
                    held.release()

            clock = mock.Mock(monotonic=time.monotonic, sleep=commit)
            with mock.patch.object(locks, 'time', clock):
                lock = self.exclusive(5)
                opened = lock.__enter__()
        self.assertEqual(commits[0].name, opened.volume.name)
        self.assertNotEqual(former, opened.image_id)
        lock.__exit__(None, None, None)

    def test_volume_without_an_image_is_not_locked(self) -> None:
        volume = self.new_volume()
        with locks.exclusive(self.driver, volume, 0) as lock:
            self.assertEqual('', lock.image_id)
            lock.check()
        with locks.shared(self.driver, volume, 0):
            self.assertEqual([], self.lockers)

    def test_image_that_its_holder_removes_is_no_loss(self) -> None:
        with self.exclusive() as lock:
            with self.cluster.connected() as ioctx:
                self.librbd.RBD().remove(ioctx, self.volume.name)
            self.assertRaises(locks.LockLost, lock.check)

    def test_second_image_is_locked_too(self) -> None:
        copy = self.made_volume()
        ident = self.cluster.stored(copy.name).ident
        with self.exclusive() as lock:
            lock.add(ident)
            other = advisory_locks.HEADER + ident, locks._IMAGE
            held = self.cluster.pools['volumes'].locks.held
            self.assertEqual(1, len(held[other]))
            lock.check()
            held[other].clear()
            self.assertRaises(locks.LockLost, lock.check)
        with self.exclusive() as lock, self.locked(copy):
            self.assertRaises(locks.VolumeLocked, lock.add, ident)
            self.assertRaises(locks.LockLost, lock.add, 'none')
        self.assertEqual([], self.lockers)

    def end_locks(self) -> None:
        """Let the locks end, as those of a service that is stopped."""
        for lockers in self.cluster.pools['volumes'].locks.held.values():
            lockers.clear()

    def test_operation_whose_lock_ended_counts_if_nothing_has_changed(
        self,
    ) -> None:
        with self.shared():
            self.end_locks()
        self.assertEqual([], self.lockers)

    @ddt.data('image', 'data', 'nothing yet')
    def test_operation_whose_lock_ended_fails_after_a_change(
        self, what: str
    ) -> None:
        def operate() -> None:
            with self.shared(0.1):
                self.end_locks()
                if what == 'image':
                    self.replace_image()
                elif what == 'data':
                    now = timeutils.utcnow()
                    values = {'status': 'reverting', 'updated_at': now}
                    db.volume_update(self.admin, self.volume.id, values)
                else:
                    other = self.locked(self.volume)
                    other.__enter__()
                    self.addCleanup(other.__exit__, None, None, None)

        self.assertRaises(locks.LockLost, operate)

    def test_operation_whose_lock_ended_fails_before_the_end_of_a_revert(
        self,
    ) -> None:
        """Its status is older than the lock of a snapshot requested before."""
        db.volume_update(self.admin, self.volume.id, {'status': 'reverting'})

        def operate() -> None:
            with self.shared():
                self.end_locks()

        self.assertRaises(locks.LockLost, operate)

    def test_failure_of_an_operation_is_not_hidden(self) -> None:
        def operate() -> None:
            with self.shared():
                self.end_locks()
                self.replace_image()
                raise exception.InvalidInput(reason='x')

        self.assertRaises(exception.InvalidInput, operate)

    @ddt.data(errno.ESHUTDOWN, errno.ETIMEDOUT, errno.EPERM)
    def test_connection_that_cannot_lock_is_replaced(
        self, number: int
    ) -> None:
        self.cluster.fail('Ioctx.lock.lock', fake_rados.OSError(number))
        with mock.patch.object(advisory_locks, 'PATIENCE', 0.01):
            error = self.raised(self.shared().__enter__)
        self.assertIsInstance(error, locks.LockUnavailable)
        self.assertIn('does not respond', str(error))
        self.assertEqual({number}, blocklisting.numbers(error))

    def test_configuration_is_changed_by_one_at_a_time(self) -> None:
        with self.shared() as current:
            with locks.configuring(self.driver, current, 0):
                self.assertEqual(2, len(self.lockers))
            self.assertEqual(1, len(self.lockers))

    def test_image_is_locked_by_its_name(self) -> None:
        with self.locked(self.volume):
            lock = locks.image(self.driver, self.volume.name, 0)
            self.assertRaises(locks.VolumeLocked, lock.__enter__)
        with locks.image(self.driver, self.volume.name, 0):
            self.assertEqual(1, len(self.lockers))
        with locks.image(self.driver, 'other', 0):
            self.assertEqual([], self.lockers)

    def test_name_is_locked_without_an_image(self) -> None:
        with locks.name(self.driver, 'name', wait=0):
            self.assertEqual(1, len(self.lockers))
            with locks.name(self.driver, 'other', wait=0):
                pass
        self.assertEqual([], self.lockers)

    def test_long_name_is_locked_by_its_end(self) -> None:
        """OSDs accept attributes with names of up to 100 characters."""
        names = [f'{"x" * 80}-{ident}' for ident in ('one', 'two')]
        with locks.name(self.driver, names[0], wait=0):
            with locks.name(self.driver, names[1], wait=0):
                attributes = [
                    f'lock.{name}'
                    for _key, name in self.cluster.pools['volumes'].locks.held
                ]
            self.assertEqual(2, len(attributes))
            self.assertLessEqual(max(map(len, attributes)), 100)


@ddt.ddt
class RepeatedTest(base.DriverTestCase):
    """A service is stopped at the end of an operation on a shared image."""

    def setUp(self) -> None:
        super().setUp()
        self.source = self.made_volume()
        self.is_stopped = False

    def stopped(
        self,
        owner: type[Any],
        name: str,
        is_copied: bool,
        is_late: bool = True,
    ) -> None:
        """End the locks, and change or replace the volume.

        :param is_late: whether after a call; otherwise before it, and the
            image that was replaced is gone
        """
        stock = getattr(owner, name)

        def stop(*args: Any, **kwargs: Any) -> Any:
            result = stock(*args, **kwargs) if is_late else None
            if not self.is_stopped:
                self.is_stopped = True
                for lockers in self.cluster.pools['volumes'].locks.held:
                    self.cluster.pools['volumes'].locks.held[lockers].clear()
                values = {'updated_at': timeutils.utcnow()}
                if is_copied:
                    copy = self.made_volume()
                    values['_name_id'] = copy.id
                db.volume_update(self.admin, self.source.id, values)
                if not is_late:
                    del self.cluster.pools['volumes'].images[self.source.name]
            return result if is_late else stock(*args, **kwargs)

        self._patch(f'{owner.__module__}.{owner.__name__}.{name}', stop)

    def current(self) -> Any:
        return objects.Volume.get_by_id(self.admin, self.source.id)

    @ddt.data(False, True)
    def test_clone_is_made_again_of_the_current_image(
        self, is_copied: bool
    ) -> None:
        clone = self.new_volume(source_volid=self.source.id)
        self.stopped(stock_rbd.RBDDriver, 'create_cloned_volume', is_copied)
        self.driver.create_cloned_volume(clone, self.source)
        self.assertTrue(self.is_stopped)
        parent: Any = self.cluster.stored(clone.name).parent
        self.assertEqual(self.current().name, parent[1].name)
        if is_copied:
            self.assertEqual([], self.snapshots_of(self.source.name))

    def test_snapshot_is_made_again_in_the_current_image(self) -> None:
        self.stopped(stock_rbd.RBDDriver, 'create_snapshot', True)
        snapshot = self.new_snapshot(self.source)
        self.assertEqual(
            [snapshot.name], self.snapshots_of(self.current().name)
        )

    def test_extension_is_repeated_on_the_current_image(self) -> None:
        self.stopped(stock_rbd.RBDDriver, 'extend_volume', True)
        self.driver.extend_volume(self.source, 2)
        stored = self.cluster.stored(self.current().name)
        self.assertEqual(2 * base.GIB, stored.size)

    def test_operation_that_misses_the_former_image_is_repeated(self) -> None:
        self.stopped(stock_rbd.RBDDriver, 'create_snapshot', True, False)
        snapshot = self.new_snapshot(self.source)
        self.assertEqual(
            [snapshot.name], self.snapshots_of(self.current().name)
        )

    def test_clone_of_a_snapshot_leaves_no_image_without_its_snapshot(
        self,
    ) -> None:
        """The copy that has replaced the source lacks it."""
        snapshot = self.new_snapshot(self.source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.stopped(stock_rbd.RBDDriver, 'create_volume_from_snapshot', True)
        self.raised(self.driver.create_volume_from_snapshot, volume, snapshot)
        self.assertNotIn(volume.name, self.cluster.names())

    def test_lock_that_is_always_lost_ends_the_attempts(self) -> None:
        lost = mock.Mock(side_effect=locks.LockLost(volume_id='id'))
        undo = mock.Mock()
        self.assertRaises(locks.LockLost, locks.until_held, lost, undo)
        self.assertEqual(lost.call_count, undo.call_count)
