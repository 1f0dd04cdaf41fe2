# SPDX-License-Identifier: Apache-2.0

"""The names of the keys, and spellings that a database may equate.

The properties of each key are in :mod:`rbd_volume_options.definitions`.
"""

import enum
from typing import NamedTuple
import unicodedata

from rbd_volume_options import phrases

#: The prefix of all keys of the suite. Other names are ignored.
PREFIX = 'rbd:'

OBJECT_SIZE = 'rbd:object_size'
STRIPE_UNIT = 'rbd:stripe_unit'
STRIPE_COUNT = 'rbd:stripe_count'
OBJECT_MAP = 'rbd:object_map'
FEATURES = 'rbd:features'
CACHE_MODE = 'rbd:cache_mode'
COMPRESSION_HINT = 'rbd:compression_hint'
DISCARD = 'rbd:discard'
DISCARD_GRANULARITY = 'rbd:discard_granularity'
DETECT_ZEROES = 'rbd:detect_zeroes'
SECTOR_SIZE = 'rbd:sector_size'
BOOT_FROM_4096 = 'rbd:boot_from_4096'
DATA_POOL = 'rbd:data_pool'
KEEP_DELETED = 'rbd:keep_deleted'
TENANT_OPTIONS = 'rbd:tenant_options'

#: Not a key that can be set: the stripe unit and the stripe count, as one
#: value.
STRIPING = 'striping'


class LimitKeys(NamedTuple):
    """The keys about one limit of reads and writes, and its range.

    :ivar name: what is limited, as in librbd's ``rbd_qos_<name>_limit``
    :ivar smallest: the smallest limit that the owner of a volume can choose,
        in bytes or requests per second. Services of Cinder that copy a volume
        are limited too, and would work on it for days.
    :ivar largest: the largest value
    :ivar limit: the maximum per second
    :ivar burst: the maximum per second in a burst
    :ivar burst_seconds: the length of a burst
    :ivar per_gib: the limit for each GiB of a volume, in volume types
    :ivar minimum: the smallest limit that follows from the size of a volume
    :ivar maximum: the largest limit and burst that a volume can have
    """

    name: str
    smallest: int
    largest: int
    limit: str
    burst: str
    burst_seconds: str
    per_gib: str
    minimum: str
    maximum: str


LIMITS = tuple(
    LimitKeys(
        f'{direction}{what}',
        *numbers,
        *(
            f'{PREFIX}{direction}{what}_{word}'
            for word in (
                *('limit', 'burst', 'burst_seconds'),
                *('limit_per_gib', 'limit_minimum', 'limit_maximum'),
            )
        ),
    )
    for what, numbers in (('iops', (10, 10**9)), ('bps', (1 << 20, 1 << 40)))
    for direction in ('', 'read_', 'write_')
)


class Scope(enum.Enum):
    """A place where a key may be set."""

    VOLUME = 'volume metadata'
    TYPE = 'volume type extra specs'
    #: Options of cinder.conf and reports of back ends, which set each key.
    BACKEND = 'back end'


#: Maximum length of the name of an item, which Cinder's schemas check.
MAX_NAME = 255

#: The allowed keys in messages if no key is allowed.
NO_KEY = phrases.Phrase('none of the rbd: keys')


# Letters without a decomposition that a collation compares as a plain letter:
# sharp s and dotless i in utf8mb3_general_ci, and d, b, o and l with a stroke
# in UCA collations. Python's case folding turns a sharp s into two letters.
_LIKE_PLAIN = {
    ord(letter): plain
    for letters, plain in (
        ('\u00df\u1e9e', 's'),
        ('\u0131', 'i'),
        ('\u0110\u0111', 'd'),
        ('\u0180\u0243', 'b'),
        ('\u00d8\u00f8', 'o'),
        ('\u0141\u0142', 'l'),
    )
    for letter in letters
}


def normal_name(name: str) -> str:
    """Return a name as databases compare it: without case and accents.

    MariaDB and MySQL look up the row of a key with a collation that ignores
    case, accents and trailing spaces; newer collations also ignore
    non-printing characters. NFKC, case folding and stripping make two names
    equal if any of these collations treats them as equal.

    A name of more than :data:`.keys.MAX_NAME` characters is returned
    unchanged: no database has it. The time of a normalization can grow with
    the square of the length, and requests are checked here before Cinder's
    schemas.
    """
    if len(name) > MAX_NAME:
        return name
    composed = unicodedata.normalize('NFKC', name).translate(_LIKE_PLAIN)
    folded = unicodedata.normalize('NFKD', composed.casefold())
    printed = (c for c in folded if unicodedata.category(c)[0] not in 'CM')
    return ''.join(printed).strip()


def is_ours(name: str) -> bool:
    """Return whether a name has the prefix of our keys, in any spelling.

    A name that is too long for Cinder is never ours: Cinder refuses it.
    """
    return len(name) <= MAX_NAME and normal_name(name).startswith(PREFIX)


def is_misspelled(name: str) -> bool:
    """Return whether a key is ours but is not spelled exactly.

    A database may treat it as the key that it resembles.
    """
    return is_ours(name) and normal_name(name) != name


def split_list(value: str) -> list[str]:
    """Return the items of a list, without spaces around them.

    oslo.config splits its lists in the same way. Empty items are kept, so
    that ``a,,b`` is an error.
    """
    return [word.strip(' \t') for word in value.split(',')]
