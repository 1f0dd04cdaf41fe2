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

"""The order of deletions: how many run at the same time, and which are next.

A deletion that removes many objects takes minutes. Such deletions have a
separate, smaller limit, so that other deletions do not wait for them.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import math
import threading
from typing import Any

from oslo_log import log as logging

from rbd_volume_options import features

LOG = logging.getLogger(__name__)

#: Maximum number of deletions of a back end that run at the same time. By
#: default, eventlet has 20 threads for blocking calls. Both limits together
#: leave some of them to other operations while images are removed.
MOST_AT_ONCE = 10
#: The same for deletions that remove many objects.
MOST_SLOW = 5
#: Number of objects from which on a removal is slow: one of 64 GiB with
#: objects of 4 MiB takes two to four seconds.
MANY = 16384

_MAP = features.to_mask(frozenset({'object-map', 'fast-diff'}))


class Slow(Exception):
    """The deletion must wait for its turn among the slow ones."""


class _Enough(Exception):
    """More objects need not be counted."""


class Line:
    """Runs a number of operations at the same time, and the next in order.

    A semaphore of Python does not keep the order: an operation that arrives
    may overtake those that wait.

    :param places: the number of operations
    """

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: collections.deque[threading.Event] = collections.deque()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a place and keep it."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(turn)
        try:
            turn.wait()
        except BaseException:
            self._give_up(turn)
            raise

    def _give_up(self, turn: threading.Event) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        # The place was already given to this operation.
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                # Nothing can take the place in between.
                self._waiting.popleft().set()
            else:
                self._free += 1


class Turns:
    """Runs the deletions of a back end in two lines.

    Only the image shows how much there is to remove. A deletion begins in the
    quick line and opens the image. A slow one ends there, before it removes
    the image, and begins again in the slow line. While it waits, it has no
    image open and uses no connection.
    """

    def __init__(self) -> None:
        self._quick = Line(MOST_AT_ONCE)
        self._slow = Line(MOST_SLOW)
        #: Deletions in the quick line.
        self._begun: set[str] = set()

    def run(self, name: str, delete: Callable[[], None]) -> None:
        """Delete a volume when it is its turn.

        :param delete: the deletion, which calls :meth:`check`
        """
        with contextlib.suppress(Slow), self._quick.turn():
            self._begun.add(name)
            try:
                delete()
            finally:
                self._begun.discard(name)
            return
        LOG.info('The deletion of %s takes long', name)
        with self._slow.turn():
            delete()

    def check(self, name: str, is_slow: Callable[[], bool]) -> None:
        """End a deletion in the quick line if it is slow.

        :param is_slow: returns whether it is; not called in the slow line
        :raises Slow: if the deletion must begin again in the slow line
        """
        if name not in self._begun:
            return
        try:
            slow = is_slow()
        except Exception:
            LOG.exception(
                'Could not get the expected cost of deleting %s', name
            )
            return
        if slow:
            raise Slow(name)


def is_slow(image: Any) -> bool:
    """Return whether the removal of an open image removes many objects.

    Without a valid object map, librbd tries to remove each object that might
    exist.
    """
    stat = image.stat()
    if stat['num_objs'] < MANY:
        return False
    if image.flags() or image.features() & _MAP != _MAP:
        return True
    found = 0

    def count(offset: int, length: int, exists: bool) -> None:
        nonlocal found
        # Adjacent objects may be reported together.
        found += math.ceil(length / stat['obj_size'])
        if found >= MANY:
            raise _Enough

    try:
        # This reads the object map and none of the objects.
        image.diff_iterate(
            0,
            stat['size'],
            None,
            count,
            include_parent=False,
            whole_object=True,
        )
    except _Enough:
        return True
    return False
