# SPDX-License-Identifier: Apache-2.0

"""Test the order of deletions, with events instead of times."""

from collections.abc import Callable
import concurrent.futures
import contextlib
import threading
import time
from typing import Any
from unittest import mock

import ddt
import fixtures
from oslo_messaging import server as messaging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import turns
from cinder_rbd_ext.retype import places
from tests.unit import base

#: Seconds after which a test fails that would otherwise wait forever.
_PATIENCE = 60


class _Interrupted(BaseException):
    pass


class LineTest(base.TestCase):
    """Lines with one place or a few, in which threads wait."""

    def setUp(self) -> None:
        super().setUp()
        self.line = turns.Line(1, 1)
        self.pool = concurrent.futures.ThreadPoolExecutor(16)
        self.addCleanup(self.pool.shutdown)
        self.order: list[str] = []

    def _queue(self, name: str) -> concurrent.futures.Future[None]:
        """Have a thread wait in the line; the first letter is its project."""

        def run() -> None:
            with self.line.turn(name[0]):
                self.order.append(name)

        before = self.line.counts()[1]
        future = self.pool.submit(run)
        while self.line.counts()[1] == before:
            self.assertFalse(future.done())
        return future

    def test_one_project_is_served_in_the_order_of_arrival(self) -> None:
        with self.line.turn('a'):
            waiting = [self._queue(name) for name in ('a1', 'a2', 'a3')]
        # One that arrives now cannot overtake.
        with self.line.turn('a'):
            self.order.append('a4')
        for each in waiting:
            each.result(_PATIENCE)
        self.assertEqual(['a1', 'a2', 'a3', 'a4'], self.order)

    def test_projects_take_turns(self) -> None:
        with self.line.turn('x'):
            names = ('a1', 'a2', 'a3', 'b1', 'b2', 'c1')
            waiting = [self._queue(name) for name in names]
        for each in waiting:
            each.result(_PATIENCE)
        self.assertEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'], self.order)

    def test_other_project_begins_while_one_waits(self) -> None:
        self.line = turns.Line(5, 3)
        with contextlib.ExitStack() as running:
            for _ in range(3):
                running.enter_context(self.line.turn('a'))
            waiting = [self._queue(f'a{number}') for number in range(6)]
            self.assertEqual((3, 6), self.line.counts())
            with self.line.turn('b'), self.line.turn('c'):
                self.assertEqual((5, 6), self.line.counts())
            # The places that b and c have left are not for a.
            self.assertEqual((3, 6), self.line.counts())
        for each in waiting:
            each.result(_PATIENCE)
        self.assertEqual((0, 0), self.line.counts())

    def test_failure_gives_its_place_back(self) -> None:
        def fail() -> None:
            with self.line.turn('a'):
                raise ValueError

        for _ in range(2):
            self.assertRaises(ValueError, fail)
        with self.line.turn('a'):
            self.order.append('next')
        self.assertEqual(['next'], self.order)

    def test_operation_interrupted_while_it_waits_loses_no_place(self) -> None:
        """Whether or not it was already given the place."""
        for owned in (False, True):
            held = contextlib.ExitStack()
            held.enter_context(self.line.turn('b'))

            def wait(
                event: Any,
                timeout: None,
                first: contextlib.ExitStack = held,
                owned: bool = owned,
            ) -> None:
                if owned:
                    first.close()
                raise _Interrupted

            with mock.patch.object(
                threading.Event, 'wait', autospec=True, side_effect=wait
            ):
                self.assertRaises(_Interrupted, self.line.turn('a').__enter__)
            held.close()
            self.assertEqual((0, 0), self.line.counts())
            self.assertEqual(1, self.line._free)


class ThreadsTest(base.TestCase):
    def test_deletions_and_copies_leave_threads_to_others(self) -> None:
        """Of each line, twice as many wait if all projects differ."""
        running = turns.MOST_AT_ONCE + turns.MOST_SLOW
        (threads,) = (
            option.default
            for option in messaging._pool_opts
            if option.name == 'executor_thread_pool_size'
        )
        waiting = 2 * 2 * turns.MOST_WAITING
        requests = turns.MOST_UPLOADS + places.MOST
        self.assertLess(waiting + running + requests, threads)


@ddt.ddt
class UploadsTest(base.TestCase):
    def test_uploads_of_a_project_leave_places_to_others(self) -> None:
        uploads = turns.Uploads()
        ended = threading.Event()

        def upload() -> None:
            with uploads.place('a'):
                ended.wait(30)

        most = turns.MOST_UPLOADS - turns.FOR_OTHERS
        running = turns.MOST_UPLOADS_AT_ONCE - turns.FOR_OTHERS
        threads = [threading.Thread(target=upload) for _ in range(most)]
        for thread in threads:
            thread.start()
        while uploads.line.counts() != (running, most - running):
            threads[0].join(0.01)
        # One more would only hold a thread for requests.
        self.assertRaises(
            exceptions.TooManyUploads, uploads.place('a').__enter__
        )
        with uploads.place('b'):
            self.assertEqual(running + 1, uploads.line.counts()[0])
        ended.set()
        for thread in threads:
            thread.join(30)
        with uploads.place('a'):
            self.assertEqual((1, 0), uploads.line.counts())

    def test_native_threads_are_left_to_other_calls(self) -> None:
        """Eventlet has 20 by default."""
        self.assertLess(turns.MOST_UPLOADS_AT_ONCE, 20 / 2)


class PostponedTest(base.TestCase):
    """A line with one place, in which two operations wait in threads."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(turns, 'MOST_WAITING', 2)
        self.patch(turns, 'INTERVAL', 0.01)
        self.line = turns.Line(1, 1)
        self.requested: list[str] = []
        self.pool = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)

    def _begin(self, name: str) -> bool:
        """Begin an operation as a request; return whether it waits."""

        def request() -> None:
            self.requested.append(name)

        def run() -> None:
            with self.line.turn(name[0], request):
                pass

        before = self.line._threads()
        future = self.pool.submit(run)
        while self.line._threads() == before:
            if future.done():
                self.assertIsInstance(future.exception(), turns.Postponed)
                return False
            # Green threads run only while this one sleeps.
            time.sleep(0.005)
        return True

    def test_only_a_few_hold_threads_and_a_new_project_waits(self) -> None:
        names = ('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'a5')
        with self.line.turn('x'):
            waiting = [name for name in names if self._begin(name)]
            self.assertEqual(['a1', 'a2', 'b1'], waiting)
            self.assertEqual((1, 7), self.line.counts())
            self.assertEqual([], self.requested)
        # Projects take turns.
        self.until(lambda: len(self.requested) == 4)
        self.assertEqual(['a3', 'b2', 'a4', 'a5'], self.requested)
        self.assertEqual((0, 0), self.line.counts())

    def test_many_projects_hold_no_more_than_twice_the_threads(self) -> None:
        names = ('a1', 'a2', 'b1', 'c1', 'd1', 'e1')
        with self.line.turn('x'):
            waiting = [name for name in names if self._begin(name)]
            self.assertEqual(['a1', 'a2', 'b1', 'c1'], waiting)
            self.assertEqual((1, 6), self.line.counts())
        self.until(lambda: self.requested == ['d1', 'e1'])

    def test_deletions_of_a_restart_have_no_request_postponed(self) -> None:
        with self.line.turn('x'):
            begun = [self.pool.submit(self._wait, name) for name in 'aaaabc']
            self.until(lambda: self.line.counts() == (1, 6))
            self.assertTrue(self._begin('a1'))
            self.assertTrue(self._begin('d1'))
        for each in begun:
            each.result(_PATIENCE)

    def _wait(self, project: str) -> None:
        with self.line.turn(project):
            pass

    def test_one_that_must_not_be_postponed_waits(self) -> None:
        with self.line.turn('x'):
            for name in ('a1', 'a2'):
                self._begin(name)
            future = self.pool.submit(self._wait, 'a')
            self.until(lambda: self.line.counts() == (1, 3))
        self.assertIsNone(future.result(_PATIENCE))

    def test_request_that_fails_is_repeated(self) -> None:
        self.useFixture(fixtures.FakeLogger())
        failures = [OSError('no message queue')] * 3

        def request() -> None:
            if failures:
                raise failures.pop()
            self.requested.append('a')

        with self.line.turn('x'):
            for name in ('a1', 'a2'):
                self._begin(name)
            late = self.line.turn('a', request)
            self.assertRaises(turns.Postponed, late.__enter__)
        self.until(lambda: self.requested == ['a'])
        self.assertEqual([], failures)

    def until(self, is_done: Callable[[], bool]) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + _PATIENCE
        while not is_done():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)


class TurnsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.turns = turns.Turns()
        self.pool = concurrent.futures.ThreadPoolExecutor(40)
        self.addCleanup(self.pool.shutdown)
        self.begun: list[str] = []
        self.running = threading.Semaphore(0)
        self.end = threading.Event()
        self.addCleanup(self.end.set)

    def _delete(self, name: str) -> None:
        slow = name.startswith('slow')

        def delete() -> None:
            self.begun.append(name)
            self.turns.check(name, lambda: slow)
            if slow:
                self.running.release()
                self.end.wait(_PATIENCE)

        self.turns.run(name, 'project', delete)

    def test_slow_ones_do_not_delay_others(self) -> None:
        """All slow ones wait or run until the others have ended."""
        slow = [
            self.pool.submit(self._delete, f'slow-{number}')
            for number in range(20)
        ]
        for _ in range(turns.MOST_SLOW - turns.FOR_OTHERS):
            self.assertTrue(self.running.acquire(timeout=_PATIENCE))
        for number in range(20):
            self.pool.submit(self._delete, f'small-{number}').result(_PATIENCE)
        # No other slow one has begun.
        self.assertFalse(self.running.acquire(blocking=False))
        self.assertFalse(any(each.done() for each in slow))
        self.end.set()
        for each in slow:
            each.result(_PATIENCE)
        # Only slow ones begin twice.
        self.assertEqual(20 * 2 + 20, len(self.begun))

    def test_unknown_cost(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())

        def fail() -> bool:
            raise OSError('no answer')

        self.turns.run('one', 'a', lambda: self.turns.check('one', fail))
        self.assertIn('no answer', log.output)

    def test_failed_deletion_frees_its_turn(self) -> None:
        """It is raised, and the deletion can be repeated."""

        def fail() -> None:
            self.begun.append('one')
            self.turns.check('one', lambda: True)
            raise ValueError

        for _ in range(2 * turns.MOST_AT_ONCE):
            self.assertRaises(ValueError, self.turns.run, 'one', 'a', fail)
        self.assertEqual(4 * turns.MOST_AT_ONCE, len(self.begun))
