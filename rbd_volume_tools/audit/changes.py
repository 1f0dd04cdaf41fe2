# SPDX-License-Identifier: Apache-2.0

"""Changes many images, with limits, pauses and a journal."""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
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
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]


class Change(Protocol):
    """A change of one image.

    :ivar outcome: the image and the planned change
    :ivar size: provisioned bytes that the change reads, for the pace
    """

    @property
    def outcome(self) -> outcomes.Outcome: ...

    @property
    def size(self) -> int: ...

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Make the change and return a description of it."""


@dataclasses.dataclass(frozen=True)
class Runner:
    """The parts that a run uses.

    :ivar pace: limits how fast images are changed
    :ivar stop: ends the run after the current image when it is set
    :ivar say: shows a message to the operator
    :ivar heeds_health: whether to pause while the cluster is not healthy
    :ivar planned: when the changes were planned. One that the journal has as
        done since then is not made again, in case an operator has undone it.
        None if all changes may be repeated.
    :ivar tolerated: health checks for which a run does not pause
    """

    cluster: scan.Cluster
    written: journal.Journal
    pace: pace.Pace
    stop: threading.Event
    say: Say
    heeds_health: bool = True
    planned: datetime.datetime | None = None
    tolerated: Container[str] = frozenset()

    def run(
        self, changes: Iterable[Change], progress: Progress
    ) -> Iterator[outcomes.Outcome]:
        """Make changes, one image at a time, and yield the outcomes.

        :raises rados.Error: if a pool cannot be opened
        :raises HealthUnknown: if the monitors do not answer
        """
        by_pool: dict[str, list[Change]] = {}
        for each in changes:
            by_pool.setdefault(each.outcome.pool, []).append(each)
        for pool, waiting in by_pool.items():
            with self.cluster.connected(pool) as (connection, ioctx):
                for done, each in enumerate(waiting, 1):
                    outcome = self._one(each, connection, ioctx)
                    if outcome is None:
                        return
                    yield outcome
                    progress(pool, done, len(waiting))

    def _one(
        self, change: Change, connection: Any, ioctx: Any
    ) -> outcomes.Outcome | None:
        """Make a change; return None if the run is being stopped."""
        about = change.outcome
        where = (about.pool, about.image, about.ident)
        if self.planned and self.written.done(*where, self.planned):
            return dataclasses.replace(
                about,
                status=outcomes.Status.EARLIER,
                detail='is not repeated; what was restored since stays',
            )
        if not self.pace.wait():
            return None
        if self.heeds_health and not health.wait(
            connection, self.stop, self.say, tolerated=self.tolerated
        ):
            return None
        client = f'client.{connection.get_instance_id()}'
        self.written.begin(*where, client, planned=about.detail)
        self.pace.begun(change.size)
        began = time.monotonic()
        outcome = self._applied(change, connection, ioctx)
        outcome = dataclasses.replace(
            outcome, seconds=round(time.monotonic() - began, 3)
        )
        self.written.end(outcome)
        return outcome

    def _applied(
        self, change: Change, connection: Any, ioctx: Any
    ) -> outcomes.Outcome:
        about = change.outcome
        try:
            try:
                detail = change.apply(connection, ioctx, self.written.clients)
            except self.cluster.librbd.ImageNotFound:
                image = about.pool, about.image, about.ident
                if not objects.is_gone(self.cluster.librados, ioctx, *image):
                    raise
                return dataclasses.replace(
                    about,
                    status=outcomes.Status.UNCHANGED,
                    detail='deleted since the scan',
                )
        except outcomes.Refused as error:
            return about.refused(error)
        except (
            self.cluster.librbd.Error,
            self.cluster.librados.Error,
            outcomes.NotVerified,
            scan.NotConnected,
            *outcomes.OF_ONE_IMAGE,
        ) as error:
            is_forbidden = getattr(error, 'errno', 0) == errno.EPERM
            return dataclasses.replace(
                about,
                status=outcomes.Status.FAILED,
                detail=str(error),
                remedy=outcomes.WRITE if is_forbidden else '',
            )
        return dataclasses.replace(
            about, status=outcomes.Status.DONE, detail=detail
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
