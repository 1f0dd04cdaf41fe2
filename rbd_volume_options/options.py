# SPDX-License-Identifier: Apache-2.0

"""The keys of one origin (metadata, extra specs, options), parsed once."""

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import key_spelling
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import phrases
from rbd_volume_options import registry

# Number of parsed texts that are kept, which are those of types and requests.
_REMEMBERED = 256
_NOT_PLAIN = frozenset(
    {
        keys.OBJECT_SIZE,
        keys.STRIPE_UNIT,
        keys.STRIPE_COUNT,
        keys.OBJECT_MAP,
        keys.FEATURES,
        keys.DATA_POOL,
    }
)
_NOT_OF = {
    keys.Scope.VOLUME: phrases.Phrase('not a key of volume metadata'),
    keys.Scope.TYPE: phrases.Phrase('not a key of volume type extra specs'),
    keys.Scope.BACKEND: phrases.Phrase('not a key of back ends'),
}


@dataclasses.dataclass(frozen=True)
class VolumeOptions:
    """The values that are set in one origin; None for unset values.

    :ivar object_size: bytes
    :ivar striping: stripe unit and stripe count
    :ivar object_map: whether the image gets an object map
    :ivar image_features: the complete set of features
    :ivar data_pool: pool for the data
    :ivar plain: the values of all other options, by key
    """

    object_size: int | None = None
    striping: layout.Striping | None = None
    object_map: bool | None = None
    image_features: features.Features | None = None
    data_pool: str | None = None
    plain: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> 'VolumeOptions':
        """Return the options for parsed values, by key."""
        unit = values.get(keys.STRIPE_UNIT)
        count = values.get(keys.STRIPE_COUNT)
        striping = layout.Striping(unit, count) if unit and count else None
        return cls(
            values.get(keys.OBJECT_SIZE),
            striping,
            values.get(keys.OBJECT_MAP),
            values.get(keys.FEATURES),
            values.get(keys.DATA_POOL),
            {k: v for k, v in values.items() if k not in _NOT_PLAIN},
        )

    def values(self) -> dict[str, Any]:
        """Return the values that are set, by key."""
        values = {
            keys.OBJECT_SIZE: self.object_size,
            keys.STRIPE_UNIT: self.striping and self.striping.unit,
            keys.STRIPE_COUNT: self.striping and self.striping.count,
            keys.OBJECT_MAP: self.object_map,
            keys.FEATURES: self.image_features,
            keys.DATA_POOL: self.data_pool,
            **self.plain,
        }
        return {k: v for k, v in values.items() if v is not None}


def ours(items: Mapping[str, str]) -> dict[str, str]:
    """Return the items whose keys have our prefix."""
    return {k: v for k, v in items.items() if k.startswith(keys.PREFIX)}


def for_attachment(items: Mapping[str, str]) -> dict[str, str]:
    """Return the items that matter to an attachment: no fixed keys."""
    return {
        k: v
        for k, v in items.items()
        if not k.startswith(keys.PREFIX)
        or (k in registry.OPTIONS and not registry.is_fixed(k))
    }


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
    texts = dict(items)
    try:
        check_keys(texts, scope)
        options = VolumeOptions.of(
            {
                key: _value(option, texts)
                for key, option in registry.OPTIONS.items()
                if key in texts
            }
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
    reason, meant = phrases.Phrase('unknown key'), key_spelling.normal(name)
    if meant in registry.OPTIONS:
        reason = phrases.Phrase(
            'unknown key; the exact spelling is {key}', key=meant
        )
    # The key is untrusted input too, and its length is not limited.
    return errors.OptionError(
        errors.shown(name), value, reason, registry.names(scope)
    )


def check_keys(items: Mapping[str, object], scope: keys.Scope) -> None:
    """Check that keys exist, are spelled exactly and are allowed in a scope.

    :param items: keys with our prefix, in any spelling
    :raises OptionError: for the first key that fails the check
    """
    for name, value in items.items():
        option = registry.OPTIONS.get(name)
        if option is None:
            raise unknown_key(name, value, scope)
        if scope not in (*option.scopes, keys.Scope.BACKEND):
            raise errors.OptionError(
                name,
                value,
                _NOT_OF[scope],
                registry.names(scope),
            )


def _value(option: definitions.Option, texts: Mapping[str, str]) -> Any:
    if option.partner and option.partner not in texts:
        raise _alone(option.key, texts[option.key], option.partner)
    return option.parse(texts[option.key])


def _alone(key: str, value: object, missing: str) -> errors.OptionError:
    return errors.OptionError(
        key,
        value,
        phrases.Phrase('set without {key}', key=missing),
        phrases.Phrase('both or neither'),
        code=errors.Code.STRIPING_INCOMPLETE,
    )


def check_allowed(
    options: VolumeOptions, bounds: limits.Limits, origin: errors.Origin
) -> None:
    """Check the plain options against the lists of the back end.

    :raises OptionError: for a value that is not in the list
    """
    for key, value in options.plain.items():
        allowed = registry.OPTIONS[key].allowed_values(bounds)
        if allowed is not None and value not in allowed:
            raise errors.OptionError(
                key,
                definitions.as_text(value),
                phrases.Phrase('not allowed by this back end'),
                ', '.join(
                    choice
                    for choice in registry.OPTIONS[key].choices
                    if choice in map(definitions.as_text, allowed)
                )
                or phrases.Phrase('no value'),
                origin,
            )


def _contradicts(chosen: features.Features) -> phrases.Phrase:
    return phrases.Phrase(
        'contradicts rbd:features = {chosen}', chosen=features.joined(chosen)
    )


def check_contradictions(options: VolumeOptions) -> None:
    """Check that the values of one origin do not contradict each other.

    :raises OptionError: if ``rbd:object_map`` contradicts ``rbd:features``, or
        a maximum is less than the minimum
    """
    for option in registry.OPTIONS.values():
        low, high = (
            options.plain.get(option.rules.get(bound, ''))
            for bound in ('minimum', 'maximum')
        )
        if low and high and high < low:
            raise errors.OptionError(
                option.rules['maximum'],
                high,
                phrases.Phrase(
                    'less than {key} = {limit}',
                    key=option.rules['minimum'],
                    limit=low,
                ),
                phrases.Phrase('{limit} or more', limit=low),
            )
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
