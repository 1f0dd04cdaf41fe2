# SPDX-License-Identifier: Apache-2.0

"""Changes many images, with limits, pauses and a journal."""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from concurrent import futures
import contextlib
import dataclasses
import datetime
import errno
import signal
import threading
import time
from typing import Any
from typing import Protocol

from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace

Say = Callable[[str], None]
#: Called with the number of completed changes, the total, and the percentage
#: of each running change by its name; None if unknown.
Progress = Callable[[int, int, Mapping[str, int | None]], None]
#: Seconds between two looks at running changes.
INTERVAL = 1.0


class Planned(Protocol):
    """A planned change of one image.

    :ivar item: what the plan has, a dataclass
    :ivar outcome: the image and the planned change
    """

    @property
    def item(self) -> Any: ...

    @property
    def outcome(self) -> outcomes.Outcome: ...


class Change(Planned, Protocol):
    """A change of one image.

    :ivar size: provisioned bytes that the change reads, for the pace
    :ivar percent: how much of it is done; None if unknown
    """

    @property
    def size(self) -> int: ...

    @property
    def percent(self) -> int | None: ...

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Make the change and return a description of it.

        :param connection: to Ceph; None if a service makes the change
        :param ioctx: of the pool of the image
        :param ours: names of the clients of earlier, killed runs
        :raises Unneeded: if no change is necessary
        """


@dataclasses.dataclass(frozen=True)
class Runner:
    """The parts that a run uses.

    :ivar cluster: None without Ceph
    :ivar pace: limits how fast images are changed
    :ivar stop: ends the run after the current changes when it is set
    :ivar say: shows a message to the operator
    :ivar planned: when the changes were planned. One that the journal has as
        done since then is not made again, in case an operator has undone it.
    :ivar heeds_health: whether to pause while the cluster is not healthy
    :ivar tolerated: health checks for which a run does not pause
    :ivar at_once: maximum number of changes at the same time; more than one
        only if services make them
    """

    cluster: scan.Cluster | None
    written: journal.Journal
    pace: pace.Pace
    stop: threading.Event
    say: Say
    planned: datetime.datetime
    heeds_health: bool = True
    tolerated: Container[str] = frozenset()
    at_once: int = 1

    def run(
        self, changes: Iterable[Change], progress: Progress
    ) -> Iterator[outcomes.Outcome]:
        """Make changes and yield the outcome of each one when it ends.

        :raises rados.Error: if a pool cannot be opened
        :raises HealthUnknown: if the monitors do not answer
        """
        by_pool: dict[str, list[Change]] = {}
        total = 0
        for each in changes:
            by_pool.setdefault(each.outcome.pool, []).append(each)
            total += 1
        done = 0
        for pool, waiting in by_pool.items():
            with self._connected(pool) as (connection, ioctx):
                for ended, running in self._made(waiting, connection, ioctx):
                    done += len(ended)
                    yield from ended
                    progress(done, total, running)
            if self.stop.is_set():
                return

    @contextlib.contextmanager
    def _connected(self, pool: str) -> Iterator[tuple[Any, Any]]:
        """Yield a connection and the context of a pool, as far as needed."""
        if self.cluster is None:
            yield None, None
        elif pool:
            with self.cluster.connected(pool) as connected:
                yield connected
        else:
            with self.cluster.connection() as connection:
                yield connection, None

    def _made(
        self, waiting: Iterable[Change], connection: Any, ioctx: Any
    ) -> Iterator[tuple[list[outcomes.Outcome], dict[str, int | None]]]:
        """Yield what has ended, and the percentage of what is running."""
        watch = health.Watch(connection, self.say, tolerated=self.tolerated)
        running: dict[futures.Future[outcomes.Outcome], Change] = {}

        def ended() -> list[outcomes.Outcome]:
            done, _ = futures.wait(running, INTERVAL, futures.FIRST_COMPLETED)
            results = []
            for each in done:
                del running[each]
                results.append(each.result())
                self.written.end(results[-1])
            return results

        def percentages() -> dict[str, int | None]:
            return {
                each.outcome.image or each.outcome.ident: each.percent
                for each in running.values()
            }

        with futures.ThreadPoolExecutor(self.at_once) as executor:
            try:
                for each in waiting:
                    if self.written.done(*each.outcome.key, self.planned):
                        yield [_earlier(each.outcome)], percentages()
                        continue
                    while len(running) >= self.at_once:
                        yield ended(), percentages()
                    if not self.pace.wait() or not self._is_healthy(watch):
                        break
                    self._begin(each, connection)
                    job = executor.submit(
                        self._outcome, each, connection, ioctx
                    )
                    running[job] = each
                while running:
                    yield ended(), percentages()
            except BaseException:
                # The executor waits for its threads.
                self.stop.set()
                raise

    def _is_healthy(self, watch: health.Watch) -> bool:
        """Wait for a healthy cluster; return whether the run goes on."""
        if self.heeds_health and self.cluster:
            health.wait(watch, self.stop)
        return not self.stop.is_set()

    def _begin(self, change: Change, connection: Any) -> None:
        client = ''
        if connection:
            client = f'client.{connection.get_instance_id()}'
        about = change.outcome
        self.written.begin(*about.key, client, planned=about.detail)
        self.pace.begun(change.size)

    def _outcome(
        self, change: Change, connection: Any, ioctx: Any
    ) -> outcomes.Outcome:
        began = time.monotonic()
        outcome = attempted(
            self.cluster,
            ioctx,
            change.outcome,
            lambda: change.apply(connection, ioctx, self.written.clients),
        )
        seconds = round(time.monotonic() - began, 3)
        return dataclasses.replace(outcome, seconds=seconds)


def attempted(
    cluster: scan.Cluster | None,
    ioctx: Any,
    about: outcomes.Outcome,
    attempt: Callable[[], str],
) -> outcomes.Outcome:
    """Return the outcome of an attempt, whose errors concern one image.

    :param attempt: returns a description of what was done
    """
    status = outcomes.Status
    faults: tuple[type[Exception], ...] = (
        *(outcomes.NotVerified, scan.NotConnected, reading.NotRead),
        *outcomes.OF_ONE_IMAGE,
    )
    absence: tuple[type[Exception], ...] = (reading.NotRead,)
    if cluster:
        librbd = cluster.librbd
        faults = (*faults, librbd.Error, cluster.librados.Error)
        absence = (*absence, librbd.ImageNotFound)

    def ended(
        how: outcomes.Status, detail: object, remedy: str = ''
    ) -> outcomes.Outcome:
        return dataclasses.replace(
            about, status=how, detail=str(detail), remedy=remedy
        )

    try:
        try:
            return ended(status.DONE, attempt())
        except absence as error:
            is_absent = getattr(error, 'errno', errno.ENOENT) == errno.ENOENT
            librados = getattr(cluster, 'librados', None)
            if not is_absent or not objects.is_gone(
                librados, ioctx, *about.key
            ):
                raise
            return ended(status.UNCHANGED, 'deleted since the scan')
    except outcomes.Refused as error:
        return about.refused(error)
    except outcomes.Unneeded as error:
        return ended(status.UNCHANGED, error)
    except outcomes.Continues as error:
        return ended(status.RUNNING, error)
    except faults as error:
        is_forbidden = getattr(error, 'errno', 0) == errno.EPERM
        remedy = getattr(error, 'remedy', '')
        return ended(
            status.FAILED, error, outcomes.WRITE if is_forbidden else remedy
        )


def _earlier(about: outcomes.Outcome) -> outcomes.Outcome:
    return dataclasses.replace(
        about,
        status=outcomes.Status.EARLIER,
        detail='is not repeated',
    )


@contextlib.contextmanager
def stoppable(
    stop: threading.Event,
    say: Say,
    what: str = 'Stopping after the current image.',
) -> Iterator[None]:
    """Have the first Ctrl-C or SIGTERM set an event, the second exit.

    A call of librbd cannot be interrupted. The journal makes it safe to exit
    during a call.

    :param what: the message for the first signal
    """
    before = {
        each: signal.getsignal(each)
        for each in (signal.SIGINT, signal.SIGTERM)
    }

    def end() -> None:
        say(f'{what} Repeat to stop at once.')
        stop.set()

    def handle(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        # A separate thread sets the event and writes the message, because this
        # thread may hold the lock of the event or the stream.
        threading.Thread(target=end, daemon=True).start()

    for each in before:
        signal.signal(each, handle)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
