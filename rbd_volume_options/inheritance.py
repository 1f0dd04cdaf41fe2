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

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import registry

Origin = errors.Origin

_LAYOUT = (keys.OBJECT_SIZE, keys.STRIPING)


def level_of(origin: Origin, state: options.Values) -> options.Values:
    """Return the values that an image passes on, as a level of precedence.

    The level has no data pool. The data pool always comes from the volume
    type or the back end of the new volume and is never inherited.
    """
    values: dict[str, Any] = {}
    if origin is Origin.SOURCE_VOLUME:
        values = _disk({})
    values |= {
        key: value
        for key, value in {**state.configuration, **state.disk}.items()
        if registry.OPTIONS[key].inherited
    }
    values[keys.OBJECT_SIZE] = state.layout.object_size
    values[keys.STRIPING] = state.layout.striping
    values[keys.FEATURES] = state.image_features & features.CHOOSABLE
    return options.of_one_origin(origin, values)


def _disk(disk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the disk of a source volume, with None for what it has not."""
    kind = definitions.Kind.DISK
    return {o.key: disk.get(o.key) for o in registry.of_kind(kind)}


@dataclasses.dataclass(frozen=True)
class Source:
    """The image that a volume is created from.

    :ivar origin: of the values that are inherited
    :ivar level: the values that a volume may inherit
    :ivar origins: where each part of it was set when the image was created;
        a missing part was not set anywhere
    """

    origin: Origin
    level: options.Values
    origins: Mapping[str, Origin] = dataclasses.field(default_factory=dict)

    def origin_of(self, part: str) -> Origin:
        """Return where a part was set."""
        return self.origins.get(part, Origin.CLUSTER)


def volume_source(
    state: options.Values, origins: Mapping[str, Origin]
) -> Source:
    """Return a volume as a source.

    :param origins: where each part of its image was set
    """
    origin = Origin.SOURCE_VOLUME
    return Source(origin, level_of(origin, state), origins)


def unknown_source(disk: Mapping[str, Any]) -> Source:
    """Return a source volume of which only the disk is known.

    :param disk: the recorded properties of the disk, by key
    """
    origin = Origin.SOURCE_VOLUME
    return Source(origin, options.of_one_origin(origin, _disk(disk)))


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
    resolve: Callable[..., options.Values],
    bounds: Bounds,
    own: Callable[[], options.Values],
) -> list[options.Values]:
    """Return the levels that a source adds to those of a new volume.

    :param resolve: resolves the options of the volume together with the levels
        that are passed to it
    :param own: returns the image that the stock driver would create for a
        new volume. It is called only if a part may not be inherited.
    """
    chosen = [source.level]
    dropped: frozenset[str] = frozenset()
    # The features first: the limit of a layout depends on the object map.
    for group, may in (
        ((keys.FEATURES,), _may_inherit_features),
        (_LAYOUT, _may_inherit_layout),
    ):
        if not may(source, resolve(*chosen), resolve, bounds, own):
            dropped = dropped.union(group)
            chosen = [
                source.level.without(dropped),
                level_of(Origin.CLUSTER, own()).without(
                    options.PARTS.keys() - dropped
                ),
            ]
    return chosen


def origins(
    how: options.Values, source: Source | None
) -> Mapping[str, Origin] | None:
    """Return where the parts of a new image were set.

    An inherited part has the origin that it had in the source image.
    """
    if how.origins is None or source is None:
        return how.origins
    return {
        part: source.origin_of(part) if origin is source.origin else origin
        for part, origin in how.origins.items()
    }


def _may_inherit_layout(
    source: Source,
    inherited: options.Values,
    resolve: Callable[..., options.Values],
    bounds: Bounds,
    own: Callable[[], options.Values],
) -> bool:
    if not _fits(source, inherited):
        return False
    parts = [
        part
        for part in _LAYOUT
        if inherited.origin(part) is source.origin
        and source.origin_of(part) is not Origin.CLUSTER
    ]
    if not parts:
        return True
    if not _within_limits(inherited, parts, bounds, own):
        return False
    missing = [
        part
        for part in parts
        if source.origin_of(part) in options.ASKED
        and not options.PARTS[part] <= bounds.settable
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
        if part is keys.OBJECT_SIZE
        else has.striping == would_have.striping
        for part in missing
    )


def _fits(source: Source, inherited: options.Values) -> bool:
    """Return whether inherited values are consistent with the volume type.

    If a key in the metadata of the volume is not consistent with the source,
    that is an error instead, which the creator of the volume can correct.
    """
    origins = {inherited.origin(part) for part in _LAYOUT}
    if (
        not inherited.has_layout
        or source.origin not in origins
        or Origin.VOLUME_METADATA in origins
    ):
        return True
    try:
        layout.check_unit(inherited.layout)
    except errors.OptionError:
        return False
    return True


def _within_limits(
    inherited: options.Values,
    parts: list[str],
    bounds: Bounds,
    own: Callable[[], options.Values],
) -> bool:
    origin = Origin.SOURCE_VOLUME
    if not inherited.has_layout:
        return True
    layout = inherited.layout
    try:
        if keys.OBJECT_SIZE in parts:
            limits.check_object_size(layout.object_size, bounds.limits, origin)
        if keys.STRIPING in parts and inherited[keys.STRIPING]:
            limits.check_stripe_count(
                inherited[keys.STRIPING], bounds.limits, origin
            )
            limits.check_whole_stripes(
                layout, bounds.size, bounds.limits, origin
            )
        limits.check_object_count(
            layout,
            bounds.size,
            bounds.limits,
            origin,
            inherited.has_object_map(
                frozenset()
                if inherited.features_origin
                else own().image_features
            ),
        )
    except errors.OptionError:
        return False
    return True


def _may_inherit_features(
    source: Source,
    inherited: options.Values,
    resolve: Callable[..., options.Values],
    bounds: Bounds,
    own: Callable[[], options.Values],
) -> bool:
    choice = inherited.choice(keys.FEATURES)
    if (
        choice is None
        or choice.origin is not source.origin
        or source.origin_of(keys.FEATURES) not in options.ASKED
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
