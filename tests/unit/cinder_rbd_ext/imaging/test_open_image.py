# SPDX-License-Identifier: Apache-2.0


import gc
import os
import threading
from typing import Any
from unittest import mock

from cinder import exception

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import open_image
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests.unit.cinder_rbd_ext import librbd_case

# librbd's bit of an image in a live migration.
_MIGRATING = 1 << 9


class OpenImageTest(librbd_case.LibrbdTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.parent(order=20)
        self.image = self.module.Image(self.ioctx, 'parent')
        self.addCleanup(self.image.close)

    def test_size_is_checked_first(self) -> None:
        seen: list[Any] = []

        def check(image: Any, size: int) -> None:
            seen.append((image.size(), size))

        self.module.size_checks['parent'] = check
        self.image.resize(2 << 30)
        del self.module.size_checks['parent']
        self.image.resize(3 << 30)
        self.assertEqual([(1 << 30, 2 << 30)], seen)
        self.assertEqual(3 << 30, self.cluster.stored('parent').size)

    def test_size_that_is_refused(self) -> None:
        def check(image: Any, size: int) -> None:
            raise ValueError('refused')

        self.module.size_checks['parent'] = check
        self.assertRaises(ValueError, self.image.resize, 2 << 30)
        self.assertEqual(1 << 30, self.cluster.stored('parent').size)

    def test_encrypted_data_are_not_cut_off(self) -> None:
        """The imported file has a LUKS header, and then the data."""
        imported = (2 << 30) + (2 << 20)
        self.image.resize(imported)
        self.image.resize(2 << 30)
        self.assertEqual(imported, self.cluster.stored('parent').size)
        self.image.resize(1 << 30)
        self.assertEqual(1 << 30, self.cluster.stored('parent').size)

    def test_snapshots_of_an_image_in_a_live_migration_are_kept(self) -> None:
        self.cluster.stored('parent').mask |= _MIGRATING
        with self.module.Image(self.ioctx, 'parent') as image:
            for change in (image.unprotect_snap, image.remove_snap):
                self.assertRaises(exception.SnapshotIsBusy, change, 's')
            error = self.assertRaises(
                exceptions.ImageMigrating, image.create_snap, 't'
            )
        self.assertIn('parent is in a live migration', str(error))
        (snapshot,) = self.cluster.stored('parent').snapshots
        self.assertTrue(snapshot.protected)

    def test_features_that_change_are_not_those_of_the_plan(self) -> None:
        state = options.image_values(layout.ImageLayout(1 << 20), frozenset())
        self.creation.state = state
        with self.creations.hold(self.creation):
            self.image.update_features(feature_bits.LOCK, True)
            self.assertIs(state, self.creation.state)
            self.fake.RBD().create(self.ioctx, 'new', 1, features=1)
            with self.module.Image(self.ioctx, 'new') as image:
                image.update_features(feature_bits.LOCK, True)
        self.assertIsNone(self.creation.state)

    def test_source_is_read_once(self) -> None:
        """The source is open when its snapshot for the clone is created."""
        with self.creations.hold(self.creation):
            self.image.create_snap('new.clone_snap')
            self.image.protect_snap('new.clone_snap')
            opened = len(self.cluster.open_images)
            self.cluster.fail('Image.size', self.fault)
            self.module.RBD().clone(
                self.ioctx,
                'parent',
                'new.clone_snap',
                self.ioctx,
                'new',
                features=feature_bits.DEFAULT,
            )
        self.cluster.forgive()
        self.assertEqual(opened, len(self.cluster.open_images))
        self.assertEqual(2, len(self.asked))
        self.assertEqual(librbd_case.NUMBERS, self.numbers('new'))


class LockTest(librbd_case.LibrbdTestCase):
    """A snapshot is made while no handle of the image is closed."""

    def setUp(self) -> None:
        super().setUp()
        # Green threads cannot wait for those that make blocking calls.
        self.native = releases._native(threading)
        self.go_on = self.native.Event()
        self.begun = self.native.Event()
        self.done: list[str] = []

    def _opened(self, name: str | None, **kwargs: Any) -> open_image.Image:
        handle = mock.Mock(spec=['close', 'create_snap', 'features'])
        handle.features.return_value = 1
        handle.create_snap.side_effect = self._wait
        with mock.patch.object(
            self.fake, 'Image', autospec=True, return_value=handle
        ):
            return self.module.Image(self.ioctx, name, **kwargs)

    def _wait(self, name: str) -> None:
        self.begun.set()
        self.go_on.wait(10)
        self.done.append(name)

    def _snapshot(self) -> Any:
        image = self._opened('a')
        thread = self.native.Thread(target=image.create_snap, args=('s',))
        thread.start()
        self.begun.wait(10)
        return thread

    def test_handle_of_the_same_image_waits(self) -> None:
        image = self._opened('a')
        thread = self._snapshot()
        self.native.Timer(0.1, self.go_on.set).start()
        image.close()
        thread.join()
        self.assertEqual(['s'], self.done)

    def test_others_do_not_wait(self) -> None:
        """Also many of them, and those that never have the lock."""
        others = [self._opened(f'b{number}') for number in range(200)]
        others.append(self._opened('a', read_only=True))
        others += [self._opened(None, image_id=str(n)) for n in range(200)]
        thread = self._snapshot()
        for each in others:
            each.close()
        self.assertEqual([], self.done)
        self.go_on.set()
        thread.join()

    def test_hanging_call(self) -> None:
        image = self._opened('a')
        thread = self._snapshot()
        with mock.patch.object(open_image, 'LONGEST', 0.01):
            image.close()
        self.assertEqual([], self.done)
        self.go_on.set()
        thread.join()

    def test_kept_while_there_is_a_handle(self) -> None:
        locks = open_image.Locks()
        first = locks.of(1, 'a')
        self.assertIs(first, locks.of(1, 'a'))
        self.assertIsNot(first, locks.of(2, 'a'))
        del first
        gc.collect()
        self.assertEqual(0, len(locks._of))

    def test_lock_is_not_held_in_a_child_process(self) -> None:
        """A lock of another thread is not held in the child process."""
        locks = open_image.Locks()
        lock = locks.of(1, 'a')
        with lock:
            child = os.fork()
            if not child:
                taken = locks.of(1, 'a').acquire(blocking=False)
                os._exit(0 if taken else 1)
        self.assertEqual((child, 0), os.waitpid(child, 0))
