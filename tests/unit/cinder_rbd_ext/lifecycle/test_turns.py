#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Test the order of deletions, with events instead of times."""

import concurrent.futures
import threading
from typing import Any
from unittest import mock

import ddt
import fixtures

from cinder_rbd_ext.lifecycle import turns
from tests import feature_bits
from tests.unit import base

#: Seconds after which a test fails that would otherwise wait forever.
_PATIENCE = 60
_MAP = feature_bits.LOCK | feature_bits.MAP | feature_bits.FAST_DIFF


class _Image:
    """An image of librbd, as far as its cost is read."""

    def __init__(
        self,
        objects: int = turns.MANY,
        features: int = _MAP,
        flags: int = 0,
        found: tuple[int, ...] = (),
    ) -> None:
        self._objects = objects
        self._features = features
        self._flags = flags
        self._found = found
        self.counted = 0

    def stat(self) -> dict[str, int]:
        return {
            'size': self._objects << 22,
            'num_objs': self._objects,
            'obj_size': 1 << 22,
        }

    def flags(self) -> int:
        return self._flags

    def features(self) -> int:
        return self._features

    def diff_iterate(
        self, offset: int, length: int, since: None, found: Any, **_: bool
    ) -> None:
        for objects in self._found:
            self.counted += 1
            found(0, objects << 22, True)


@ddt.ddt
class CostTest(base.TestCase):
    @ddt.data(
        (_Image(objects=turns.MANY - 1, features=0), False),
        (_Image(features=0), True),
        (_Image(features=feature_bits.LOCK), True),
        (_Image(flags=1), True),
        (_Image(), False),
        (_Image(found=(1,) * (turns.MANY - 1)), False),
        (_Image(found=(1,) * turns.MANY), True),
        (_Image(found=(turns.MANY,)), True),
    )
    @ddt.unpack
    def test_objects_to_remove(self, image: _Image, expected: bool) -> None:
        self.assertIs(expected, turns.is_slow(image))

    def test_counting_ends_early(self) -> None:
        image = _Image(found=(1,) * 3 * turns.MANY)
        self.assertTrue(turns.is_slow(image))
        self.assertEqual(turns.MANY, image.counted)


class _Interrupted(BaseException):
    pass


class LineTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.line = turns.Line(1)
        self.pool = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)
        self.order: list[str] = []

    def _queue(self, name: str) -> concurrent.futures.Future[None]:
        """Have a thread wait in the line."""

        def run() -> None:
            with self.line.turn():
                self.order.append(name)

        before = len(self.line._waiting)
        future = self.pool.submit(run)
        while len(self.line._waiting) == before:
            self.assertFalse(future.done())
        return future

    def test_first_come_first_served(self) -> None:
        with self.line.turn():
            waiting = [self._queue(name) for name in 'abc']
        # One that arrives now cannot overtake.
        with self.line.turn():
            self.order.append('d')
        for each in waiting:
            each.result(_PATIENCE)
        self.assertEqual(['a', 'b', 'c', 'd'], self.order)

    def test_place_of_a_failure(self) -> None:
        def fail() -> None:
            with self.line.turn():
                raise ValueError

        for _ in range(2):
            self.assertRaises(ValueError, fail)
        with self.line.turn():
            self.order.append('next')
        self.assertEqual(['next'], self.order)

    def test_interrupted_while_it_waits(self) -> None:
        """Whether or not it was already given the place."""
        for given in (False, True):

            def wait(event: Any, given: bool = given) -> None:
                if given:
                    self.line._leave()
                raise _Interrupted

            self.line._enter()
            with self.patched_wait(wait):
                self.assertRaises(_Interrupted, self.line._enter)
            if not given:
                self.line._leave()
            self.assertEqual(1, self.line._free)

    def patched_wait(self, wait: Any) -> Any:
        return mock.patch.object(
            threading.Event, 'wait', autospec=True, side_effect=wait
        )


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

        self.turns.run(name, delete)

    def test_slow_ones_do_not_delay_others(self) -> None:
        """All slow ones wait or run until the others have ended."""
        slow = [
            self.pool.submit(self._delete, f'slow-{number}')
            for number in range(20)
        ]
        for _ in range(turns.MOST_SLOW):
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

        self.turns.run('one', lambda: self.turns.check('one', fail))
        self.assertIn('no answer', log.output)

    def test_failure(self) -> None:
        """It is raised, and the deletion can be repeated."""

        def fail() -> None:
            self.begun.append('one')
            self.turns.check('one', lambda: True)
            raise ValueError

        for _ in range(2 * turns.MOST_AT_ONCE):
            self.assertRaises(ValueError, self.turns.run, 'one', fail)
        self.assertEqual(4 * turns.MOST_AT_ONCE, len(self.begun))
