# SPDX-License-Identifier: Apache-2.0

"""The precedence of values, key by key."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any
from typing import Generic
from typing import TypeVar

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry

Origin = errors.Origin
T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)

#: The origins that are existing images.
_IMAGES = (Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE)

#: The origins where keys are set.
ASKED = frozenset({Origin.VOLUME_METADATA, Origin.VOLUME_TYPE})

#: The origins where keys, or the equivalent options of cinder.conf, are set.
GIVEN = ASKED | {Origin.BACKEND}


class Part(enum.Enum):
    """A part of an image that is inherited as a unit."""

    OBJECT_SIZE = 'object_size'
    STRIPING = 'striping'
    FEATURES = 'features'


#: The keys that set a part.
KEYS_OF_PART: dict[Part, frozenset[str]] = {
    Part.OBJECT_SIZE: frozenset({keys.OBJECT_SIZE}),
    Part.STRIPING: frozenset({keys.STRIPE_UNIT, keys.STRIPE_COUNT}),
    Part.FEATURES: frozenset({keys.OBJECT_MAP, keys.FEATURES}),
}


@dataclasses.dataclass(frozen=True)
class Level:
    """The values of one origin.

    :ivar origin: where the values were set
    :ivar options: the values
    :ivar answers_striping: whether unset striping means "not striped", as in
        an RBD image, instead of "not set here"; by default, this depends on
        the origin
    """

    origin: Origin
    options: options.VolumeOptions
    answers_striping: bool | None = None

    @property
    def has_striping(self) -> bool:
        """Whether the level sets striping, even if only to "not striped"."""
        if self.options.striping is not None:
            return True
        if self.answers_striping is None:
            return self.origin in _IMAGES
        return self.answers_striping


@dataclasses.dataclass(frozen=True)
class Choice(Generic[T_co]):
    """The effective value of a key, and its origin."""

    value: T_co
    origin: Origin


@dataclasses.dataclass(frozen=True)
class Resolved:
    """The effective value of each key; None for unset keys.

    ``striping`` is a choice with the value None if the first level that sets
    it is an existing image without striping.

    :ivar multiattach: whether the volume type is a multi-attach type
    """

    object_size: Choice[int] | None = None
    striping: Choice[layout.Striping | None] | None = None
    object_map: Choice[bool] | None = None
    image_features: Choice[features.Features] | None = None
    data_pool: Choice[str] | None = None
    plain: Mapping[str, Choice[Any]] = dataclasses.field(
        default_factory=dict, hash=False
    )
    multiattach: bool = False

    def choice(self, key: str) -> Choice[Any] | None:
        """Return the value of a key; None if it is unset.

        Striping that is set to "not striped" is a choice with the value None.
        """
        if key in (keys.STRIPE_UNIT, keys.STRIPE_COUNT):
            return self._striping_choice(key)
        choices: dict[str, Choice[Any] | None] = {
            keys.OBJECT_SIZE: self.object_size,
            keys.OBJECT_MAP: self.object_map,
            keys.FEATURES: self.image_features,
            keys.DATA_POOL: self.data_pool,
        }
        return choices.get(key, self.plain.get(key))

    def effective(self, key: str) -> Choice[Any] | None:
        """Return the value of a key, derived from the others if it is unset.

        Each of ``rbd:object_map`` and ``rbd:features`` changes the other.
        """
        choice = self.choice(key)
        if key == keys.FEATURES and choice:
            return Choice(self.features_over(choice.value), choice.origin)
        chosen = self.image_features
        if key == keys.OBJECT_MAP and chosen and not choice:
            has_map = features.OBJECT_MAP in chosen.value
            return Choice(has_map, chosen.origin)
        return choice

    def _striping_choice(self, key: str) -> Choice[int | None] | None:
        if self.striping is None:
            return None
        striping = self.striping.value
        if striping is None:
            return Choice(None, self.striping.origin)
        return Choice(
            striping.unit if key == keys.STRIPE_UNIT else striping.count,
            self.striping.origin,
        )

    @property
    def layout_choice(self) -> Choice[object] | None:
        """The choice to name in errors about the layout."""
        return self.striping or self.object_size

    @property
    def features_choice(self) -> Choice[object] | None:
        """The choice to name in errors about features."""
        return self.object_map or self.image_features

    @property
    def origins(self) -> dict[Part, Origin]:
        """Where each part was set; the cluster for unset parts."""
        choices = {
            Part.OBJECT_SIZE: self.object_size,
            Part.STRIPING: self.striping,
            Part.FEATURES: self.features_choice,
        }
        return {
            part: choice.origin if choice else Origin.CLUSTER
            for part, choice in choices.items()
        }

    @property
    def image_layout(self) -> layout.ImageLayout | None:
        """The layout, if both of its parts are known."""
        if self.object_size is None or self.striping is None:
            return None
        return self.layout_over(layout.ImageLayout(self.object_size.value))

    def layout_over(self, base: layout.ImageLayout) -> layout.ImageLayout:
        """Return the requested layout; unset parts come from the base."""
        object_size = (
            self.object_size.value if self.object_size else base.object_size
        )
        striping = self.striping.value if self.striping else base.striping
        if striping is None:
            return layout.ImageLayout(object_size)
        return layout.ImageLayout.of(
            object_size, striping.unit, striping.count
        )

    def features_over(self, base: features.Features) -> features.Features:
        """Return the requested features; unset ones come from the base."""
        wanted = self.image_features.value if self.image_features else base
        if self.object_map:
            wanted = features.with_object_map(wanted, self.object_map.value)
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
        if self.object_map:
            return self.object_map.value
        wanted = self.features_over(base)
        return not wanted or features.OBJECT_MAP in wanted


def resolve(levels: Iterable[Level]) -> Resolved:
    """Return the effective values of several levels, key by key.

    The stripe unit and the stripe count are resolved together. A level that
    sets ``rbd:features`` also decides on the object map, so ``rbd:object_map``
    of a level with lower precedence is ignored. The data of a source volume
    decides on the disk, and no other level can change that.

    :raises OptionError: if the metadata of a volume requests another disk than
        its source volume has
    """
    ordered = sorted(levels, key=lambda level: level.origin)
    chosen = _first(ordered, lambda o: o.image_features)
    object_map = _first(ordered, lambda o: o.object_map)
    if chosen and object_map and object_map.origin > chosen.origin:
        object_map = None
    return Resolved(
        object_size=_first(ordered, lambda o: o.object_size),
        striping=_first_striping(ordered),
        object_map=object_map,
        image_features=chosen,
        data_pool=_first(ordered, lambda o: o.data_pool),
        plain=_plain(ordered),
    )


def _plain(levels: list[Level]) -> dict[str, Choice[Any]]:
    plain = {
        key: Choice(value, level.origin)
        for level in reversed(levels)
        for key, value in level.options.plain.items()
    }
    for level in levels:
        if level.origin is Origin.SOURCE_VOLUME:
            for option in registry.of_kind(definitions.Kind.DISK):
                value = level.options.plain.get(option.key)
                _check_same(option.key, plain.pop(option.key, None), value)
                if value is not None:
                    plain[option.key] = Choice(value, level.origin)
    return plain


def _check_same(key: str, choice: Choice[Any] | None, value: Any) -> None:
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


def _first(
    levels: list[Level],
    get: Callable[[options.VolumeOptions], T | None],
) -> Choice[T] | None:
    for level in levels:
        value = get(level.options)
        if value is not None:
            return Choice(value, level.origin)
    return None


def _first_striping(
    levels: list[Level],
) -> Choice[layout.Striping | None] | None:
    """Return the first striping, like :func:`_first`.

    A level that is an image (a source volume, a Glance image) always sets
    striping, even if the image is not striped. Other levels set it only if
    they contain it.
    """
    for level in levels:
        if level.has_striping:
            return Choice(level.options.striping, level.origin)
    return None
