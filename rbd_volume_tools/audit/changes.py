# SPDX-License-Identifier: Apache-2.0

"""Changes many images, with limits, pauses and a journal."""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import errno
import functools
import itertools
import signal
import threading
import time
from typing import Any

from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import plan_file

Say = Callable[[str], None]
#: Called with the number of completed changes, the total, and the percentage
#: of each running change by its name; None if unknown.
Progress = Callable[[int, int, Mapping[str, int | None]], None]
#: Seconds between two looks at running changes.
INTERVAL = 1.0


#: Makes a planned change and returns what was done. It gets the context of the
#: pool, None if a service makes the change, and the names of the clients of
#: earlier, killed runs. :func:`attempted` has its errors.
Make = Callable[[outcomes.Outcome, Any, frozenset[str]], str]


@dataclasses.dataclass(frozen=True)
class Run:
    """A plan that is being applied.

    :ivar items: the planned changes
    :ivar cluster: None without Ceph
    :ivar written: the journal
    :ivar pace: limits how fast images are changed
    :ivar stop: ends the run after the current changes when it is set
    :ivar say: shows a message to the operator
    :ivar heeds_health: whether to pause while the cluster is not healthy
    :ivar tolerated: health checks for which a run does not pause
    :ivar at_once: maximum number of changes at the same time; more than one
        only if services make them
    :ivar percents: how much of a running change is done, by its ID
    """

    plan: plan_file.Header
    items: Sequence[outcomes.Outcome]
    cloud: Any
    cluster: Any
    written: journal.Journal
    pace: pace.Pace
    stop: threading.Event
    say: Say
    heeds_health: bool = True
    tolerated: Container[str] = frozenset()
    at_once: int = 1
    percents: dict[str, int | None] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def known(self) -> records.Records:
        """The cloud's records.

        :raises PlanError: if the ID of the cloud is not that of the plan
        """
        known = records.of_cloud(self.cloud, self.plan.cluster)
        if self.plan.options.get('cloud_id', known.cloud_id) != known.cloud_id:
            raise plan_file.PlanError(
                'rbd_cloud_id was changed since the plan. Make a new plan.'
            )
        return known

    def chosen(self, limit: int | None) -> list[outcomes.Outcome]:
        """Return the changes of this run: first those that were interrupted.

        :param limit: maximum number, besides those that the journal has as
            done; None for all
        """
        numbers = itertools.count()
        return [
            each
            for each in sorted(
                self.items, key=lambda x: x.ident not in self.written.begun
            )
            if self.is_done(each) or limit is None or next(numbers) < limit
        ]

    def is_done(self, item: outcomes.Outcome) -> bool:
        """Return whether the journal has a change as done since the plan.

        It is not made again then, in case an operator has undone it.
        """
        return self.written.done(*item.key, self.plan.time)

    def made(
        self,
        make: Make,
        changes: Sequence[outcomes.Outcome],
        progress: Progress,
    ) -> Iterator[outcomes.Outcome]:
        """Make changes and yield the outcome of each one when it ends.

        :raises rados.Error: if a pool cannot be opened
        :raises HealthUnknown: if the monitors do not answer
        """
        by_pool: dict[str, list[outcomes.Outcome]] = {}
        for each in changes:
            by_pool.setdefault(each.pool, []).append(each)
        done = 0
        for pool, waiting in by_pool.items():
            with self._connected(pool) as (connection, ioctx):
                for ended, running in self._in_pool(
                    make, waiting, connection, ioctx
                ):
                    done += len(ended)
                    yield from ended
                    progress(done, len(changes), running)
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

    def _in_pool(
        self,
        make: Make,
        waiting: Sequence[outcomes.Outcome],
        connection: Any,
        ioctx: Any,
    ) -> Iterator[tuple[list[outcomes.Outcome], dict[str, int | None]]]:
        """Yield what has ended, and the percentage of what is running."""
        watch = health.Watch(connection, self.say, tolerated=self.tolerated)
        running: dict[futures.Future[outcomes.Outcome], outcomes.Outcome] = {}

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
                each.image or each.ident: self.percents.get(each.ident)
                for each in running.values()
            }

        with futures.ThreadPoolExecutor(self.at_once) as executor:
            try:
                for each in waiting:
                    if self.is_done(each):
                        yield [_earlier(each)], percentages()
                        continue
                    while len(running) >= self.at_once:
                        yield ended(), percentages()
                    if not self.pace.wait() or not self._is_healthy(watch):
                        break
                    self._begin(each, connection)
                    job = executor.submit(self._outcome, make, each, ioctx)
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

    def _begin(self, change: outcomes.Outcome, connection: Any) -> None:
        client = ''
        if connection:
            client = f'client.{connection.get_instance_id()}'
        self.written.begin(*change.key, client, planned=change.detail)
        self.pace.begun(change.size)

    def _outcome(
        self, make: Make, change: outcomes.Outcome, ioctx: Any
    ) -> outcomes.Outcome:
        began = time.monotonic()
        outcome = attempted(
            self.cluster,
            ioctx,
            change,
            lambda: make(change, ioctx, self.written.clients),
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
