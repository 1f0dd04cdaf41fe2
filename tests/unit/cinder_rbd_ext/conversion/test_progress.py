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


"""Long calls of librbd in a separate thread."""

from cinder_rbd_ext.conversion import progress
from tests.unit import base


class Clock:
    """A clock that advances with each sleep while a call runs.

    The call runs in a native thread. Eventlet may have replaced all functions
    that wait for a thread.

    :ivar started: whether the call has started
    :ivar ended: whether the call may end
    """

    def __init__(self, step: float, ticks: int) -> None:
        self.now = 0.0
        self._step = step
        self._left = ticks
        self.started = self.ended = False
        self.slept: list[float] = []

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the time; the call ends after some ticks."""
        self.slept.append(seconds)
        if not self.started or self.ended:
            return
        self.now += self._step
        self._left -= 1
        self.ended = self._left <= 0


class CallTest(base.TestCase):
    def _call(self, clock: Clock, percents: list[int]) -> list[int]:
        reported: list[int] = []

        def function(at: progress.Callback) -> str:
            for each in percents:
                # librbd interprets other values as errors.
                self.assertEqual(0, at(each, 100))
            clock.started = True
            while not clock.ended:
                pass
            return 'done'

        found = progress.call(function, reported.append, clock, clock.sleep)
        self.assertEqual('done', found)
        return reported

    def test_bounded_rate(self) -> None:
        """A tick is two seconds. Every third tick may write."""
        self.assertEqual([42], self._call(Clock(2, 20), [10, 42]))

    def test_unchanged(self) -> None:
        """It is written every minute, to show that the call is running."""
        self.assertEqual([0] * 4, self._call(Clock(10, 25), [0]))

    def test_no_total(self) -> None:
        self.assertEqual(0, progress.call(lambda at: at(0, 0)))

    def test_failure(self) -> None:
        def fail(at: progress.Callback) -> None:
            raise ValueError('broken')

        error = self.assertRaises(ValueError, progress.call, fail)
        self.assertEqual('broken', str(error))

    def test_pauses_grow(self) -> None:
        clock = Clock(0.1, 30)
        self._call(clock, [])
        self.assertLess(clock.slept[0], 0.1)
        self.assertEqual(1.0, max(clock.slept))
