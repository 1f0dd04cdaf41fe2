# SPDX-License-Identifier: Apache-2.0

"""How many copies a back end makes at the same time, and the room they need.

A copy holds one of Cinder's threads for requests for hours. Tenants can
request retypes, also those that migrate: if too many wait, a further one
leaves its volume unchanged. Cinder must not copy the data instead, at once and
without regard to the room. Migrations that administrators request always wait.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading

from cinder.volume.drivers import rbd
from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import protocols
from cinder_rbd_ext import turns
from cinder_rbd_ext.cluster import capacity
from cinder_rbd_ext.retype import copies
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

#: Maximum number of copies of a back end that run at the same time.
MOST_AT_ONCE = 4
#: Maximum number of retypes that copy, with those that wait in a thread.
MOST = 12
#: Of both, the places that no project can take from all the others.
FOR_OTHERS = 1
FOR_OTHERS_WAITING = 4

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


class Places:
    """The places for the copies of a back end."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._line = turns.Line(MOST_AT_ONCE, MOST_AT_ONCE - FOR_OTHERS)
        self._lock = threading.Lock()
        self._admission = turns.Admission(MOST, MOST - FOR_OTHERS_WAITING)
        #: What the copies that run will use, in GiB, by pool.
        self._reserved: dict[str, float] = collections.defaultdict(float)

    @contextlib.contextmanager
    def place(
        self,
        project: str,
        copy: copies.Copy,
        target: plan.ImageState,
        beat: Callable[[], None],
        is_limited: bool = True,
    ) -> Iterator[str | None]:
        """Wait for a place, and keep it and the room for the copy.

        :param project: the project of the volume
        :param beat: called every :data:`turns.INTERVAL` seconds of waiting; an
            exception ends it
        :param is_limited: whether it is refused if too many wait
        :returns: why the image cannot be copied; None if it can
        """
        with contextlib.ExitStack() as held:
            reason = copy.obstacle()
            if (
                not reason
                and is_limited
                and not self._admission.enter(project, held)
            ):
                reason = TOO_MANY
            if not reason:
                held.enter_context(self._line.turn(project, beat=beat))
                reason = self._reserve(copy, target, beat, held)
            yield reason

    def _reserve(
        self,
        copy: copies.Copy,
        target: plan.ImageState,
        beat: Callable[[], None],
        held: contextlib.ExitStack,
    ) -> str | None:
        """Keep room for a copy; return that there is too little, or None.

        The pool must not get full: that would stop the writes of all guests.
        The room of a copy that is almost complete still counts.
        """
        pool = target.data_pool or copy.images.pool
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
                'name': copy.images.copy_name,
                'used': used,
                'share': capacity.LOW * 100,
            },
        )
        return NO_ROOM

    def _give_back(self, pool: str, used: float) -> None:
        with self._lock:
            self._reserved[pool] -= used
