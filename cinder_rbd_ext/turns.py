# SPDX-License-Identifier: Apache-2.0

"""The order of long operations: how many run at once, and which are next.

Copies of images (:mod:`cinder_rbd_ext.retype.places`) and uploads to Glance
of volumes with a slow limit of their owner have a line each. Deletions have
two, because one that removes many objects takes minutes and must not delay
others. In each line, projects take turns and none can have all places.

Such an upload can last for days, in one of the threads for blocking calls.
Cinder cannot postpone uploads, so of those that would wait in a thread for
requests, most are refused.

A deletion that waits keeps its volume in status ``deleting`` and its quota. It
does not end earlier with the image in the trash: Cinder would give the quota
back while the space is still used, so that a project could use any amount.

Deletions that wait must not hold all of Cinder's 64 threads for requests. A
few wait in a thread. Further ones end with :exc:`Postponed` and are requested
again through Cinder's queue of messages when there is room.

What a kill leaves: Cinder's table of workers has an entry for each volume that
is being deleted, also for a postponed deletion. When the service starts,
Cinder begins these deletions again, in threads that handle no requests. If the
request was already sent again, the second one finds no volume, and ends.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import itertools
import threading

from oslo_log import log as logging

from cinder_rbd_ext import exceptions

LOG = logging.getLogger(__name__)

#: Maximum number of deletions of a back end that run at the same time. By
#: default, eventlet has 20 threads for blocking calls. Both limits together
#: leave some of them to other operations while images are removed.
MOST_AT_ONCE = 10
#: The same for deletions that remove many objects.
MOST_SLOW = 5
#: Of both, the places that no project can take from all the others.
FOR_OTHERS = 2
#: Maximum number of requests of a line that wait in a thread. A project of
#: which none waits can have one more, up to twice this number. By default,
#: Cinder has 64 threads for requests (``executor_thread_pool_size``): those
#: that wait in both lines, those that run, uploads and copies
#: (:data:`cinder_rbd_ext.retype.places.MOST`) leave five to other requests.
MOST_WAITING = 5
#: Maximum number of uploads that run, which leave more than half of the
#: threads for blocking calls to others, and with those that wait in a thread.
MOST_UPLOADS_AT_ONCE = 8
MOST_UPLOADS = 12
#: Seconds after which postponed deletions are requested at the latest, and
#: between two signs of life of an operation that waits.
INTERVAL = 5.0

#: Requests an operation again.
Request = Callable[[], None]


class Postponed(BaseException):
    """The deletion ends here and is requested again later.

    After any ``Exception`` of a driver, Cinder's volume manager changes the
    volume to ``error_deleting``, or to ``available``. Otherwise it keeps its
    status and its entry in the table of workers.
    """


class Slow(Exception):
    """The deletion must wait for its turn among the slow ones."""


class _Turn(threading.Event):
    def __init__(self, is_request: bool) -> None:
        super().__init__()
        self.is_request = is_request


class Line:
    """Runs a number of operations at the same time, and the next in order.

    An operation of another project begins at once, or after the shortest of
    those that run. A semaphore of Python keeps no order.
    """

    def __init__(self, places: int, of_project: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._of_project = of_project
        self._running: collections.Counter[str] = collections.Counter()
        #: The projects that wait, the next one first.
        self._waiting: collections.OrderedDict[
            str, collections.deque[_Turn]
        ] = collections.OrderedDict()
        #: The projects with postponed operations, the next one first.
        self._postponed: collections.OrderedDict[
            str, collections.deque[Request]
        ] = collections.OrderedDict()
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def turn(
        self,
        project: str,
        request: Request | None = None,
        beat: Callable[[], None] | None = None,
    ) -> Iterator[None]:
        """Wait for a place and keep it.

        :param request: requests the operation again; None if it must wait
        :param beat: called every :data:`INTERVAL` seconds of waiting; an
            exception ends it
        :raises Postponed: if too many operations wait
        """
        turn = _Turn(request is not None)
        with self._lock:
            most = MOST_WAITING * (1 if project in self._waiting else 2)
            if request is not None and self._threads() >= most:
                self._postpone(project, request)
                raise Postponed
            self._waiting.setdefault(project, collections.deque()).append(turn)
            self._hand_out()
        try:
            while not turn.wait(INTERVAL if beat else None):
                if beat:
                    beat()
        except BaseException:
            self._give_up(project, turn)
            raise
        try:
            yield
        finally:
            self._leave(project)

    def counts(self) -> tuple[int, int]:
        """Return how many operations run, and how many wait."""
        with self._lock:
            threads = sum(map(len, self._waiting.values()))
            postponed = sum(map(len, self._postponed.values()))
            return self._running.total(), threads + postponed

    def postpone(self, project: str, request: Request) -> None:
        """Have a running operation end here, and request it again.

        :raises Postponed: always
        """
        with self._lock:
            self._postpone(project, request)
        raise Postponed

    def _threads(self) -> int:
        """Return how many requests wait in a thread.

        Hundreds of other deletions may wait after a start of the service. They
        must not have the requests of all projects postponed.
        """
        return sum(
            turn.is_request
            for waiting in self._waiting.values()
            for turn in waiting
        )

    def _give_up(self, project: str, turn: _Turn) -> None:
        with self._lock:
            waiting = self._waiting.get(project, ())
            if turn in waiting:
                self._waiting[project].remove(turn)
                if not self._waiting[project]:
                    del self._waiting[project]
                return
        # The place was already given to this operation.
        self._leave(project)

    def _leave(self, project: str) -> None:
        with self._lock:
            self._running[project] -= 1
            if not self._running[project]:
                del self._running[project]
            self._free += 1
            self._hand_out()
        self._request()

    def _postpone(self, project: str, request: Request) -> None:
        """Keep the request of an operation; the lock is held."""
        self._postponed.setdefault(project, collections.deque()).append(
            request
        )
        self._arm()

    def _arm(self) -> None:
        """Have postponed operations requested some time; the lock is held.

        Another service of the cluster may get what is requested here.
        """
        if self._postponed and self._timer is None:
            self._timer = threading.Timer(INTERVAL, self._remind)
            self._timer.daemon = True
            self._timer.start()

    def _remind(self) -> None:
        self._request()
        with self._lock:
            self._timer = None
            self._arm()

    def _request(self) -> None:
        with self._lock:
            room = MOST_WAITING - self._threads()
            due = list(itertools.islice(self._taken(), max(0, room)))
        for project, request in due:
            try:
                request()
            except Exception:
                LOG.exception('Could not request a postponed deletion')
                with self._lock:
                    self._postpone(project, request)

    def _taken(self) -> Iterator[tuple[str, Request]]:
        while self._postponed:
            project, requests = self._postponed.popitem(last=False)
            request = requests.popleft()
            if requests:
                self._postponed[project] = requests
            yield project, request

    def _hand_out(self) -> None:
        """Give free places to operations that wait; the lock is held."""
        for project in list(self._waiting):
            if not self._free:
                return
            if self._running[project] >= self._of_project:
                continue
            waiting = self._waiting[project]
            self._free -= 1
            self._running[project] += 1
            waiting.popleft().set()
            # The project is the last one now.
            del self._waiting[project]
            if waiting:
                self._waiting[project] = waiting


class Admission:
    """Limits the requests that hold a thread while they run or wait.

    :param most: maximum number of requests
    :param of_project: the same for a project
    """

    def __init__(self, most: int, of_project: int) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._of_project = of_project
        self._requested: collections.Counter[str] = collections.Counter()

    def enter(self, project: str, held: contextlib.ExitStack) -> bool:
        """Count a request until ``held`` is closed, unless there are too many.

        :returns: whether it is counted
        """
        with self._lock:
            if (
                self._requested.total() >= self._most
                or self._requested[project] >= self._of_project
            ):
                return False
            self._requested[project] += 1
        held.callback(self._leave, project)
        return True

    def _leave(self, project: str) -> None:
        with self._lock:
            self._requested[project] -= 1
            if not self._requested[project]:
                del self._requested[project]


class Uploads:
    """The uploads to Glance of volumes whose owner has set a slow limit."""

    def __init__(self) -> None:
        self.line = Line(
            MOST_UPLOADS_AT_ONCE, MOST_UPLOADS_AT_ONCE - FOR_OTHERS
        )
        self._admission = Admission(MOST_UPLOADS, MOST_UPLOADS - FOR_OTHERS)

    @contextlib.contextmanager
    def place(self, project: str) -> Iterator[None]:
        """Wait for a place and keep it.

        :raises TooManyUploads: if too many wait
        """
        with contextlib.ExitStack() as held:
            if not self._admission.enter(project, held):
                raise exceptions.TooManyUploads
            held.enter_context(self.line.turn(project))
            yield


class Turns:
    """Runs the deletions of a back end in two lines.

    Only the image shows how much there is to remove. A deletion begins in the
    quick line and opens the image. A slow one ends there, before it removes
    the image, and begins again in the slow line, without a connection until
    then.
    """

    def __init__(self) -> None:
        self.quick = Line(MOST_AT_ONCE, MOST_AT_ONCE - FOR_OTHERS)
        self.slow = Line(MOST_SLOW, MOST_SLOW - FOR_OTHERS)
        #: Deletions in the quick line.
        self._begun: set[str] = set()

    def run(
        self,
        name: str,
        project: str,
        delete: Callable[[], None],
        request: Request | None = None,
    ) -> None:
        """Delete a volume when it is its turn.

        :param delete: the deletion, which calls :meth:`check`
        :param request: requests the deletion again; None if it must wait
        :raises Postponed: if it will be requested again
        """
        with contextlib.suppress(Slow), self.quick.turn(project, request):
            self._begun.add(name)
            try:
                delete()
            finally:
                self._begun.discard(name)
            return
        running, waiting = self.slow.counts()
        LOG.info(
            'The deletion of %(name)s takes long. Of such deletions, '
            '%(running)d run and %(waiting)d wait.',
            {'name': name, 'running': running, 'waiting': waiting},
        )
        with self.slow.turn(project, request):
            LOG.info('The deletion of %s begins', name)
            delete()

    def check(self, name: str, is_slow: Callable[[], bool]) -> None:
        """End a deletion in the quick line, with ``Slow``, if it is slow."""
        if name not in self._begun:
            return
        try:
            slow = is_slow()
        except Exception:
            LOG.exception('Could not get the cost of deleting %s', name)
            return
        if slow:
            raise Slow(name)
