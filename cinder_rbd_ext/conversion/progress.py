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


"""Long calls of librbd in a separate thread, with their progress."""

from collections.abc import Callable
import time
from typing import Any

from cinder_rbd_ext import releases

#: Seconds between two writes of a changed progress to the database.
INTERVAL = 5.0

#: Seconds after which an unchanged progress is written again, to show that the
#: conversion is still running.
HEARTBEAT = 60.0

# Seconds between two checks whether the call has ended. The first intervals
# are shorter.
_SHORTEST, _LONGEST = 0.02, 1.0

#: Called with the progress as a percentage.
Report = Callable[[int], None]
#: The type of librbd's callback. A callback must return 0: librbd treats other
#: values as errors.
Callback = Callable[[int, int], int]


class _Call:
    """A running call."""

    def __init__(self) -> None:
        self.percent = 0
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def at(self, offset: int, total: int) -> int:
        # librbd calls this in its own thread, which must not use the database
        # or eventlet.
        if total:
            self.percent = min(100, offset * 100 // total)
        return 0

    def run(self, function: Callable[[Callback], Any]) -> None:
        try:
            self.result = function(self.at)
        except BaseException as error:
            self.error = error
        finally:
            self.done = True


def call(
    function: Callable[[Callback], Any],
    report: Report = lambda percent: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """Run a function that takes librbd's callback, and return its result.

    Other threads of the service are not blocked. ``report`` is called in the
    thread of the caller, at most every :data:`INTERVAL` seconds.
    """
    current = _Call()
    releases.in_thread(lambda: current.run(function))
    pause, written, written_at = _SHORTEST, 0, clock()
    while not current.done:
        sleep(pause)
        pause = min(pause * 1.5, _LONGEST)
        since = clock() - written_at
        changed = current.percent != written
        if (changed and since >= INTERVAL) or since >= HEARTBEAT:
            written, written_at = current.percent, clock()
            report(written)
    if current.error is not None:
        raise current.error
    return current.result
