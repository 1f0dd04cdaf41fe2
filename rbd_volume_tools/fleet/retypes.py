# SPDX-License-Identifier: Apache-2.0

"""Retypes many volumes through Cinder's API.

Cinder makes the changes, so a killed run leaves nothing behind, and the
volumes show its result. A few retypes run at the same time.
"""

from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import threading
import time
from typing import Protocol

from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.fleet import retype_rules

_Status = outcomes.Status

#: Seconds between two queries of the volumes that are being retyped.
INTERVAL = 1.0

#: Called with the number of completed volumes, the total, and the percentage
#: of each running retype by volume; None if unknown.
Progress = Callable[[int, int, Mapping[str, int | None]], None]


class Unavailable(Exception):
    """The API does not answer; a later request may succeed."""


class Refusal(Exception):
    """The API refuses a retype."""


class Service(Protocol):
    """Cinder's API."""

    def show(self, ident: str) -> records.Volume | None:
        """Return a volume; None if it does not exist.

        :raises Unavailable: if the API does not answer
        """

    def retype(self, ident: str, wanted: 'Wanted') -> str:
        """Request a retype and return the warning of the answer.

        :raises Refusal: if the API refuses it, with its message
        :raises Unavailable: if the API does not answer. It may have accepted
            the request.
        """


@dataclasses.dataclass(frozen=True)
class Type:
    """A volume type.

    :ivar specs: its extra specs
    """

    ident: str
    name: str
    specs: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A retype that the operator requests.

    :ivar former: name of the former volume type
    :ivar target: name of the new volume type
    :ivar target_id: ID of the new volume type
    :ivar policy: Cinder's migration policy
    :ivar unset: the keys that the former type sets and the new one does not
    """

    former: str
    target: str
    target_id: str
    policy: str = 'never'
    unset: tuple[str, ...] = ()


@dataclasses.dataclass
class _Running:
    """A volume that is being retyped.

    :ivar requested: whether this run requested the retype
    :ivar before: the volume when it was first seen
    :ivar shown: the last known state of the volume; ``changed`` is the time of
        its last change
    """

    about: outcomes.Outcome
    began: float
    requested: bool
    before: records.Volume
    warning: str = ''
    shown: object = None
    changed: float = 0.0
    percent: int | None = None


@dataclasses.dataclass
class Retypes:
    """A run of retypes.

    :ivar written: the journal, if any
    :ivar stop: ends the run when it is set. Retypes that Cinder accepted
        continue.
    :ivar say: shows a message to the operator
    :ivar is_healthy: returns whether another retype may begin
    :ivar at_once: maximum number of retypes that run at the same time
    :ivar patience: seconds without progress, or without an answer of the API,
        after which a retype counts as failed
    """

    service: Service
    wanted: Wanted
    written: journal.Journal | None
    pace: pace.Pace
    stop: threading.Event
    say: Callable[[str], None]
    is_healthy: Callable[[], bool]
    at_once: int
    patience: float
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._waiting: deque[outcomes.Outcome] = deque()
        self._running: dict[str, _Running] = {}
        self._ended: list[outcomes.Outcome] = []
        self._silent_since: float | None = None

    def run(
        self, volumes: Iterable[records.Volume], progress: Progress
    ) -> Iterator[outcomes.Outcome]:
        """Retype volumes and yield the outcome of each one when it ends."""
        # Retypes that an earlier run began count towards the limit.
        self._waiting.extend(
            map(
                about,
                sorted(volumes, key=retype_rules.is_running, reverse=True),
            )
        )
        total, done = len(self._waiting), 0
        while (self._waiting or self._running) and not self.stop.is_set():
            self._round()
            ended, self._ended = self._ended, []
            done += len(ended)
            yield from ended
            running = {x: each.percent for x, each in self._running.items()}
            progress(done, total, running)
            if self._waiting or self._running:
                self.stop.wait(self._pause())
        for each in self._running.values():
            yield dataclasses.replace(
                each.about,
                status=_Status.RUNNING,
                detail='Cinder completes the retype',
            )

    def _pause(self) -> float:
        """Return the seconds until the next action."""
        left = self.pace.left()
        has_room = self._waiting and len(self._running) < self.at_once
        return left if has_room and 0 < left < INTERVAL else INTERVAL

    def _round(self) -> None:
        """Query the running retypes, and begin others."""
        try:
            for ident in list(self._running):
                self._look(ident)
            while self._may_begin():
                self._begin(self._waiting[0])
        except Unavailable as error:
            self._missed(error)
            return
        if self._silent_since is not None:
            self.say('Cinder answers again; continuing.')
            self._silent_since = None

    def _missed(self, error: Unavailable) -> None:
        if self._silent_since is None:
            self._silent_since = self.now()
            self.say(f'Waiting for Cinder, which does not answer: {error}')
        elif self.now() - self._silent_since > self.patience:
            self.say('Cinder did not answer for too long; ending the run.')
            self.stop.set()

    def _may_begin(self) -> bool:
        return bool(
            self._waiting
            and len(self._running) < self.at_once
            and not self.stop.is_set()
            and not self.pace.left()
            and self.is_healthy()
        )

    def _begin(self, volume: outcomes.Outcome) -> None:
        """Begin the retype of the first waiting volume.

        The volume remains the first one until the API has answered.
        """
        current = self.service.show(volume.ident)
        if current is not None and retype_rules.is_running(current):
            self._started(volume, self._was_begun(volume.ident), current)
            return
        try:
            done = self._settled(volume, current)
            if done is None and current is not None:
                self._request(volume, current)
                return
        except outcomes.Refused as error:
            done = volume.refused(error)
        self._waiting.popleft()
        if done is not None:
            self._end(done)

    def _settled(
        self, volume: outcomes.Outcome, current: records.Volume | None
    ) -> outcomes.Outcome | None:
        """Return the outcome of a volume that needs no retype; else None.

        :raises Refused: if the state of the volume forbids a retype
        """
        if current is None:
            return _unchanged(volume, 'the volume was deleted')
        if current.volume_type == self.wanted.target:
            if self._was_begun(volume.ident):
                return self._retyped(volume, 'after an earlier run had ended')
            return _unchanged(volume, 'has the type already')
        retype_rules.check(current, self.wanted.former)
        return None

    def _request(
        self, volume: outcomes.Outcome, current: records.Volume
    ) -> None:
        if self.written:
            self.written.begin('', '', volume.ident, planned=volume.detail)
        try:
            warning = self.service.retype(volume.ident, self.wanted)
        except Refusal as error:
            raise outcomes.Refused(
                retype_rules.BY_CINDER, str(error)
            ) from error
        self.pace.begun(0)
        self._started(volume, True, current, warning)

    def _started(
        self,
        volume: outcomes.Outcome,
        requested: bool,
        current: records.Volume,
        warning: str = '',
    ) -> None:
        self._waiting.popleft()
        now = self.now()
        self._running[volume.ident] = _Running(
            volume, now, requested, current, warning, changed=now
        )

    def _look(self, ident: str) -> None:
        """Query a volume that is being retyped."""
        each = self._running[ident]
        current = self.service.show(ident)
        if current is not None and retype_rules.is_running(current):
            self._continues(each, current)
            return
        del self._running[ident]
        if current is None:
            self._end(_unchanged(each.about, 'the volume was deleted'))
        elif current.volume_type == self.wanted.target:
            kept = retype_rules.kept(self.wanted.unset, each.before, current)
            note = '; '.join(filter(None, (each.warning, kept)))
            self._end(self._retyped(each.about, note, each.began))
        elif each.requested:
            self._end(retype_rules.unchanged(each.about, current))
        else:
            # An earlier retype of the volume has ended. This run has not
            # requested its own yet.
            self._waiting.appendleft(each.about)

    def _continues(self, each: _Running, current: records.Volume) -> None:
        each.percent = retype_rules.percent(current)
        if current != each.shown:
            each.shown, each.changed = current, self.now()
        elif self.now() - each.changed > self.patience:
            del self._running[each.about.ident]
            self._end(retype_rules.stalled(each.about, self.patience))

    def _retyped(
        self, volume: outcomes.Outcome, note: str, began: float | None = None
    ) -> outcomes.Outcome:
        detail = f'retyped to {self.wanted.target}'
        seconds = 0.0 if began is None else self.now() - began
        return dataclasses.replace(
            volume,
            status=_Status.DONE,
            detail=f'{detail}; {note}' if note else detail,
            seconds=round(seconds, 3),
        )

    def _was_begun(self, ident: str) -> bool:
        return bool(self.written and ident in self.written.begun)

    def _end(self, outcome: outcomes.Outcome) -> None:
        if self.written:
            self.written.end(outcome)
        self._ended.append(outcome)


def about(volume: records.Volume) -> outcomes.Outcome:
    """Return the outcome of a volume before its retype."""
    return outcomes.Outcome(
        _Status.PLANNED,
        '',
        '',
        volume.ident,
        volume=volume.ident,
        project=volume.project,
    )


def _unchanged(volume: outcomes.Outcome, detail: str) -> outcomes.Outcome:
    return dataclasses.replace(volume, status=_Status.UNCHANGED, detail=detail)
