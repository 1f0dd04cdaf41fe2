#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The keys, as data: one table with all properties of each key."""

import dataclasses
import enum
import unicodedata

from rbd_volume_options import phrases
from rbd_volume_options import wire

#: The prefix of all keys of the suite. Other names are ignored.
PREFIX = 'rbd:'

OBJECT_SIZE = 'rbd:object_size'
STRIPE_UNIT = 'rbd:stripe_unit'
STRIPE_COUNT = 'rbd:stripe_count'
OBJECT_MAP = 'rbd:object_map'
FEATURES = 'rbd:features'
CACHE_MODE = 'rbd:cache_mode'
DATA_POOL = 'rbd:data_pool'
TENANT_OPTIONS = 'rbd:tenant_options'


class Scope(enum.Enum):
    """A place where a key may be set."""

    VOLUME = 'volume metadata'
    TYPE = 'volume type extra specs'


@dataclasses.dataclass(frozen=True)
class Key:
    """A key.

    :ivar name: the key, including the prefix
    :ivar summary: a description in one line
    :ivar scopes: where the key may be set
    :ivar option: the option of cinder.conf that sets the default of the back
        end. The driver reports its value to the scheduler, as a capability of
        the same name.
    :ivar policy: the policy that a caller needs to set the key on a volume;
        None for a key that is not allowed in volume metadata
    :ivar attribute: the attribute of the volume that shows the result; None
        if there is no attribute
    :ivar fixed: whether the key is fixed at creation of the volume
    """

    name: str
    summary: str
    scopes: frozenset[Scope]
    option: str
    policy: str | None = None
    attribute: str | None = None
    fixed: bool = True

    @property
    def capability(self) -> str:
        """The capability that reports the option's value to the scheduler."""
        return self.option


_BOTH = frozenset({Scope.VOLUME, Scope.TYPE})
_TYPE = frozenset({Scope.TYPE})

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            name=OBJECT_SIZE,
            summary='size of the RADOS objects',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_OBJECT_SIZE,
            policy=wire.POLICY_SET_LAYOUT,
            attribute=wire.ATTRIBUTE_OBJECT_SIZE,
        ),
        Key(
            name=STRIPE_UNIT,
            summary='contiguous bytes of a stripe in one object',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_STRIPE_UNIT,
            policy=wire.POLICY_SET_LAYOUT,
            attribute=wire.ATTRIBUTE_STRIPE_UNIT,
        ),
        Key(
            name=STRIPE_COUNT,
            summary='number of objects in a stripe',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_STRIPE_COUNT,
            policy=wire.POLICY_SET_LAYOUT,
            attribute=wire.ATTRIBUTE_STRIPE_COUNT,
        ),
        Key(
            name=OBJECT_MAP,
            summary='whether the image has an object map',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_OBJECT_MAP,
            policy=wire.POLICY_SET_FEATURES,
        ),
        Key(
            name=FEATURES,
            summary='the complete set of image features',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_FEATURES,
            policy=wire.POLICY_SET_FEATURES,
            attribute=wire.ATTRIBUTE_FEATURES,
        ),
        Key(
            name=CACHE_MODE,
            summary='cache mode of attachments',
            scopes=_BOTH,
            option=wire.RBD_VOLUME_CACHE_MODE,
            policy=wire.POLICY_SET_CACHE_MODE,
            fixed=False,
        ),
        Key(
            name=DATA_POOL,
            summary='pool that holds the data',
            scopes=_TYPE,
            option=wire.RBD_VOLUME_DATA_POOL,
            attribute=wire.ATTRIBUTE_DATA_POOL,
        ),
        Key(
            name=TENANT_OPTIONS,
            summary='keys that tenants may set',
            scopes=_TYPE,
            option=wire.RBD_TENANT_OPTIONS,
            fixed=False,
        ),
    )
}

#: The keys that can be set in the metadata of a volume.
VOLUME_KEYS: tuple[str, ...] = tuple(
    key.name for key in KEYS.values() if Scope.VOLUME in key.scopes
)

#: Keys that are set and removed together.
PAIR = (STRIPE_UNIT, STRIPE_COUNT)

#: The option of cinder.conf for each key.
OPTIONS: dict[str, str] = {key.name: key.option for key in KEYS.values()}

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


def normal(name: str) -> str:
    """Return a name as databases compare it: without case and accents.

    MariaDB and MySQL look up the row of a key with a collation that ignores
    case, accents and trailing spaces; newer collations also ignore
    non-printing characters. NFKC, case folding and stripping make two names
    equal if any of these collations treats them as equal.

    A name of more than :data:`MAX_NAME` characters is returned unchanged: no
    database has it. The time of a normalization can grow with the square of
    the length, and requests are checked here before Cinder's schemas.
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
    return len(name) <= MAX_NAME and normal(name).startswith(PREFIX)


def is_misspelled(name: str) -> bool:
    """Return whether a key is ours but is not spelled exactly.

    A database may treat it as the key that it resembles.
    """
    return is_ours(name) and normal(name) != name


def partner(name: str) -> str | None:
    """Return the key that must be set together with a key, if any."""
    return PAIR[1 - PAIR.index(name)] if name in PAIR else None


def names(scope: Scope) -> str:
    """Return the keys that are allowed in a scope, for a message."""
    return ', '.join(k.name for k in KEYS.values() if scope in k.scopes)
