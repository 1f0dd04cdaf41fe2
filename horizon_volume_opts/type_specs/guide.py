# SPDX-License-Identifier: Apache-2.0

"""Help for operators about each key of a volume type."""

from collections.abc import Sequence
import dataclasses
from typing import Any

from horizon_volume_opts import phrasing
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry


@dataclasses.dataclass(frozen=True)
class Entry:
    """The help for a key.

    :ivar key: the key
    :ivar summary: one sentence about the key
    :ivar allowed: the allowed values, as error messages describe them
    :ivar choices: suggested values; others may be allowed as well
    """

    key: str
    summary: Any
    allowed: Any
    choices: Sequence[str]


def _allowed(option: definitions.Option) -> Any:
    """Return the allowed values from an error, to define them only once."""
    specs = {option.key: option.invalid}
    if option.partner:
        specs[option.partner] = registry.OPTIONS[option.partner].suggestions[0]
    try:
        options.parse(specs, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)
    except errors.OptionError as error:
        return phrasing.in_words_lazy(error.allowed)
    raise AssertionError(f'{option.key} accepts any value')


def entries() -> dict[str, Entry]:
    """Return the help for each key of volume types, by key."""
    return {
        option.key: Entry(
            option.key,
            phrasing.sentence_lazy(option.summary),
            _allowed(option),
            option.suggestions
            or (
                (','.join(registry.volume_keys()),)
                if option.kind is definitions.Kind.TENANTS
                else ()
            ),
        )
        for option in registry.OPTIONS.values()
        if keys.Scope.TYPE in option.scopes
    }
