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

"""The keys, as data: one word for metadata, extra specs and options."""

import dataclasses
import enum
import unicodedata

#: Every key of ours begins with this; anything else is somebody else's.
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
    """A place in which a key may stand."""

    VOLUME = 'volume metadata'
    TYPE = 'volume type extra specs'


@dataclasses.dataclass(frozen=True)
class Key:
    """One key.

    :ivar name: the key as it is written, prefix included
    :ivar summary: one line for people
    :ivar scopes: where it may be given
    :ivar fixed: whether it is settled when the volume is created
    """

    name: str
    summary: str
    scopes: frozenset[Scope]
    fixed: bool = True


_BOTH = frozenset({Scope.VOLUME, Scope.TYPE})
_TYPE = frozenset({Scope.TYPE})

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(OBJECT_SIZE, 'size of the RADOS objects', _BOTH),
        Key(STRIPE_UNIT, 'bytes in a row in one object', _BOTH),
        Key(STRIPE_COUNT, 'objects that a stripe spans', _BOTH),
        Key(OBJECT_MAP, 'keep a map of the objects that exist', _BOTH),
        Key(FEATURES, 'the whole set of image features', _BOTH),
        Key(CACHE_MODE, 'cache mode of attachments', _BOTH, fixed=False),
        Key(DATA_POOL, 'pool that holds the data', _TYPE),
        Key(TENANT_OPTIONS, 'keys that tenants may set', _TYPE, fixed=False),
    )
}

#: Keys that can be given in a volume's metadata at all.
VOLUME_KEYS: tuple[str, ...] = tuple(
    key.name for key in KEYS.values() if Scope.VOLUME in key.scopes
)


# Letters without a decomposition that a collation takes for a plain one:
# utf8mb3_general_ci sharp s and dotless i, UCA collations d, b, o and l with a
# stroke. Python's case folding would make two letters of a sharp s.
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

    MariaDB and MySQL find the row of a key by a collation that ignores case,
    accents and spaces at the end; newer ones also characters that are not
    printed. After NFKC, case folding and stripping, two names that any of
    them takes for the same are the same here.
    """
    composed = unicodedata.normalize('NFKC', name).translate(_LIKE_PLAIN)
    folded = unicodedata.normalize('NFKD', composed.casefold())
    printed = (c for c in folded if unicodedata.category(c)[0] not in 'CM')
    return ''.join(printed).strip()


def is_ours(name: str) -> bool:
    """Return whether a name is a key of ours, however it is spelled."""
    return normal(name).startswith(PREFIX)


def is_misspelled(name: str) -> bool:
    """Return whether a key is ours but not spelled as keys are.

    A database may take it for the key that it resembles.
    """
    return is_ours(name) and normal(name) != name


def names(scope: Scope) -> str:
    """Return the keys that may stand in a scope, for a message."""
    return ', '.join(k.name for k in KEYS.values() if scope in k.scopes)
