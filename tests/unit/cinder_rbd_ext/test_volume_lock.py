# SPDX-License-Identifier: Apache-2.0

"""Locks of volumes, in several processes and with Cinder's file driver."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any
from unittest import mock
import uuid

from cinder import coordination
import fixtures
from oslo_config import cfg
import tooz
from tooz import coordination as tooz_coordination

from cinder_rbd_ext import volume_lock
from tests.unit import base

#: The URL of another coordination back end than the file driver.
BACKEND_URL = 'RBD_TEST_COORDINATION'

# Takes a lock, says so, and releases it when its input ends.
_HOLDER = """
import os, sys
if sys.argv[1] == 'eventlet':
    import eventlet
    eventlet.monkey_patch()
from cinder import coordination
from oslo_config import cfg
from cinder_rbd_ext import volume_lock
cfg.CONF([], project='cinder', default_config_files=[])
cfg.CONF.set_override('backend_url', sys.argv[2], 'coordination')
coordination.COORDINATOR.start()
with getattr(volume_lock, sys.argv[3])(sys.argv[4], wait=float(sys.argv[5])):
    print('held', flush=True)
    sys.stdin.read()
print('released', flush=True)
"""


class _Holder:
    """Another process that holds a lock."""

    def __init__(self, threads: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, '-c', _HOLDER, threads, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def has_it(self) -> bool:
        """Wait until the process has the lock or has ended."""
        out = self.process.stdout
        return out is not None and out.readline() == 'held\n'

    def release(self) -> None:
        """Have the process release the lock, and wait for that."""
        out, err = self.process.communicate(timeout=30)
        if out != 'released\n':
            raise AssertionError(err)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()


class VolumeLockTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.url = os.environ.get(BACKEND_URL, f'file://{self.folder}')
        coordinator = coordination.Coordinator(prefix='cinder-')
        cfg.CONF.set_override('backend_url', self.url, 'coordination')
        self.addCleanup(cfg.CONF.clear_override, 'backend_url', 'coordination')
        coordinator.start()
        self.addCleanup(coordinator.stop)
        for name, value in (
            ('COORDINATOR', coordinator),
            ('synchronized_remove', coordinator.remove_lock),
        ):
            patch = mock.patch.object(coordination, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.coordinator = coordinator
        self.volume = str(uuid.uuid4())

    def holder(
        self, how: str, wait: float = 10, threads: str = 'native'
    ) -> _Holder:
        holder = _Holder(threads, self.url, how, self.volume, str(wait))
        self.addCleanup(holder.end)
        return holder

    def other(self, how: str, threads: str = 'native') -> _Holder:
        """Return another process that has the lock."""
        holder = self.holder(how, threads=threads)
        self.assertTrue(holder.has_it())
        return holder

    @contextlib.contextmanager
    def thread(self, work: Callable[[], Any]) -> Iterator[threading.Thread]:
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield thread
        finally:
            thread.join()

    def in_thread(self, work: Callable[[], Any]) -> Any:
        """Run a function in another thread and return its result."""
        results = []
        with self.thread(lambda: results.append(work())):
            pass
        return results[0]

    def can(self, how: Callable[..., Any], wait: float = 0) -> bool:
        """Return whether another thread can take the lock."""

        def work() -> bool:
            try:
                with how(self.volume, wait=wait):
                    return True
            except volume_lock.VolumeLocked:
                return False

        return bool(self.in_thread(work))


class ThreadsTest(VolumeLockTest):
    def test_shared_holders_exclude_exclusive_ones_only(self) -> None:
        with volume_lock.shared(self.volume):
            self.assertTrue(self.can(volume_lock.shared))
            self.assertFalse(self.can(volume_lock.exclusive))
        self.assertTrue(self.can(volume_lock.exclusive))

    def test_exclusive_holder_excludes_all_others(self) -> None:
        with volume_lock.exclusive(self.volume):
            self.assertFalse(self.can(volume_lock.shared))
            self.assertFalse(self.can(volume_lock.exclusive))
            with volume_lock.exclusive('b', wait=0):
                pass
        self.assertTrue(self.can(volume_lock.shared))

    def test_waits_until_the_holder_releases(self) -> None:
        for how in (volume_lock.shared, volume_lock.exclusive):
            holds = threading.Event()

            def hold(holds: threading.Event = holds) -> None:
                with volume_lock.exclusive(self.volume):
                    holds.set()
                    time.sleep(0.2)

            with self.thread(hold):
                self.assertTrue(holds.wait(10))
                with how(self.volume, wait=10):
                    pass

    def test_error_names_the_volume_and_what_to_do(self) -> None:
        with volume_lock.exclusive(self.volume):
            error = self.in_thread(
                lambda: self.assertRaises(
                    volume_lock.VolumeLocked,
                    volume_lock.shared(self.volume, wait=0).__enter__,
                )
            )
        self.assertIn(f'volume {self.volume}. Try again', str(error))

    def test_holder_may_take_it_again(self) -> None:
        with volume_lock.exclusive(self.volume):
            with volume_lock.shared(self.volume, wait=0):
                pass
            with volume_lock.exclusive(self.volume, wait=0) as held:
                held.check_is_held()
            self.assertFalse(self.can(volume_lock.shared))
        with (
            volume_lock.shared(self.volume),
            volume_lock.shared(self.volume, wait=0),
        ):
            self.assertFalse(self.can(volume_lock.exclusive))

    def test_shared_holder_cannot_take_it_exclusively(self) -> None:
        with volume_lock.shared(self.volume):
            self.assertRaises(
                RuntimeError,
                volume_lock.exclusive(self.volume, wait=0).__enter__,
            )

    def test_many_shared_holders_take_one_lock(self) -> None:
        # On a busy machine, the threads take longer to start.
        volume_lock.JOIN_FOR, before = 600.0, volume_lock.JOIN_FOR
        self.addCleanup(setattr, volume_lock, 'JOIN_FOR', before)
        get_lock = mock.patch.object(
            self.coordinator,
            'get_lock',
            autospec=True,
            side_effect=self.coordinator.get_lock,
        )
        together = threading.Barrier(64)
        failed = []

        def work() -> None:
            try:
                with volume_lock.shared(self.volume, wait=600):
                    together.wait(600)
            except Exception as error:
                failed.append(error)

        with get_lock as taken, contextlib.ExitStack() as stack:
            for _ in range(64):
                stack.enter_context(self.thread(work))
        self.assertEqual([], failed)
        taken.assert_called_once()

    def test_any_number_of_long_operations_share_it(self) -> None:
        # None of them joins the others without a look at the gate.
        volume_lock.JOIN_FOR, before = 0.0, volume_lock.JOIN_FOR
        self.addCleanup(setattr, volume_lock, 'JOIN_FOR', before)
        with contextlib.ExitStack() as held:
            ended = threading.Event()
            for _ in range(volume_lock.PLACES + 2):
                holds = threading.Event()

                def work(holds: threading.Event = holds) -> None:
                    with volume_lock.shared(self.volume, wait=0):
                        holds.set()
                        ended.wait(30)

                thread = threading.Thread(target=work)
                thread.start()
                held.callback(thread.join)
                held.callback(ended.set)
                self.assertTrue(holds.wait(5))
            # Other processes can share it, too.
            self.other('shared').release()
            self.assertFalse(self.can(volume_lock.exclusive))
        self.assertTrue(self.can(volume_lock.exclusive))

    def test_exclusive_holder_does_not_wait_for_later_ones(self) -> None:
        volume_lock.JOIN_FOR, before = 0.2, volume_lock.JOIN_FOR
        self.addCleanup(setattr, volume_lock, 'JOIN_FOR', before)
        ended = threading.Event()

        def work() -> None:
            while not ended.is_set():
                with volume_lock.shared(self.volume, wait=20):
                    time.sleep(0.1)

        with contextlib.ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(self.thread(work))
                time.sleep(0.025)
            try:
                with volume_lock.exclusive(self.volume, wait=10):
                    pass
            finally:
                ended.set()

    def test_nothing_is_left_of_a_lock(self) -> None:
        with volume_lock.shared(self.volume), volume_lock.exclusive('b'):
            self.can(volume_lock.exclusive)
            self.can(volume_lock.configuring)
        self.assertEqual({}, volume_lock._process().taken)
        self.assertEqual({}, volume_lock._process().sharing)
        volume_lock.clean(self.volume)
        volume_lock.clean('b')
        self.assertEqual([], list(self.folder.glob('cinder-rbd-volume-*')))


class ProcessesTest(VolumeLockTest):
    def test_shared_holders_of_other_processes_exclude_exclusive_ones(
        self,
    ) -> None:
        one, two = self.other('shared'), self.other('shared')
        self.assertTrue(self.can(volume_lock.shared))
        self.assertFalse(self.can(volume_lock.exclusive))
        one.release()
        self.assertFalse(self.can(volume_lock.exclusive))
        two.release()
        self.assertTrue(self.can(volume_lock.exclusive))

    def test_exclusive_holder_of_another_process_excludes_all_others(
        self,
    ) -> None:
        other = self.other('exclusive', 'eventlet')
        self.assertFalse(self.can(volume_lock.shared))
        self.assertFalse(self.can(volume_lock.exclusive))
        other.release()
        self.assertTrue(self.can(volume_lock.exclusive))

    def test_only_one_process_changes_the_configuration(self) -> None:
        other = self.other('configuring')
        self.assertFalse(self.can(volume_lock.configuring))
        self.assertTrue(self.can(volume_lock.shared))
        other.release()
        self.assertTrue(self.can(volume_lock.configuring))

    def test_killed_process_holds_nothing(self) -> None:
        for how in ('exclusive', 'shared'):
            self.other(how).end()
            # A lock of etcd expires.
            self.assertTrue(self.can(volume_lock.exclusive, wait=10))

    def test_failed_attempts_do_not_release_the_lock(self) -> None:
        # The kernel releases the lock of a process when the process closes
        # the file, even if that was opened for another attempt.
        with volume_lock.exclusive(self.volume):
            for _ in range(3):
                self.assertFalse(self.can(volume_lock.shared))
            waiting = self.holder('shared', wait=0.5)
            self.assertFalse(waiting.has_it())

    def test_more_processes_than_places_wait(self) -> None:
        holders = [self.other('shared') for _ in range(volume_lock.PLACES)]
        self.assertFalse(self.can(volume_lock.shared))
        holders[0].release()
        self.assertTrue(self.can(volume_lock.shared))


class BackEndTest(VolumeLockTest):
    """What an unreachable coordination back end leaves."""

    def lock(self) -> mock.Mock:
        lock: mock.Mock
        lock = mock.create_autospec(tooz.locking.Lock, instance=True)
        lock.is_still_owner.side_effect = tooz.NotImplemented
        patch = mock.patch.object(self.coordinator, 'get_lock', autospec=True)
        patch.start().return_value = lock
        self.addCleanup(patch.stop)
        return lock

    def test_unreachable_back_end_is_named(self) -> None:
        lock = self.lock()
        lock.acquire.side_effect = tooz_coordination.ToozConnectionError('no')
        patch = mock.patch.object(volume_lock, 'PATIENCE', 0.1)
        patch.start()
        self.addCleanup(patch.stop)
        for how in (volume_lock.shared, volume_lock.exclusive):
            error = self.assertRaises(
                volume_lock.LockUnavailable, how(self.volume, wait=9).__enter__
            )
            self.assertIn('coordination back end', str(error))
        self.assertEqual({}, volume_lock._process().taken)
        self.assertEqual({}, volume_lock._process().sharing)

    def test_back_end_that_responds_again_soon_is_waited_for(self) -> None:
        failure = tooz_coordination.ToozConnectionError('no')
        lock = self.lock()
        for how in (volume_lock.shared, volume_lock.exclusive):
            lock.acquire.side_effect = [failure] * 6 + [True] * 9
            with how(self.volume, wait=9):
                pass

    def test_back_end_that_fails_later_does_not_end_other_operations(
        self,
    ) -> None:
        volume_lock.JOIN_FOR, before = 0.0, volume_lock.JOIN_FOR
        self.addCleanup(setattr, volume_lock, 'JOIN_FOR', before)
        lock = self.lock()
        with volume_lock.shared(self.volume):
            failure = tooz_coordination.ToozConnectionError('no')
            lock.acquire.side_effect = failure
            self.in_thread(
                lambda: self.assertRaises(
                    volume_lock.LockUnavailable,
                    volume_lock.shared(self.volume, wait=0.2).__enter__,
                )
            )
            lock.release.assert_not_called()
        lock.release.assert_called_once()
        self.assertEqual({}, volume_lock._process().taken)
        self.assertEqual({}, volume_lock._process().sharing)

    def test_release_is_repeated(self) -> None:
        lock = self.lock()
        failure = tooz_coordination.ToozConnectionError('no')
        lock.release.side_effect = [failure, True, True]
        pause, volume_lock._RELEASE_PAUSE = volume_lock._RELEASE_PAUSE, 0.01
        self.addCleanup(setattr, volume_lock, '_RELEASE_PAUSE', pause)
        with volume_lock.shared(self.volume):
            pass
        with volume_lock.shared(self.volume, wait=10):
            pass
        for _ in range(100):
            if not volume_lock._process().taken:
                break
            time.sleep(0.05)
        self.assertEqual({}, volume_lock._process().taken)

    def test_expired_lock_of_etcd_is_noticed(self) -> None:
        lock = self.lock()
        lock._lease = mock.Mock(spec=['ttl'])
        lock._lease.ttl.return_value = 29
        with volume_lock.exclusive(self.volume) as held:
            held.check_is_held()
            lock._lease.ttl.return_value = -1
            error = self.assertRaises(volume_lock.LockLost, held.check_is_held)
        self.assertIn(f'volume {self.volume} expired', str(error))
