# SPDX-License-Identifier: Apache-2.0

"""Behaviours of advisory locks, for Ceph and for the fake cluster."""

import errno
import time
from typing import Any
from unittest import mock

from cinder_rbd_ext.cluster import advisory_locks

EXCLUSIVE = advisory_locks.Kind.EXCLUSIVE
SHARED = advisory_locks.Kind.SHARED


class Behaviour:
    """Tests of locks on the header of an image, by two connections."""

    rados: Any
    one: Any
    two: Any
    #: Header of an image.
    header: str
    assertEqual: Any
    assertTrue: Any
    assertFalse: Any
    addCleanup: Any

    def remove_image(self) -> None:
        """Remove the image with the header."""
        raise NotImplementedError

    def pass_time(self) -> None:
        """Let locks of :meth:`lasting` end."""
        raise NotImplementedError

    def lock(
        self,
        ioctx: Any,
        kind: advisory_locks.Kind = EXCLUSIVE,
        name: str = 'name',
    ) -> advisory_locks.Lock:
        """Return a lock that is not taken."""
        lock = advisory_locks.Lock(self.rados, ioctx, self.header, name, kind)
        self.addCleanup(lock.release)
        return lock

    def lasting(self, seconds: int) -> None:
        """Have locks last for some seconds."""
        patch = mock.patch.object(advisory_locks, 'DURATION', seconds)
        patch.start()
        self.addCleanup(patch.stop)

    def test_exclusive_lock_excludes_others_until_it_is_released(self) -> None:
        lock = self.lock(self.one)
        self.assertEqual(0, lock.take())
        for ioctx in (self.one, self.two):
            for kind in (SHARED, EXCLUSIVE):
                other = self.lock(ioctx, kind)
                self.assertEqual(errno.EBUSY, other.take())
        self.assertEqual(0, self.lock(self.two, name='other').take())
        self.assertTrue(lock.is_held())
        self.assertTrue(lock.release())
        self.assertEqual(0, self.lock(self.two).take())

    def test_shared_locks_exclude_exclusive_ones_only(self) -> None:
        one, two = self.lock(self.one, SHARED), self.lock(self.two, SHARED)
        self.assertEqual(0, one.take())
        self.assertEqual(0, two.take())
        self.assertEqual(errno.EBUSY, self.lock(self.one).take())
        self.assertTrue(one.release())
        self.assertEqual(errno.EBUSY, self.lock(self.one).take())
        self.assertTrue(two.release())
        self.assertEqual(0, self.lock(self.one).take())

    def test_lock_that_has_ended_is_lost_even_if_nobody_took_it(self) -> None:
        self.lasting(1)
        lock = self.lock(self.one)
        self.assertEqual(0, lock.take())
        self.pass_time()
        self.assertFalse(lock.is_held())
        self.assertFalse(lock.release())

    def test_check_makes_a_lock_last_its_whole_duration_again(self) -> None:
        """After a pause, the step that follows it may take that long."""
        self.lasting(2)
        # No thread renews it.
        patch = mock.patch.object(
            advisory_locks.Lock, 'renew', autospec=True, return_value=None
        )
        patch.start()
        self.addCleanup(patch.stop)
        lock = self.lock(self.one)
        self.assertEqual(0, lock.take())
        until = time.monotonic() + 3.5
        while time.monotonic() < until:
            time.sleep(0.9)
            self.assertTrue(lock.is_held())
        self.assertTrue(lock.release())

    def test_lock_that_has_ended_is_free(self) -> None:
        self.lasting(1)
        lock, other = self.lock(self.one), self.lock(self.two)
        self.assertEqual(0, lock.take())
        self.pass_time()
        self.assertEqual(0, other.take())
        self.assertFalse(lock.is_held())
        self.assertFalse(lock.release())
        self.assertTrue(other.is_held())

    def test_header_of_a_removed_image_is_not_created_again(self) -> None:
        lock = self.lock(self.one)
        self.assertEqual(0, lock.take())
        self.remove_image()
        self.assertFalse(self.header_exists())
        self.assertFalse(lock.is_held())
        self.assertFalse(lock.release())
        for kind in (SHARED, EXCLUSIVE):
            self.assertEqual(errno.ENOENT, self.lock(self.two, kind).take())
        self.assertFalse(self.header_exists())

    def header_exists(self) -> bool:
        """Return whether the header exists."""
        raise NotImplementedError
