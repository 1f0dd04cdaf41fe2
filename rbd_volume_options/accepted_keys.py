# SPDX-License-Identifier: Apache-2.0

"""The keys of a volume that a volume type accepts.

The API reports the keys that a retype removes, and the driver removes them.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TypeVar

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import sizes

_FOREIGN = 'the back end does not support RBD volume options'
_UNKNOWN = 'unknown key'

Result = TypeVar('Result')

#: Checks the metadata of a volume; raises OptionError. The arguments are the
#: complete metadata and the keys that the restore has added.
Check = Callable[[Mapping[str, str], frozenset[str]], None]


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """The accepted keys of a volume, and the others with the reasons."""

    kept: Mapping[str, str]
    dropped: Mapping[str, str]

    @property
    def reasons(self) -> str:
        """The dropped keys with their reasons, as safe text for people."""
        return ', '.join(
            f'{registry.shown_key(key)} ({reason})'
            for key, reason in sorted(self.dropped.items())
        )

    def without(self, error: errors.OptionError) -> 'Acceptance':
        """Return the same without the keys that cause an error."""
        names = _at_fault(error, self.kept)
        return Acceptance(
            {k: v for k, v in self.kept.items() if k not in names},
            {**self.dropped, **dict.fromkeys(names, error.reason)},
        )

    def applied(
        self, use: Callable[[Mapping[str, str]], Result]
    ) -> tuple['Acceptance', Result]:
        """Use the kept keys, without those that cause an error.

        :returns: the keys that are left, and the result with them
        :raises OptionError: for an error even without keys
        """
        accepted = self
        while True:
            try:
                return accepted, use(accepted.kept)
            except errors.OptionError as error:
                rest = accepted.without(error)
                if rest == accepted:
                    raise
                accepted = rest


def accepted_by_type(
    metadata: Mapping[str, str],
    specs: Mapping[str, str],
    settings: backend_settings.BackendSettings | None,
    size: int,
    as_is: bool = False,
) -> Acceptance:
    """Return which of a volume's own keys a type on a back end accepts.

    :param settings: of the back end; None for another driver
    :param size: of the volume, in GiB
    :param as_is: whether an operator migrates the volume unchanged; limits
        then do not apply
    :raises OptionError: if the type is not possible even without these keys
    """
    own = options.ours(metadata)
    if settings is None:
        return Acceptance({}, dict.fromkeys(own, _FOREIGN))
    known = registry.volume_keys()
    kept = {k: v for k, v in own.items() if k in known}
    dropped = dict.fromkeys(own.keys() - kept.keys(), _UNKNOWN)

    def create(accepted: Mapping[str, str]) -> None:
        requested = request.read_request(
            accepted, specs, settings, is_checked=as_is
        )
        if as_is:
            requested.resolve()
        else:
            requested.plan(size * sizes.GIB)

    return Acceptance(kept, dropped).applied(create)[0]


def _at_fault(error: errors.OptionError, kept: Mapping[str, Any]) -> list[str]:
    """Return the keys to drop because of an error; empty if none are left."""
    # The error can name a key of the type, such as a stripe unit that is not a
    # factor of the volume's object size. Keys of the same kind are dropped
    # then; a striping first, because it follows from an object size.
    at_fault = registry.OPTIONS.get(error.key)
    families = sorted(
        registry.families(),
        key=lambda family: (
            error.key not in family,
            at_fault is None
            or registry.OPTIONS[family[0]].kind is not at_fault.kind,
            len(family) == 1,
        ),
    )
    for family in families:
        present = [name for name in family if name in kept]
        if present:
            return present
    return []


def after_restore(
    own: Mapping[str, str], current: Mapping[str, str], check: Check
) -> dict[str, str]:
    """Return the metadata of a volume after a restore.

    :param own: the ``rbd:`` keys before the restore
    """
    kept = {k: v for k, v in current.items() if not keys.is_ours(k)}
    kept.update(own)
    for family in registry.families():
        added = {
            k: current[k] for k in family if k in current and k not in own
        }
        if added:
            try:
                check({**kept, **added}, frozenset(added))
            except errors.OptionError:
                continue
            kept.update(added)
    return kept


def retype_notice(by_backend: list[Acceptance]) -> str | None:
    """Return which keys all possible back ends remove; None for none."""
    dropped: dict[str, str] = {}
    for accepted in by_backend:
        dropped.update(accepted.dropped)
    if not dropped:
        return None
    everywhere = all(
        dropped.keys() == each.dropped.keys() for each in by_backend
    )
    verb = 'removes' if everywhere else 'may remove'
    reasons = Acceptance({}, dropped).reasons
    return (
        f'the retype {verb} keys of the volume that the new volume type does '
        f'not accept: {reasons}'
    )
