# SPDX-License-Identifier: Apache-2.0

"""Changes volumes through Cinder's API: retypes, and keys of their type.

Cinder makes the change, so a killed run leaves nothing behind, and the volume
shows its result.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import time
from typing import Any
from typing import TypeVar

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import sizes
from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import volume_service

_Result = TypeVar('_Result')

#: Seconds between two queries of a volume that is being retyped.
INTERVAL = 1.0
#: Keys and the attributes that show what an image has.
_ATTRIBUTES = {
    keys.OBJECT_SIZE: definitions.ATTRIBUTE_OBJECT_SIZE,
    keys.STRIPE_UNIT: definitions.ATTRIBUTE_STRIPE_UNIT,
    keys.STRIPE_COUNT: definitions.ATTRIBUTE_STRIPE_COUNT,
    keys.OBJECT_MAP: definitions.ATTRIBUTE_FEATURES,
    keys.FEATURES: definitions.ATTRIBUTE_FEATURES,
    keys.DATA_POOL: definitions.ATTRIBUTE_DATA_POOL,
}
#: Statuses in which Cinder accepts a retype. For an attached volume, the API
#: extension refuses a change of more than the image features.
_READY = frozenset({'available', 'in-use'})

BUSY = outcomes.Reason(
    'busy',
    'the status of the volume does not allow a retype',
    'Run the command again when the volume is available.',
)
OTHER_TYPE = outcomes.Reason(
    'other-type',
    'the volume has another type',
    'Name this type with --from.',
)
NOT_CONVERTED = outcomes.Reason(
    'not-converted',
    'Ceph does not convert the RBD image',
    'Remove the obstacle, or use --migration-policy on-demand.',
)


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

    def check(self, volume: records.Volume) -> None:
        """Check whether the retype of a volume can be requested.

        :raises Refused: if it cannot be requested
        """
        if volume.volume_type != self.former:
            raise outcomes.Refused(OTHER_TYPE, volume.volume_type or 'none')
        if volume.status not in _READY:
            raise outcomes.Refused(BUSY, volume.status)


def planned(ident: str, project: str, detail: str) -> outcomes.Outcome:
    """Return the planned change of a volume."""
    return outcomes.Outcome(
        *(outcomes.Status.PLANNED, '', '', ident, detail),
        volume=ident,
        project=project,
    )


@dataclasses.dataclass
class Retype:
    """The retype of a volume.

    :ivar work: the run, whose stop ends the wait: Cinder completes the retype
    :ivar patience: seconds without progress, or without an answer of the API,
        after which the retype counts as failed
    """

    ident: str
    service: volume_service.VolumeService
    wanted: Wanted
    work: changes.Run
    patience: float

    @property
    def was_begun(self) -> bool:
        """Whether an earlier run has requested it."""
        return self.ident in self.work.written.begun

    def make(self) -> str:
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
            raise _unchanged(before)
        self.wanted.check(before)
        warning = self._requested()
        after, _ = self._ended()
        if after.volume_type != self.wanted.target:
            raise _unchanged(after)
        kept = _kept(self.wanted.unset, before, after)
        return self._made('; '.join(filter(None, (warning, kept))))

    def _made(self, note: str) -> str:
        detail = f'retyped to {self.wanted.target}'
        return f'{detail}; {note}' if note else detail

    def _requested(self) -> str:
        """Request the retype and return the warning of the answer."""

        def request() -> str:
            wanted = self.wanted
            try:
                return self.service.retype(
                    self.ident, wanted.target_id, wanted.policy
                )
            except outcomes.NotAnswered:
                # Cinder may have accepted it.
                volume = self.service.show(self.ident)
                if (
                    volume
                    and volume.volume_type == wanted.former
                    and not is_running(volume)
                ):
                    raise
                return ''

        return self._answered(request)

    def _ended(self) -> tuple[records.Volume, bool]:
        """Return the volume when no retype or migration of it is running.

        :returns: the volume, and whether there was one
        """
        shown, changed, was_running = None, time.monotonic(), False
        while True:
            volume = self._answered(lambda: self.service.show(self.ident))
            if volume is None:
                raise outcomes.Unneeded('the volume was deleted')
            if not is_running(volume):
                return volume, was_running
            was_running = True
            self.work.percents[self.ident] = _conversion(volume).get('percent')
            if volume != shown:
                shown, changed = volume, time.monotonic()
            elif time.monotonic() - changed > self.patience:
                raise outcomes.NotVerified(
                    f'no progress for {self.patience / 60:g} minutes',
                    'See the log of cinder-volume. Cinder may still complete '
                    'it.',
                )
            self._wait()

    def _answered(self, request: Callable[[], _Result]) -> _Result:
        """Return the answer to a request, which is repeated for a while."""
        silent_since = None
        while True:
            try:
                return request()
            except outcomes.NotAnswered as error:
                if silent_since is None:
                    silent_since = time.monotonic()
                    self.work.say(f'Waiting for Cinder: {error}')
                elif time.monotonic() - silent_since > self.patience:
                    self.work.say('Cinder did not answer for too long.')
                    self.work.stop.set()
                    raise
                self._wait()

    def _wait(self) -> None:
        if self.work.stop.wait(INTERVAL):
            raise outcomes.Continues('Cinder completes the retype')


def is_running(volume: records.Volume) -> bool:
    """Return whether a volume is being retyped or migrated."""
    return volume.status == 'retyping' or volume.migrating


def unset(
    former: Mapping[str, str], target: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the keys that only the former type sets.

    :param former: extra specs of the former type
    :param target: extra specs of the new type
    """
    return tuple(
        key for key in _ATTRIBUTES if key in former and key not in target
    )


def _kept(
    unset_keys: Iterable[str], before: records.Volume, after: records.Volume
) -> str:
    """Return what a volume keeps although its new type does not set it."""
    attributes = {_ATTRIBUTES[key] for key in unset_keys}
    parts = [
        f'{name.partition(":")[2]} = {_shown(name, after.made[name])}'
        for name in sorted(attributes & before.made.keys())
        if before.made[name] == after.made.get(name)
    ]
    return f'keeps {", ".join(parts)}' if parts else ''


def _shown(attribute: str, value: Any) -> str:
    if attribute in (
        definitions.ATTRIBUTE_OBJECT_SIZE,
        definitions.ATTRIBUTE_STRIPE_UNIT,
    ):
        return sizes.format_size(value)
    if attribute == definitions.ATTRIBUTE_FEATURES:
        return features.joined(value)
    return str(value)


def _unchanged(volume: records.Volume) -> Exception:
    """Return the error of a retype that did not change the type."""
    reason = _conversion(volume).get('reason')
    if reason:
        return outcomes.Refused(NOT_CONVERTED, reason)
    return outcomes.NotVerified(
        f'Cinder did not change the type; status {volume.status}',
        'See the logs of cinder-scheduler and cinder-volume, and openstack '
        'volume message list.',
    )


def _conversion(volume: records.Volume) -> dict[str, Any]:
    shown: dict[str, Any] = (
        volume.made.get(image_record.ATTRIBUTE_CONVERSION) or {}
    )
    return shown
