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

"""Which value wins, key by key."""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import enum
from typing import Generic
from typing import TypeVar

from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

Origin = errors.Origin
T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)

#: Who speaks for a volume itself, as against what it is made from or on.
_IMAGES = (Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE)

#: Where keys are written.
ASKED = frozenset({Origin.VOLUME_METADATA, Origin.VOLUME_TYPE})

#: Where keys, or the options of cinder.conf that stand for them, are written.
GIVEN = ASKED | {Origin.BACKEND}


class Part(enum.Enum):
    """A part of an image that is inherited, or not, as one."""

    OBJECT_SIZE = 'object_size'
    STRIPING = 'striping'
    FEATURES = 'features'


#: The keys that give a part.
KEYS_OF_PART: dict[Part, frozenset[str]] = {
    Part.OBJECT_SIZE: frozenset({keys.OBJECT_SIZE}),
    Part.STRIPING: frozenset({keys.STRIPE_UNIT, keys.STRIPE_COUNT}),
    Part.FEATURES: frozenset({keys.OBJECT_MAP, keys.FEATURES}),
}


@dataclasses.dataclass(frozen=True)
class Level:
    """What one place says, and which place it is.

    :ivar answers_striping: whether no striping in its options means that
        there is none, as in an RBD image; by default what the origin implies
    """

    origin: Origin
    options: options.VolumeOptions
    answers_striping: bool | None = None

    @property
    def has_striping(self) -> bool:
        """Whether the level answers for striping, if only with "none"."""
        if self.options.striping is not None:
            return True
        if self.answers_striping is None:
            return self.origin in _IMAGES
        return self.answers_striping


@dataclasses.dataclass(frozen=True)
class Choice(Generic[T_co]):
    """A value that won, and where it came from."""

    value: T_co
    origin: Origin


@dataclasses.dataclass(frozen=True)
class Resolved:
    """The value that won, for each key; None where nobody said anything.

    ``striping`` is a choice of None where an existing image, which has no
    striping, is the first that speaks of it.
    """

    object_size: Choice[int] | None = None
    striping: Choice[layout.Striping | None] | None = None
    object_map: Choice[bool] | None = None
    image_features: Choice[features.Features] | None = None
    cache_mode: Choice[cache_modes.CacheMode] | None = None
    data_pool: Choice[str] | None = None

    @property
    def layout_choice(self) -> Choice[object] | None:
        """The choice that a complaint about the layout should name."""
        return self.striping or self.object_size

    @property
    def features_choice(self) -> Choice[object] | None:
        """The choice that a complaint about features should name."""
        return self.object_map or self.image_features

    @property
    def origins(self) -> dict[Part, Origin]:
        """Where each part comes from; the cluster where nobody gave it."""
        found = {
            Part.OBJECT_SIZE: self.object_size,
            Part.STRIPING: self.striping,
            Part.FEATURES: self.features_choice,
        }
        return {
            part: choice.origin if choice else Origin.CLUSTER
            for part, choice in found.items()
        }

    @property
    def image_layout(self) -> layout.ImageLayout | None:
        """The layout, where both of its parts are known."""
        if self.object_size is None or self.striping is None:
            return None
        return self.layout_over(layout.ImageLayout(self.object_size.value))

    def layout_over(self, base: layout.ImageLayout) -> layout.ImageLayout:
        """Return the layout asked for, with what nobody said from a base."""
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
        """Return the features asked for, with the rest from a base."""
        wanted = self.image_features.value if self.image_features else base
        if self.object_map:
            wanted = features.with_object_map(wanted, self.object_map.value)
        return wanted


def resolve(levels: Iterable[Level]) -> Resolved:
    """Return the values that win among levels, key by key.

    ``stripe_unit`` and ``stripe_count`` are one key here. A place that lists
    all features has said everything about the object map as well, so that
    ``rbd:object_map`` of a place below it counts no more.
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
        cache_mode=_first(ordered, lambda o: o.cache_mode),
        data_pool=_first(ordered, lambda o: o.data_pool),
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
    """As :func:`_first`; an image without striping says so by its layout.

    A level that is an image (a source volume, a Glance image) always answers
    for striping, even where it has none. What people write answers only
    where they wrote it.
    """
    for level in levels:
        if level.has_striping:
            return Choice(level.options.striping, level.origin)
    return None
