# SPDX-License-Identifier: Apache-2.0

"""Retypes a volume through Cinder's API.

Cinder makes the change, so a killed run leaves nothing behind, and the volume
shows its result.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import threading
import time
from typing import Any
from typing import Protocol
from typing import TypeVar

from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import retype_rules

_Result = TypeVar('_Result')

#: Seconds between two queries of a volume that is being retyped.
INTERVAL = 1.0


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


@dataclasses.dataclass(frozen=True)
class VolumeItem:
    """A volume of a plan.

    :ivar detail: what is planned
    """

    volume: str
    project: str
    detail: str

    @property
    def item(self) -> 'VolumeItem':
        """What the plan has."""
        return self

    @property
    def outcome(self) -> outcomes.Outcome:
        """The volume, planned."""
        return outcomes.Outcome(
            *(outcomes.Status.PLANNED, '', '', self.volume, self.detail),
            volume=self.volume,
            project=self.project,
        )


@dataclasses.dataclass
class Retype:
    """The retype of a volume.

    :ivar stop: ends the wait for Cinder, which completes the retype
    :ivar say: shows a message to the operator
    :ivar patience: seconds without progress, or without an answer of the API,
        after which the retype counts as failed
    :ivar was_begun: whether an earlier run has requested it
    :ivar percent: its progress; None if unknown
    """

    item: VolumeItem
    service: Service
    wanted: Wanted
    stop: threading.Event
    say: Callable[[str], None]
    patience: float
    was_begun: bool = False
    now: Callable[[], float] = time.monotonic
    percent: int | None = None
    size: int = 0

    @property
    def outcome(self) -> outcomes.Outcome:
        """The volume, planned."""
        return self.item.outcome

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Request the retype, and wait until Cinder has made it.

        :raises Refused: if a rule or Cinder refuses it
        :raises Unneeded: if the volume has the type already, or was deleted
        :raises Continues: if Cinder makes it after the end of the run
        :raises NotVerified: if Cinder did not make it
        :raises NotAnswered: if Cinder does not answer
        """
        before, was_running = self._ended()
        if before.volume_type == self.wanted.target:
            if self.was_begun:
                return self._made('after an earlier run had ended')
            raise outcomes.Unneeded('has the type already')
        if self.was_begun and was_running:
            raise retype_rules.unchanged(before)
        retype_rules.check(before, self.wanted.former)
        warning = self._requested()
        after, _ = self._ended()
        if after.volume_type != self.wanted.target:
            raise retype_rules.unchanged(after)
        kept = retype_rules.kept(self.wanted.unset, before, after)
        return self._made('; '.join(filter(None, (warning, kept))))

    def _made(self, note: str) -> str:
        detail = f'retyped to {self.wanted.target}'
        return f'{detail}; {note}' if note else detail

    def _requested(self) -> str:
        """Request the retype and return the warning of the answer."""

        def request() -> str:
            try:
                return self.service.retype(self.item.volume, self.wanted)
            except Unavailable:
                # Cinder may have accepted it.
                volume = self.service.show(self.item.volume)
                if (
                    volume
                    and volume.volume_type == self.wanted.former
                    and not retype_rules.is_running(volume)
                ):
                    raise
                return ''

        try:
            return self._answered(request)
        except Refusal as error:
            raise outcomes.Refused(
                retype_rules.BY_CINDER, str(error)
            ) from error

    def _ended(self) -> tuple[records.Volume, bool]:
        """Return the volume when no retype or migration of it is running.

        :returns: the volume, and whether there was one
        """
        shown, changed, was_running = None, self.now(), False
        while True:
            volume = self._answered(
                lambda: self.service.show(self.item.volume)
            )
            if volume is None:
                raise outcomes.Unneeded('the volume was deleted')
            if not retype_rules.is_running(volume):
                return volume, was_running
            was_running = True
            self.percent = retype_rules.percent(volume)
            if volume != shown:
                shown, changed = volume, self.now()
            elif self.now() - changed > self.patience:
                raise retype_rules.stalled(self.patience)
            self._wait()

    def _answered(self, request: Callable[[], _Result]) -> _Result:
        """Return the answer to a request, which is repeated for a while."""
        silent_since = None
        while True:
            try:
                return request()
            except Unavailable as error:
                if silent_since is None:
                    silent_since = self.now()
                    self.say(
                        f'Waiting for Cinder, which does not answer: {error}'
                    )
                elif self.now() - silent_since > self.patience:
                    self.say('Cinder did not answer for too long.')
                    self.stop.set()
                    raise outcomes.NotAnswered(str(error)) from error
                self._wait()

    def _wait(self) -> None:
        if self.stop.wait(INTERVAL):
            raise outcomes.Continues('Cinder completes the retype')
