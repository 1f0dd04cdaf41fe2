# SPDX-License-Identifier: Apache-2.0

"""How many copies and uploads of images a back end runs at the same time.

Each holds one of Cinder's threads for requests (64 by default), for hours. A
request waits for a bounded time, and only some wait: a further one is refused
at once, and its volume is unchanged.

The owner of a volume can make them take days, with limits. One project
therefore never has the last quarter of the places.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
import time
from typing import Protocol

from cinder.volume.drivers import rbd
from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import capacity
from rbd_volume_options import options

LOG = logging.getLogger(__name__)

#: Numbers of uploads and full copies that run and of those that wait, and the
#: same of copies that replace an image. Together, they leave a quarter of the
#: threads to other requests.
TRANSFERS, TRANSFERS_WAITING = 12, 24
COPIES, COPIES_WAITING = 4, 8
#: Seconds for which a request waits.
LONGEST = 600.0
#: Seconds for which the migration of an administrator waits.
LONGEST_MIGRATION = 86400.0
# Seconds between two signs of life of a request that waits.
_INTERVAL = 5.0

#: Only operators may see how much is free.
NO_ROOM = (
    'the pool has no room for a second copy of the image; free some space, or '
    'ask the administrator to add storage or to raise the quota'
)
TOO_MANY = (
    'too many volumes are being copied at the moment; repeat the request when '
    'they are finished'
)
#: Reasons that also apply to a copy that Cinder makes.
FOR_ALL_COPIES = frozenset({NO_ROOM, TOO_MANY})


class Copy(Protocol):
    """A copy of an image."""

    name: str
    pool: str

    def obstacle(self) -> str | None: ...
    def used(self, progress: Callable[[float], None]) -> int: ...


class _Shares:
    """A number of places, of which one project has three quarters at most."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._most = max(1, number - max(1, number // 4))
        self._taken: collections.Counter[str] = collections.Counter()
        self._changed = threading.Condition()

    def take(self, project: str, seconds: float = 0.0) -> bool:
        """Wait for a place of a project; return whether there is one.

        :param project: empty for an administrator, who has no share
        """
        with self._changed:
            is_free = self._changed.wait_for(
                lambda: self._is_free(project), seconds
            )
            self._taken[project] += is_free
            return is_free

    def _is_free(self, project: str) -> bool:
        return self._taken.total() < self._number and (
            not project or self._taken[project] < self._most
        )

    def give_back(self, project: str) -> None:
        """Give a place of a project back."""
        with self._changed:
            self._taken[project] -= 1
            self._changed.notify_all()


class Places:
    """The places for operations of one kind on a back end."""

    def __init__(self, number: int, waiting: int) -> None:
        self._free = _Shares(number)
        self._waiting = _Shares(waiting)

    @contextlib.contextmanager
    def place(
        self,
        project: str,
        beat: Callable[[], None] = lambda: None,
        longest: float = LONGEST,
    ) -> Iterator[bool]:
        """Wait for a place, and keep it.

        :param project: empty if an administrator requested it, of whose
            requests any number waits
        :param beat: called while it waits; an exception ends that
        :param longest: maximum number of seconds
        :returns: whether there is a place
        """
        taken = self._free.take(project)
        if not taken and not project:
            taken = self._wait(project, beat, longest)
        elif not taken and self._waiting.take(project):
            try:
                taken = self._wait(project, beat, longest)
            finally:
                self._waiting.give_back(project)
        try:
            yield taken
        finally:
            if taken:
                self._free.give_back(project)

    def _wait(
        self, project: str, beat: Callable[[], None], longest: float
    ) -> bool:
        until = time.monotonic() + longest
        while (left := until - time.monotonic()) > 0:
            if self._free.take(project, min(left, _INTERVAL)):
                return True
            beat()
        return False


class Copies:
    """The copies of images, and the room that they need."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._places = Places(COPIES, COPIES_WAITING)
        self._lock = threading.Lock()
        #: What the copies that run will use, in GiB, by pool.
        self._reserved: dict[str, float] = collections.defaultdict(float)

    @contextlib.contextmanager
    def place(
        self,
        copy: Copy,
        target: options.Values,
        project: str,
        beat: Callable[[], None],
    ) -> Iterator[str | None]:
        """Wait for a place, and keep it and the room for the copy.

        :param project: empty if an administrator requested it
        :param beat: called while it waits; an exception ends that
        :returns: why the image cannot be copied; None if it can
        """
        longest = LONGEST if project else LONGEST_MIGRATION
        with contextlib.ExitStack() as held:
            reason = copy.obstacle()
            if not reason:
                place = self._places.place(project, beat, longest)
                reason = TOO_MANY
                if held.enter_context(place):
                    reason = self._reserve(copy, target, beat, held)
            yield reason

    def _reserve(
        self,
        copy: Copy,
        target: options.Values,
        beat: Callable[[], None],
        held: contextlib.ExitStack,
    ) -> str | None:
        """Keep room for a copy; return that there is too little, or None.

        The pool must not get full: that would stop the writes of all guests.
        The room of a copy that is almost complete still counts.
        """
        pool = target.data_pool or copy.pool
        used = copy.used(lambda percent: beat()) / units.Gi
        view = capacity.looking_at(self._driver, pool)
        with self._lock:
            free, total = rbd.RBDDriver._get_pool_stats(view)
            if not isinstance(free, float) or not isinstance(total, float):
                return None
            left = free - self._reserved[pool] - used
            if left >= total * capacity.LOW:
                self._reserved[pool] += used
                held.callback(self._give_back, pool, used)
                return None
        LOG.warning(
            'Pool %(pool)s has %(free).1f GiB free, too little for a copy of '
            '%(name)s, which uses %(used).1f GiB: %(share)d %% of the pool '
            'must stay free, also of other copies that run',
            {
                'pool': pool,
                'free': free,
                'name': copy.name,
                'used': used,
                'share': capacity.LOW * 100,
            },
        )
        return NO_ROOM

    def _give_back(self, pool: str, used: float) -> None:
        with self._lock:
            self._reserved[pool] -= used
