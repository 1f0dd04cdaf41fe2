# SPDX-License-Identifier: Apache-2.0

"""The values of options: parsed once, resolved by precedence, made."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any
from typing import NamedTuple

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import phrases
from rbd_volume_options import registry

Kind = definitions.Kind
Origin = errors.Origin
# Values has a property layout.
_Layout = layout.ImageLayout

#: The parts of an image that are inherited as a unit, by the key of their
#: value, each with the keys that set it.
PARTS: dict[str, frozenset[str]] = {
    keys.OBJECT_SIZE: frozenset({keys.OBJECT_SIZE}),
    keys.STRIPING: frozenset({keys.STRIPE_UNIT, keys.STRIPE_COUNT}),
    keys.FEATURES: frozenset({keys.OBJECT_MAP, keys.FEATURES}),
}

#: Where the keys of a scope are set.
ORIGINS = {
    keys.Scope.VOLUME: Origin.VOLUME_METADATA,
    keys.Scope.TYPE: Origin.VOLUME_TYPE,
    keys.Scope.BACKEND: Origin.BACKEND,
}

# Number of parsed texts that are kept, which are those of types and requests.
_REMEMBERED = 256
_NOT_OF = {
    keys.Scope.VOLUME: phrases.Phrase('not a key of volume metadata'),
    keys.Scope.TYPE: phrases.Phrase('not a key of volume type extra specs'),
    keys.Scope.BACKEND: phrases.Phrase('not a key of back ends'),
}


class Choice(NamedTuple):
    """The value of a key, and where it was set."""

    value: Any
    origin: Origin


@dataclasses.dataclass(frozen=True, eq=False)
class Values(Mapping[str, Any]):
    """The values of options, by key.

    What is requested, what is in force and what an image has are values. The
    stripe unit and the stripe count are one value, that of
    :data:`.keys.STRIPING`, which is None for an image that is not striped.
    Values are equal whatever their origins are.

    :ivar by_key: the values that are set
    :ivar origins: where each value was set; None if that is not known. A part
        of an image without a value, such as one that the stock driver decides
        on, can have an origin too.
    :ivar multiattach: whether the volume type is a multi-attach type
    """

    by_key: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    origins: Mapping[str, Origin] | None = None
    multiattach: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_key)

    def __len__(self) -> int:
        return len(self.by_key)

    def __hash__(self) -> int:
        return hash(frozenset(self.by_key))

    def origin(self, key: str) -> Origin:
        """Return where a value was set; the cluster for unset ones."""
        return (self.origins or {}).get(key, Origin.CLUSTER)

    def choice(self, key: str) -> Choice | None:
        """Return the value of a key with its origin; None if it is unset.

        The stripe unit and the stripe count of an image that is not striped
        are choices with the value None.
        """
        name = key
        if key in (keys.STRIPE_UNIT, keys.STRIPE_COUNT):
            name = keys.STRIPING
        if name not in self.by_key:
            return None
        value = self.by_key[name]
        if value and key != name:
            value = value.unit if key == keys.STRIPE_UNIT else value.count
        return Choice(value, self.origin(name))

    def by_option(self) -> dict[str, Any]:
        """Return the values by the keys of options, with a stripe unit."""
        values = dict(self.by_key)
        if keys.STRIPING in values:
            striping = values.pop(keys.STRIPING)
            if striping is None and keys.OBJECT_SIZE in values:
                striping = layout.Striping(values[keys.OBJECT_SIZE], 1)
            if striping:
                values[keys.STRIPE_UNIT] = striping.unit
                values[keys.STRIPE_COUNT] = striping.count
        return values

    def of_kind(self, kind: Kind) -> dict[str, Any]:
        """Return the values of the options of a kind, by key."""
        return {
            key: self.by_key[key]
            for key in registry.keys_of_kind(kind)
            if key in self.by_key
        }

    def with_values(self, values: Mapping[str, Any]) -> 'Values':
        """Return these values with others in place of theirs."""
        return dataclasses.replace(self, by_key={**self.by_key, **values})

    def with_origins(self, origins: Mapping[str, Origin] | None) -> 'Values':
        """Return these values with other origins; None for unknown ones."""
        return dataclasses.replace(self, origins=origins)

    def without(self, names: Collection[str]) -> 'Values':
        """Return these values without those of some keys."""
        kept = {k: v for k, v in self.by_key.items() if k not in names}
        return dataclasses.replace(self, by_key=kept)

    @property
    def has_layout(self) -> bool:
        """Whether both parts of the layout are set."""
        return keys.OBJECT_SIZE in self and keys.STRIPING in self

    @property
    def layout(self) -> _Layout:
        """The layout of an image.

        :raises KeyError: if the object size is not set
        """
        return self.layout_over(_Layout(self[keys.OBJECT_SIZE]))

    @property
    def image_features(self) -> features.Features:
        """The features of an image.

        :raises KeyError: if they are not set
        """
        chosen: features.Features = self[keys.FEATURES]
        return chosen

    @property
    def data_pool(self) -> str | None:
        """The data pool of an image; None if it has none."""
        return self.get(keys.DATA_POOL)

    @property
    def configuration(self) -> dict[str, Any]:
        """The values of the options that configure an image, by key."""
        return self.of_kind(Kind.IMAGE_CONFIGURATION)

    @property
    def disk(self) -> dict[str, Any]:
        """The properties of the disk in the server, by key."""
        return self.of_kind(Kind.DISK)

    @property
    def layout_origin(self) -> Origin | None:
        """The origin to name in errors about the layout; None if unset."""
        return self._first_origin(keys.STRIPING, keys.OBJECT_SIZE)

    @property
    def features_origin(self) -> Origin | None:
        """The origin to name in errors about features; None if unset."""
        return self._first_origin(keys.OBJECT_MAP, keys.FEATURES)

    def _first_origin(self, *names: str) -> Origin | None:
        return next((self.origin(key) for key in names if key in self), None)

    def layout_over(self, base: _Layout) -> _Layout:
        """Return the requested layout; unset parts come from the base."""
        object_size = self.get(keys.OBJECT_SIZE, base.object_size)
        striping = self.get(keys.STRIPING, base.striping)
        if striping is None:
            return _Layout(object_size)
        return _Layout.from_numbers(object_size, striping.unit, striping.count)

    def features_over(self, base: features.Features) -> features.Features:
        """Return the requested features; unset ones come from the base."""
        wanted: features.Features = self.get(keys.FEATURES, base)
        if keys.OBJECT_MAP in self:
            wanted = features.with_object_map(wanted, self[keys.OBJECT_MAP])
        return wanted

    def has_object_map(self, base: features.Features) -> bool:
        """Return whether a new image has an object map; True if unknown.

        The stock driver disables that of a multi-attach type after it created
        the image.

        :param base: the features of an image without requested ones; empty if
            they are unknown, because each image has features
        """
        if self.multiattach:
            return False
        if keys.OBJECT_MAP in self:
            return bool(self[keys.OBJECT_MAP])
        wanted = self.features_over(base)
        return not wanted or features.OBJECT_MAP in wanted


def of_one_origin(origin: Origin, by_key: Mapping[str, Any]) -> Values:
    """Return values that were all set in one place."""
    return Values(by_key, dict.fromkeys(by_key, origin))


def image_values(
    image_layout: _Layout,
    image_features: features.Features,
    data_pool: str | None = None,
    other: Mapping[str, Any] | None = None,
    origins: Mapping[str, Origin] | None = None,
) -> Values:
    """Return the values of an existing or prospective image.

    :param other: its configuration and its disk, by key
    """
    values: dict[str, Any] = {
        keys.OBJECT_SIZE: image_layout.object_size,
        keys.STRIPING: image_layout.striping,
        keys.FEATURES: image_features,
        **(other or {}),
    }
    if data_pool:
        values[keys.DATA_POOL] = data_pool
    return Values(values, origins)


#: A placeholder for an unknown image. Rules that depend on the image refuse
#: nothing with it.
UNKNOWN = image_values(_Layout(layout.MAX_OBJECT_SIZE), frozenset())


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
    items: Mapping[str, str],
    scope: keys.Scope,
    origin: errors.Origin | None = None,
) -> Values:
    """Parse the keys of one origin; keys without our prefix are ignored.

    The same text is parsed once: a request reads it in several places, and
    the extra specs of a type hardly change.

    :param origin: None for that of the scope
    :raises OptionError: for an unknown key, a key that is not allowed in the
        scope, an invalid value, or values that contradict each other
    """
    origin = origin or ORIGINS[scope]
    return _parsed(tuple(ours(items).items()), scope, origin)


@functools.lru_cache(maxsize=_REMEMBERED)
def _parsed(
    items: tuple[tuple[str, str], ...],
    scope: keys.Scope,
    origin: errors.Origin,
) -> Values:
    texts = dict(items)
    try:
        check_keys(texts, scope)
        values = {
            key: _value(option, texts)
            for key, option in registry.OPTIONS.items()
            if key in texts
        }
        check_contradictions(values)
    except errors.OptionError as error:
        raise error.at(origin) from None
    if keys.STRIPE_UNIT in values:
        values[keys.STRIPING] = layout.Striping(
            values.pop(keys.STRIPE_UNIT), values.pop(keys.STRIPE_COUNT)
        )
    return of_one_origin(origin, values)


def unknown_key(
    name: str, value: object, scope: keys.Scope
) -> errors.OptionError:
    """Return the error for a key that has our prefix but does not exist.

    The error has the exact spelling if the key resembles an existing one.
    """
    reason, meant = phrases.Phrase('unknown key'), keys.normal_name(name)
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
        raise errors.OptionError(
            option.key,
            texts[option.key],
            phrases.Phrase('set without {key}', key=option.partner),
            phrases.Phrase('both or neither'),
        )
    return option.parse(texts[option.key])


def check_allowed(values: Values, bounds: operator_limits.Limits) -> None:
    """Check values against the lists of the back end.

    :raises OptionError: for a value that is not in the list
    """
    for option in registry.OPTIONS.values():
        allowed = option.allowed_values(bounds)
        if allowed is None or option.key not in values:
            continue
        value = values[option.key]
        if value not in allowed:
            raise errors.OptionError(
                option.key,
                definitions.as_text(value),
                phrases.Phrase('not allowed by this back end'),
                ', '.join(
                    choice
                    for choice in option.choices
                    if choice in map(definitions.as_text, allowed)
                )
                or phrases.Phrase('no value'),
                values.origin(option.key),
            )


def check_contradictions(values: Mapping[str, Any]) -> None:
    """Check that the values of one origin do not contradict each other.

    :raises OptionError: if ``rbd:object_map`` contradicts ``rbd:features``, or
        a maximum is less than the minimum
    """
    for option in registry.OPTIONS.values():
        low, high = (
            values.get(option.rules.get(bound, ''))
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
    chosen = values.get(keys.FEATURES)
    wanted = values.get(keys.OBJECT_MAP)
    if (
        chosen is None
        or wanted is None
        or wanted is (features.OBJECT_MAP in chosen)
    ):
        return
    raise errors.OptionError(
        keys.OBJECT_MAP,
        definitions.as_text(wanted),
        phrases.Phrase(
            'contradicts rbd:features = {chosen}',
            chosen=features.joined(chosen),
        ),
        phrases.Phrase('rbd:features with object-map, or only one of the two')
        if wanted
        else phrases.Phrase(
            'rbd:features without object-map, or only one of the two'
        ),
    )


def resolve(levels: Iterable[Values]) -> Values:
    """Return the values in force, those of the first origin for each key.

    A level that sets ``rbd:features`` also decides on the object map, so
    ``rbd:object_map`` of a level with lower precedence is ignored. The data of
    a source volume decides on the disk, and no other level can change that;
    a property that it does not have has the value None in its level.

    :param levels: the values of each origin, in any order
    :raises OptionError: if the metadata of a volume requests another disk than
        its source volume has
    """
    choices: dict[str, Choice] = {}
    disk: dict[str, Any] = {}
    properties = registry.keys_of_kind(Kind.DISK)
    for level in levels:
        for key, value in level.items():
            origin = level.origin(key)
            if origin is Origin.SOURCE_VOLUME and key in properties:
                disk[key] = value
            elif key not in choices or origin < choices[key].origin:
                choices[key] = Choice(value, origin)
    chosen, wanted = choices.get(keys.FEATURES), choices.get(keys.OBJECT_MAP)
    if chosen and wanted and wanted.origin > chosen.origin:
        del choices[keys.OBJECT_MAP]
    for key, value in disk.items():
        _check_same(key, choices.pop(key, None), value)
        if value is not None:
            choices[key] = Choice(value, Origin.SOURCE_VOLUME)
    return Values(
        {key: choice.value for key, choice in choices.items()},
        {key: choice.origin for key, choice in choices.items()},
    )


def _check_same(key: str, choice: Choice | None, value: Any) -> None:
    """Check that nobody requests another disk than the source volume has.

    :raises OptionError: if the metadata of the volume does
    """
    if (
        choice is not None
        and choice.origin is Origin.VOLUME_METADATA
        and choice.value != value
    ):
        raise errors.OptionError(
            key,
            choice.value,
            phrases.Phrase('differs from the source volume'),
            phrases.Phrase('the key unset')
            if value is None
            else definitions.as_text(value),
            choice.origin,
        )
