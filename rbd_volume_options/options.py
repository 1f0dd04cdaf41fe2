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

"""The keys of one origin (metadata, extra specs, options), parsed once."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
from typing import TypeVar

from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import phrases
from rbd_volume_options import tenant_options

T = TypeVar('T')

_POOL_ALLOWED = phrases.Phrase(
    'the name of a pool: up to 128 letters, digits, dots, hyphens and '
    'underscores'
)
_MAX_POOL_NAME = 128
# Number of parsed texts that are kept, which are those of types and requests.
_REMEMBERED = 256
_NOT_OF = {
    keys.Scope.VOLUME: phrases.Phrase('not a key of volume metadata'),
    keys.Scope.TYPE: phrases.Phrase('not a key of volume type extra specs'),
}


@dataclasses.dataclass(frozen=True)
class VolumeOptions:
    """The values that are set in one origin; None for unset values.

    :ivar object_size: bytes
    :ivar striping: stripe unit and stripe count
    :ivar object_map: whether the image gets an object map
    :ivar image_features: the complete set of features
    :ivar cache_mode: cache mode of attachments
    :ivar data_pool: pool for the data
    :ivar tenant_options: the keys that tenants may set
    """

    object_size: int | None = None
    striping: layout.Striping | None = None
    object_map: bool | None = None
    image_features: features.Features | None = None
    cache_mode: cache_modes.CacheMode | None = None
    data_pool: str | None = None
    tenant_options: frozenset[str] | None = None


def ours(items: Mapping[str, str]) -> dict[str, str]:
    """Return the items whose keys have our prefix."""
    return {k: v for k, v in items.items() if k.startswith(keys.PREFIX)}


def parse(
    items: Mapping[str, str], scope: keys.Scope, origin: errors.Origin
) -> VolumeOptions:
    """Parse the keys of one origin; keys without our prefix are ignored.

    The same text is parsed once: a request reads it in several places, and
    the extra specs of a type hardly change.

    :raises OptionError: for an unknown key, a key that is not allowed in the
        scope, an invalid value, or values that contradict each other
    """
    return _parsed(tuple(ours(items).items()), scope, origin)


@functools.lru_cache(maxsize=_REMEMBERED)
def _parsed(
    items: tuple[tuple[str, str], ...],
    scope: keys.Scope,
    origin: errors.Origin,
) -> VolumeOptions:
    given = dict(items)
    try:
        check_keys(given, scope)
        options = VolumeOptions(
            object_size=_get(
                given, keys.OBJECT_SIZE, layout.parse_object_size
            ),
            striping=_striping(given),
            object_map=_get(given, keys.OBJECT_MAP, features.parse_object_map),
            image_features=_get(given, keys.FEATURES, features.parse_features),
            cache_mode=_get(
                given, keys.CACHE_MODE, cache_modes.parse_cache_mode
            ),
            data_pool=_get(given, keys.DATA_POOL, parse_pool),
            tenant_options=_get(
                given, keys.TENANT_OPTIONS, tenant_options.parse
            ),
        )
        check_contradictions(options)
    except errors.OptionError as error:
        raise error.at(origin) from None
    return options


def unknown_key(
    name: str, value: object, scope: keys.Scope
) -> errors.OptionError:
    """Return the error for a key that has our prefix but does not exist.

    The error has the exact spelling if the key resembles an existing one.
    """
    reason, meant = phrases.Phrase('unknown key'), keys.normal(name)
    if meant in keys.KEYS:
        reason = phrases.Phrase(
            'unknown key; the exact spelling is {key}', key=meant
        )
    # The key is untrusted input too, and its length is not limited.
    return errors.OptionError(
        errors.shown(name), value, reason, keys.names(scope)
    )


def check_keys(given: Mapping[str, object], scope: keys.Scope) -> None:
    """Check that keys exist, are spelled exactly and are allowed in a scope.

    :param given: keys with our prefix, in any spelling
    :raises OptionError: for the first key that fails the check
    """
    for name, value in given.items():
        key = keys.KEYS.get(name)
        if key is None:
            raise unknown_key(name, value, scope)
        if scope not in key.scopes:
            raise errors.OptionError(
                name,
                value,
                _NOT_OF[scope],
                keys.names(scope),
            )


def _get(
    given: Mapping[str, str], key: str, parser: Callable[[str], T]
) -> T | None:
    return parser(given[key]) if key in given else None


def _striping(given: Mapping[str, str]) -> layout.Striping | None:
    unit = given.get(keys.STRIPE_UNIT)
    count = given.get(keys.STRIPE_COUNT)
    if unit is None and count is None:
        return None
    if unit is None:
        raise _alone(keys.STRIPE_COUNT, count, keys.STRIPE_UNIT)
    if count is None:
        raise _alone(keys.STRIPE_UNIT, unit, keys.STRIPE_COUNT)
    return layout.Striping(
        layout.parse_stripe_unit(unit), layout.parse_stripe_count(count)
    )


def _alone(key: str, value: object, missing: str) -> errors.OptionError:
    return errors.OptionError(
        key,
        value,
        phrases.Phrase('set without {key}', key=missing),
        phrases.Phrase('both or neither'),
        code=errors.Code.STRIPING_INCOMPLETE,
    )


def parse_pool(value: str) -> str:
    """Return the name of a pool.

    This is stricter than Ceph, because the name is also used on command lines
    and in pool specifications, where ``/``, ``@`` and spaces have a meaning.

    :raises OptionError: for an invalid name
    """
    if (
        not 0 < len(value) <= _MAX_POOL_NAME
        or not value.isascii()
        or not all(c.isalnum() or c in '._-' for c in value)
        or value.startswith('-')
    ):
        raise errors.OptionError(
            keys.DATA_POOL,
            value,
            phrases.Phrase('not a valid pool name'),
            _POOL_ALLOWED,
        )
    return value


def _contradicts(chosen: features.Features) -> phrases.Phrase:
    return phrases.Phrase(
        'contradicts rbd:features = {chosen}', chosen=features.joined(chosen)
    )


def check_contradictions(options: VolumeOptions) -> None:
    """Check that the values of one origin do not contradict each other.

    :raises OptionError: if ``rbd:object_map`` contradicts ``rbd:features``
    """
    chosen, wanted = options.image_features, options.object_map
    if chosen is None or wanted is None:
        return
    if wanted and features.OBJECT_MAP not in chosen:
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'true',
            _contradicts(chosen),
            phrases.Phrase(
                'rbd:features with object-map, or only one of the two'
            ),
        )
    if not wanted and features.OBJECT_MAP in chosen:
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'false',
            _contradicts(chosen),
            phrases.Phrase(
                'rbd:features without object-map, or only one of the two'
            ),
        )
