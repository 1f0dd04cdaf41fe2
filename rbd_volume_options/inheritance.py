# SPDX-License-Identifier: Apache-2.0

"""The values that a volume may inherit from its source image.

An inherited value must be within the limits of the new volume: the keys that
its creator may set, and the limits of its back end. A value that may not be
inherited is replaced by the value that a new volume of the type would have.
This is not an error, since nobody requested the value for this volume.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import registry
from rbd_volume_options import whole_stripes

Origin = errors.Origin
Part = precedence.Part

_LAYOUT = (Part.OBJECT_SIZE, Part.STRIPING)


def level_of(origin: Origin, state: plan.ImageState) -> precedence.Level:
    """Return the values of an existing image, as a level.

    The level has no data pool. The data pool always comes from the volume
    type or the back end of the new volume and is never inherited.
    """
    return precedence.Level(
        origin,
        options.VolumeOptions(
            object_size=state.layout.object_size,
            striping=state.layout.striping,
            image_features=state.image_features & features.CHOOSABLE,
            plain={
                key: value
                for key, value in {**state.configuration, **state.disk}.items()
                if registry.OPTIONS[key].inherited
            },
        ),
        answers_striping=origin is Origin.CLUSTER or None,
    )


@dataclasses.dataclass(frozen=True)
class Source:
    """The image that a volume is created from.

    :ivar level: the options of the image
    :ivar origins: where each part of it was set when the image was created;
        a missing part was not set anywhere
    """

    level: precedence.Level
    origins: Mapping[Part, Origin] = dataclasses.field(default_factory=dict)

    def origin_of(self, part: Part) -> Origin:
        """Return where a part was set."""
        return self.origins.get(part, Origin.CLUSTER)


def unknown_source(disk: Mapping[str, Any]) -> Source:
    """Return a source volume of which only the disk is known.

    :param disk: the recorded properties of the disk, by key
    """
    return Source(
        precedence.Level(
            Origin.SOURCE_VOLUME,
            options.VolumeOptions(plain=disk),
            answers_striping=False,
        )
    )


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The bounds of the values that a new volume may inherit.

    :ivar settable: the keys that its creator may set on it
    :ivar limits: the limits of the back end
    :ivar size: the size of the volume, in bytes
    """

    settable: frozenset[str]
    limits: limits.Limits
    size: int


def levels(
    source: Source,
    resolve: Callable[..., precedence.Resolved],
    bounds: Bounds,
    own: Callable[[], plan.ImageState],
) -> list[precedence.Level]:
    """Return the levels that a source adds to those of a new volume.

    :param resolve: resolves the options of the volume together with the levels
        that are passed to it
    :param own: returns the image that the stock driver would create for a
        new volume. It is called only if a part may not be inherited.
    """
    chosen = [source.level]
    dropped: frozenset[Part] = frozenset()
    # The features first: the limit of a layout depends on the object map.
    for group, may in (
        ((Part.FEATURES,), _may_inherit_features),
        (_LAYOUT, _may_inherit_layout),
    ):
        if not may(source, resolve(*chosen), resolve, bounds, own):
            dropped = dropped.union(group)
            chosen = [
                _without(source.level, dropped),
                _without(
                    level_of(Origin.CLUSTER, own()), frozenset(Part) - dropped
                ),
            ]
    return chosen


def origins(
    how: plan.ImagePlan, source: Source | None
) -> Mapping[Part, Origin] | None:
    """Return where the parts of a new image were set.

    An inherited part has the origin that it had in the source image.
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
    """Return a level without the values of some parts."""
    values = level.options
    return precedence.Level(
        level.origin,
        options.VolumeOptions(
            object_size=(
                None if Part.OBJECT_SIZE in parts else values.object_size
            ),
            striping=None if Part.STRIPING in parts else values.striping,
            image_features=(
                None if Part.FEATURES in parts else values.image_features
            ),
            plain=values.plain,
        ),
        answers_striping=level.has_striping and Part.STRIPING not in parts,
    )


def _may_inherit_layout(
    source: Source,
    inherited: precedence.Resolved,
    resolve: Callable[..., precedence.Resolved],
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
    if not _within_limits(inherited, parts, bounds, own):
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
    would_have = resolve(level_of(Origin.CLUSTER, stock)).layout_over(
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
    """Return whether inherited values are consistent with the volume type.

    If a key in the metadata of the volume is not consistent with the source,
    that is an error instead, which the creator of the volume can correct.
    """
    inherited_layout = inherited.image_layout
    origins = {inherited.origins[part] for part in _LAYOUT}
    if (
        inherited_layout is None
        or source.level.origin not in origins
        or Origin.VOLUME_METADATA in origins
    ):
        return True
    try:
        layout.check_unit(inherited_layout)
    except errors.OptionError:
        return False
    return True


def _within_limits(
    inherited: precedence.Resolved,
    parts: list[Part],
    bounds: Bounds,
    own: Callable[[], plan.ImageState],
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
            whole_stripes.check_size(
                layout, bounds.size, bounds.limits, origin
            )
        limits.check_object_count(
            layout,
            bounds.size,
            bounds.limits,
            origin,
            inherited.has_object_map(
                frozenset()
                if inherited.features_choice
                else own().image_features
            ),
        )
    except errors.OptionError:
        return False
    return True


def _may_inherit_features(
    source: Source,
    inherited: precedence.Resolved,
    resolve: Callable[..., precedence.Resolved],
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
    would_have = resolve(level_of(Origin.CLUSTER, stock)).features_over(
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
