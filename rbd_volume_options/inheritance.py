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

"""What a volume may inherit from the image that it is made from.

A value that is inherited is held to the limits of what is being made: the
keys that its creator may set, and the limits of its back end. What may not
be inherited gives way to what a new volume of the type would have. This is
not an error, since nobody requested the value for this volume.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence

Origin = errors.Origin
Part = precedence.Part

_LAYOUT = (Part.OBJECT_SIZE, Part.STRIPING)


@dataclasses.dataclass(frozen=True)
class Source:
    """The image that a volume is made from.

    :ivar level: what the image has
    :ivar origins: where each part of it was given when it was made; a part
        that is missing was given by nobody
    """

    level: precedence.Level
    origins: Mapping[Part, Origin] = dataclasses.field(default_factory=dict)

    def origin_of(self, part: Part) -> Origin:
        """Return where a part was given."""
        return self.origins.get(part, Origin.CLUSTER)


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What a new volume is held to.

    :ivar settable: the keys that its creator may set on it
    :ivar limits: those of the back end
    :ivar size: bytes
    """

    settable: frozenset[str]
    limits: limits.Limits
    size: int


def levels(
    source: Source,
    given: Callable[..., precedence.Resolved],
    bounds: Bounds,
    own: Callable[[], plan.ImageState],
) -> list[precedence.Level]:
    """Return the levels that a source adds to those of a new volume.

    :param given: resolves what is given for the volume, with further levels
    :param own: returns the image that the stock driver would make of a new
        volume. It is called only where something may not be inherited.
    """
    inherited = given(source.level)
    dropped = [
        group
        for group, may in (
            (_LAYOUT, _may_inherit_layout),
            ((Part.FEATURES,), _may_inherit_features),
        )
        if not may(source, inherited, given, bounds, own)
    ]
    if not dropped:
        return [source.level]
    parts = frozenset(part for group in dropped for part in group)
    stock = plan.level_of(Origin.CLUSTER, own())
    return [
        _without(source.level, parts),
        _without(stock, frozenset(Part) - parts),
    ]


def origins(
    how: plan.ImagePlan, source: Source | None
) -> Mapping[Part, Origin] | None:
    """Return where the parts of a new image were given, once and for all.

    A part that is inherited was given where that of its source was.
    """
    if how.origins is None or source is None:
        return how.origins
    return {
        part: (
            source.origin_of(part) if origin is source.level.origin else origin
        )
        for part, origin in how.origins.items()
    }


def _without(
    level: precedence.Level, parts: frozenset[Part]
) -> precedence.Level:
    """Return a level that does not answer for some parts."""
    there = level.options
    return precedence.Level(
        level.origin,
        options.VolumeOptions(
            object_size=(
                None if Part.OBJECT_SIZE in parts else there.object_size
            ),
            striping=None if Part.STRIPING in parts else there.striping,
            image_features=(
                None if Part.FEATURES in parts else there.image_features
            ),
        ),
        answers_striping=level.has_striping and Part.STRIPING not in parts,
    )


def _may_inherit_layout(
    source: Source,
    inherited: precedence.Resolved,
    given: Callable[..., precedence.Resolved],
    bounds: Bounds,
    own: Callable[[], plan.ImageState],
) -> bool:
    if not _fits(source, inherited):
        return False
    parts = [
        part
        for part in _LAYOUT
        if inherited.origins[part] is source.level.origin
        and source.origin_of(part) is not Origin.CLUSTER
    ]
    if not parts:
        return True
    if not _within_limits(inherited, parts, bounds):
        return False
    missing = [
        part
        for part in parts
        if source.origin_of(part) in precedence.ASKED
        and not precedence.KEYS_OF_PART[part] <= bounds.settable
    ]
    if not missing:
        return True
    stock = own()
    would_have = given(plan.level_of(Origin.CLUSTER, stock)).layout_over(
        stock.layout
    )
    has = inherited.layout_over(stock.layout)
    return all(
        has.object_size == would_have.object_size
        if part is Part.OBJECT_SIZE
        else has.striping == would_have.striping
        for part in missing
    )


def _fits(source: Source, inherited: precedence.Resolved) -> bool:
    """Return whether what is inherited suits what the type gives.

    A key in the volume's own metadata that does not suit the source is an
    error instead: its creator can correct it.
    """
    found = inherited.image_layout
    given = {inherited.origins[part] for part in _LAYOUT}
    if (
        found is None
        or source.level.origin not in given
        or Origin.VOLUME_METADATA in given
    ):
        return True
    try:
        layout.check_unit(found)
    except errors.OptionError:
        return False
    return True


def _within_limits(
    inherited: precedence.Resolved, parts: list[Part], bounds: Bounds
) -> bool:
    origin = Origin.SOURCE_VOLUME
    layout, striping = inherited.image_layout, inherited.striping
    if layout is None:
        return True
    try:
        if Part.OBJECT_SIZE in parts:
            limits.check_object_size(layout.object_size, bounds.limits, origin)
        if Part.STRIPING in parts and striping and striping.value:
            limits.check_stripe_count(striping.value, bounds.limits, origin)
            limits.check_whole_stripes(
                layout, bounds.size, bounds.limits, origin
            )
        limits.check_object_count(layout, bounds.size, bounds.limits, origin)
    except errors.OptionError:
        return False
    return True


def _may_inherit_features(
    source: Source,
    inherited: precedence.Resolved,
    given: Callable[..., precedence.Resolved],
    bounds: Bounds,
    own: Callable[[], plan.ImageState],
) -> bool:
    choice = inherited.image_features
    if (
        choice is None
        or choice.origin is not source.level.origin
        or source.origin_of(Part.FEATURES) not in precedence.ASKED
        or keys.FEATURES in bounds.settable
    ):
        return True
    stock = own()
    would_have = given(plan.level_of(Origin.CLUSTER, stock)).features_over(
        stock.image_features
    )
    has = inherited.features_over(choice.value)
    reachable = {would_have}
    if keys.OBJECT_MAP in bounds.settable:
        reachable |= {
            features.with_object_map(would_have, wanted)
            for wanted in (False, True)
        }
    return has in reachable
