# SPDX-License-Identifier: Apache-2.0

"""Image features and their requirements, as data (``include/rbd/features.h``).

Features have the names of librbd. Bits are used only in calls to librbd.
"""

from collections.abc import Collection
from collections.abc import Iterable

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases

Features = frozenset[str]

LAYERING = 'layering'
STRIPING = 'striping'
EXCLUSIVE_LOCK = 'exclusive-lock'
OBJECT_MAP = 'object-map'
FAST_DIFF = 'fast-diff'
DEEP_FLATTEN = 'deep-flatten'
JOURNALING = 'journaling'
DATA_POOL = 'data-pool'


#: The features of an RBD image, with their bits in librbd's mask.
FEATURES: dict[str, int] = {
    LAYERING: 1 << 0,
    STRIPING: 1 << 1,
    EXCLUSIVE_LOCK: 1 << 2,
    OBJECT_MAP: 1 << 3,
    FAST_DIFF: 1 << 4,
    DEEP_FLATTEN: 1 << 5,
    JOURNALING: 1 << 6,
    DATA_POOL: 1 << 7,
}
#: The feature without which librbd rejects or drops another one.
REQUIRES = {
    OBJECT_MAP: EXCLUSIVE_LOCK,
    FAST_DIFF: OBJECT_MAP,
    JOURNALING: EXCLUSIVE_LOCK,
}
#: Those that can be requested; the others follow from the layout or the data
#: pool.
CHOOSABLE: Features = frozenset(FEATURES) - {STRIPING, DATA_POOL}
#: Those that can be enabled and disabled on an existing image.
MUTABLE: Features = frozenset(
    {EXCLUSIVE_LOCK, OBJECT_MAP, FAST_DIFF, JOURNALING}
)
#: Those that assume one writing client at a time.
SINGLE_CLIENT = MUTABLE

#: The features that ``rbd:object_map`` adds if true.
MAP_ON: Features = frozenset({EXCLUSIVE_LOCK, OBJECT_MAP, FAST_DIFF})
#: The features that it removes if false. librbd enables and disables these
#: two together.
MAP_OFF: Features = frozenset({OBJECT_MAP, FAST_DIFF})

#: ``cls::rbd::MAX_OBJECT_MAP_OBJECT_COUNT``.
MAX_OBJECT_MAP_OBJECTS = 256_000_000

_ALLOWED = phrases.Phrase(
    'a comma-separated list of {names}',
    names=', '.join(name for name in FEATURES if name in CHOOSABLE),
)
_TRUE = frozenset({'true', 't', 'yes', 'y', 'on', '1'})
_FALSE = frozenset({'false', 'f', 'no', 'n', 'off', '0'})
_IS = '<is> '


def to_mask(features: Iterable[str]) -> int:
    """Return librbd's feature mask."""
    mask = 0
    for name in features:
        mask |= FEATURES[name]
    return mask


def from_mask(mask: int) -> Features:
    """Return the known features of a mask; unknown bits are ignored.

    The unknown bits (``operations``, ``migrating``, ``non-primary``,
    ``dirty-cache``) are internal state of librbd and cannot be requested.
    """
    return frozenset(name for name, bit in FEATURES.items() if mask & bit)


def with_implied(wanted: Features, striped: bool, data_pool: bool) -> Features:
    """Return the features that librbd gives a new image.

    ``fast-diff`` goes with ``object-map``. Two features follow from the layout
    and the data pool.
    """
    made = wanted & CHOOSABLE - {FAST_DIFF}
    if OBJECT_MAP in wanted:
        made |= {FAST_DIFF}
    if striped:
        made |= {STRIPING}
    if data_pool:
        made |= {DATA_POOL}
    return made


def joined(features: Collection[str]) -> str:
    """Return a comma-separated list of features, sorted by name."""
    return ','.join(sorted(features))


def parse_features(value: str) -> Features:
    """Return the complete set of features in a comma-separated list.

    ``fast-diff`` is added to ``object-map``, as librbd does.

    :raises OptionError: for an unknown feature, a missing prerequisite, or a
        set without ``layering``, which Cinder requires for clones
    """
    names = keys.split_list(value) if isinstance(value, str) else []
    chosen = frozenset(names)
    for name in names:
        if name not in FEATURES:
            raise _refused(
                value,
                phrases.Phrase(
                    '{name} is not an image feature', name=errors.shown(name)
                ),
            )
        if name not in CHOOSABLE:
            raise _refused(
                value,
                phrases.Phrase(
                    '{name} cannot be set; it follows from the layout or the '
                    'data pool',
                    name=name,
                ),
            )
    for name in sorted(chosen):
        needed = REQUIRES.get(name, name)
        if needed not in chosen:
            raise _refused(
                value,
                phrases.Phrase(
                    '{name} requires {needed}', name=name, needed=needed
                ),
            )
    if LAYERING not in chosen:
        raise _refused(
            value,
            phrases.Phrase('layering is missing, which clones require'),
        )
    return chosen | {FAST_DIFF} if OBJECT_MAP in chosen else chosen


def _refused(value: object, reason: str) -> errors.OptionError:
    return errors.OptionError(keys.FEATURES, value, reason, _ALLOWED)


def parse_object_map(value: str | bool) -> bool:
    """Return whether an object map is requested.

    :raises OptionError: as :func:`parse_boolean`
    """
    return parse_boolean(keys.OBJECT_MAP, value)


def parse_boolean(key: str, value: str | bool) -> bool:
    """Return the boolean value of a key.

    Accepts the usual boolean strings and the extra-spec form ``<is> True``.

    :raises OptionError: for any other value
    """
    text = str(value)
    if text.startswith(_IS):
        text = text[len(_IS) :]
    # Check for ASCII first: lower() maps some non-ASCII letters to ASCII.
    if text.isascii() and text.lower() in _TRUE:
        return True
    if text.isascii() and text.lower() in _FALSE:
        return False
    raise errors.OptionError(
        key,
        value,
        phrases.Phrase('not a boolean'),
        phrases.Phrase("true, false or '<is> True'"),
    )


def with_object_map(features: Features, wanted: bool) -> Features:
    """Return features with the object map added or removed."""
    return features | MAP_ON if wanted else features - MAP_OFF
