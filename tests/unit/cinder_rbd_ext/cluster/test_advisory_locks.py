# SPDX-License-Identifier: Apache-2.0

"""Advisory locks on the fake cluster."""

import contextlib
import errno
import os
import threading
import time
from typing import Any
from unittest import mock

from cinder_rbd_ext.cluster import advisory_locks
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.functional import advisory_lock_behaviour
from tests.unit import base


class AdvisoryLocksTest(advisory_lock_behaviour.Behaviour, base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # The thread of another test may still wait.
        advisory_locks._process.cache_clear()
        self.cluster = fake_rados.Cluster('volumes')
        self.rados = self.cluster.rados
        with contextlib.ExitStack() as stack:
            self.one = stack.enter_context(self.cluster.connected())
            self.two = stack.enter_context(self.cluster.connected())
            self.addCleanup(stack.pop_all().close)
        self.librbd = fake_librbd.Librbd(self.cluster)
        self.librbd.RBD().create(self.one, 'image', 1 << 20)
        ident = self.cluster.stored('image').ident
        self.header = advisory_locks.HEADER + ident

    def remove_image(self) -> None:
        self.librbd.RBD().remove(self.two, 'image')

    def pass_time(self) -> None:
        time.sleep(1.1)

    def header_exists(self) -> bool:
        return 'image' in self.cluster.names()

    def test_thread_renews_a_lock(self) -> None:
        self.lasting(1)
        with mock.patch.object(advisory_locks, 'INTERVAL', 0.2):
            lock = self.lock(self.one)
            self.assertEqual(0, lock.take())
            self.pass_time()
            self.assertTrue(lock.release())

    def test_thread_ends_with_the_last_lock(self) -> None:
        with mock.patch.object(advisory_locks, 'INTERVAL', 0.05):
            lock = self.lock(self.one)
            lock.take()
            lock.release()
            until = time.monotonic() + 10
            process = advisory_locks._process()
            while process._is_renewing and time.monotonic() < until:
                time.sleep(0.05)
        self.assertFalse(process._is_renewing)

    def test_first_locks_of_two_threads_are_both_released(self) -> None:
        """A renewal with a closed context would end the process."""
        made: list[advisory_locks._Process] = []
        both = threading.Barrier(2)

        class Slow(advisory_locks._Process):
            def __init__(self) -> None:
                super().__init__()
                made.append(self)
                with contextlib.suppress(threading.BrokenBarrierError):
                    both.wait(5)

        def hold(ioctx: Any) -> None:
            lock = self.lock(ioctx, advisory_lock_behaviour.SHARED)
            self.assertEqual(0, lock.take())
            lock.release()

        with mock.patch.object(advisory_locks, '_Process', Slow):
            threads = [
                threading.Thread(target=hold, args=(ioctx,))
                for ioctx in (self.one, self.two)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual([set()] * len(made), [each._held for each in made])

    def test_forked_process_holds_nothing(self) -> None:
        lock = self.lock(self.one)
        lock.take()
        child = os.fork()
        if not child:
            process = advisory_locks._process()
            os._exit(int(bool(process._held or process._is_renewing)))
        self.assertEqual(0, os.waitpid(child, 0)[1])
        self.assertTrue(lock.release())

    def test_osd_that_does_not_respond_is_waited_for_for_a_while(
        self,
    ) -> None:
        silent = fake_rados.OSError(errno.ETIMEDOUT)
        self.cluster.fail('Ioctx.lock.lock', silent)
        with mock.patch.object(advisory_locks, 'PATIENCE', 0.01):
            self.assertEqual(errno.ETIMEDOUT, self.lock(self.one).take())
