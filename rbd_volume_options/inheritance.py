# SPDX-License-Identifier: Apache-2.0

"""The plans of images that are made from another one.

The rules for requests do not apply to copies that Cinder makes for itself and
to re-images: a refusal would fail a backup or download that is allowed.

An inherited value must be within the limits of the new volume: the keys that
its creator may set, and the limits of its back end. A value that may not be
inherited is replaced by the value that a new volume of the type would have.
This is not an error, since nobody requested the value for this volume.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import volume_items
from rbd_volume_options.families import data_pool as data_pools

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
    keys_of_disk = registry.keys_of_kind(definitions.Kind.DISK)
    return {key: disk.get(key) for key in keys_of_disk}


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
class NewImage:
    """The image that a new volume is to get.

    :ivar requested: what the volume, its type and its back end say
    :ivar settable: the keys that the creator of the volume may set on it
    :ivar size: the size of the volume, in bytes
    :ivar stock: returns the image that the stock driver would create. It is
        called only if a part may not be inherited.
    :ivar disk: the disk for which the data were written, by key; None for the
        requested one
    """

    requested: request.Request
    settable: frozenset[str]
    size: int
    stock: Callable[[], options.Values]
    disk: Mapping[str, Any] | None = None

    def resolve(
        self, source: Source | None = None, backend_too: bool = True
    ) -> options.Values:
        """Return the values in force, with those inherited from a source.

        :param backend_too: as for :meth:`.request.Request.resolve`
        :raises OptionError: if the values contradict the type or the source
        """
        levels = self._levels(source) if source else []
        return self.requested.resolve(*levels, backend_too=backend_too)

    def plan(
        self, base: options.Values, source: Source | None = None
    ) -> options.Values:
        """Return the plan of the image; an inherited part keeps its origin.

        :raises OptionError: for options that are not possible
        """
        how = plan.plan_image(
            self.resolve(source),
            base,
            self.size,
            self.requested.settings.limits,
        )
        if self.disk is not None:
            how = how.without(how.disk.keys()).with_values(self.disk)
        if source is None or how.origins is None:
            return how
        return how.with_origins(
            {
                part: source.origin_of(part)
                if origin is source.origin
                else origin
                for part, origin in how.origins.items()
            }
        )

    def _levels(self, source: Source) -> list[options.Values]:
        """Return the levels that a source adds to those of the request."""
        chosen = [source.level]
        dropped: frozenset[str] = frozenset()
        # The features first: the limit of a layout depends on the object map.
        for group, may_inherit in (
            ((keys.FEATURES,), self._may_inherit_features),
            (_LAYOUT, self._may_inherit_layout),
        ):
            if not may_inherit(source, self.requested.resolve(*chosen)):
                dropped = dropped.union(group)
                chosen = [
                    source.level.without(dropped),
                    level_of(Origin.CLUSTER, self.stock()).without(
                        options.PARTS.keys() - dropped
                    ),
                ]
        return chosen

    def _without_source(self, stock: options.Values) -> options.Values:
        """Return what a new volume of the type would have."""
        return self.requested.resolve(level_of(Origin.CLUSTER, stock))

    def _may_inherit_layout(
        self, source: Source, inherited: options.Values
    ) -> bool:
        origins = {part: inherited.origin(part) for part in _LAYOUT}
        taken = [
            part for part, origin in origins.items() if origin is source.origin
        ]
        parts = [
            part
            for part in taken
            if source.origin_of(part) is not Origin.CLUSTER
        ]
        try:
            # If the metadata of the volume does not fit the source, that is an
            # error instead, which the creator of the volume can correct.
            if taken and Origin.VOLUME_METADATA not in origins.values():
                layout.check_unit(inherited.layout)
            if parts:
                self._check_limits(inherited, parts)
        except errors.OptionError:
            return False
        missing = [
            part
            for part in parts
            if source.origin_of(part) in errors.ASKED
            and not options.PARTS[part] <= self.settable
        ]
        if not missing:
            return True
        stock = self.stock()
        would_have = self._without_source(stock).layout_over(stock.layout)
        has = inherited.layout_over(stock.layout)
        return all(
            has.object_size == would_have.object_size
            if part == keys.OBJECT_SIZE
            else has.striping == would_have.striping
            for part in missing
        )

    def _check_limits(
        self, inherited: options.Values, parts: list[str]
    ) -> None:
        """Check inherited parts of a layout as if they were requested.

        :raises OptionError: for what the creator could not have requested
        """
        base: features.Features = frozenset()
        if not inherited.features_origin:
            base = self.stock().image_features
        origins = dict.fromkeys(parts, Origin.VOLUME_METADATA)
        has_map = inherited.has_object_map(base)
        image_layout = inherited.layout
        limits = self.requested.settings.limits
        operator_limits.check_layout(image_layout, origins, limits)
        operator_limits.check_size(
            image_layout, origins, limits, self.size, has_map
        )

    def _may_inherit_features(
        self, source: Source, inherited: options.Values
    ) -> bool:
        choice = inherited.choice(keys.FEATURES)
        if (
            choice is None
            or choice.origin is not source.origin
            or source.origin_of(keys.FEATURES) not in errors.ASKED
            or keys.FEATURES in self.settable
        ):
            return True
        stock = self.stock()
        would_have = self._without_source(stock).features_over(
            stock.image_features
        )
        reachable = {would_have}
        if keys.OBJECT_MAP in self.settable:
            reachable |= {
                features.with_object_map(would_have, wanted)
                for wanted in (False, True)
            }
        return inherited.features_over(choice.value) in reachable


def glance_source(state: options.Values, chunk_size: int) -> Source:
    """Return the RBD image of a Glance image as a source of a layout only."""
    object_size, striping = state.layout.object_size, state.layout.striping
    if striping is None:
        object_size = max(object_size, chunk_size)
    origin = errors.Origin.GLANCE_IMAGE
    level = options.of_one_origin(
        origin, {keys.OBJECT_SIZE: object_size, keys.STRIPING: striping}
    )
    return Source(origin, level, level.origins or {})


def own_features(
    source: image_record.Volume, state: options.Values
) -> features.Features:
    """Return a volume's features without the changes by its type."""
    own = state.image_features
    saved = _loads(source.provider_location).get('saved_features')
    if isinstance(saved, int):
        own |= features.from_mask(saved) & features.SINGLE_CLIENT
    before = _loads(source.replication_driver_data)
    if before.get('had_journaling') is False:
        own -= {features.JOURNALING}
    if before.get('had_exclusive_lock') is False:
        own -= {features.EXCLUSIVE_LOCK}
    return own


def _loads(text: str | None) -> dict[str, Any]:
    try:
        data = json.loads(text or '{}')
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def plan_copy(
    specs: Mapping[str, str],
    source: image_record.Volume,
    settings: backend_settings.BackendSettings,
    base: options.Values,
    parent: options.Values | None,
) -> options.Values:
    """Plan a copy with the layout and the features of its source.

    It has the type of the source and no metadata, so planned as a request, it
    would lose the keys of the source.

    :param specs: the extra specs of the type
    """
    state = parent or base
    pool = specs.get(keys.DATA_POOL)
    return options.image_values(
        state.layout,
        own_features(source, state),
        data_pools.parse_pool(pool) if pool else settings.options.data_pool,
    )


def plan_remade(
    volume: image_record.Volume, state: options.Values
) -> options.Values:
    """Plan an image that replaces a volume's image, with the same layout."""
    return options.image_values(
        state.layout,
        own_features(volume, state),
        state.data_pool,
        state.configuration,
    )


@dataclasses.dataclass(frozen=True)
class Arrival:
    """The target of a migration.

    Its metadata is a copy of the source's metadata and becomes the metadata of
    the source when the migration is complete.

    :ivar acceptance: the keys that are accepted here
    :ivar checked: those of them that were accepted on the source. A migration
        does not accept values that were set without a check.
    :ivar origins: where each part of the source's image was set
    :ivar state: the image to create, unchanged, if an operator migrates the
        volume; None to create it as its keys and its type request
    :ivar disk: the properties of the source's disk, on which its data depends
    """

    acceptance: accepted_keys.Acceptance
    checked: Mapping[str, str]
    state: options.Values | None
    origins: Mapping[str, errors.Origin]
    disk: Mapping[str, Any]

    def plan(self, data_pool: str | None) -> options.Values | None:
        """Plan an unchanged image; None if its keys and its type decide."""
        if self.state is None:
            return None
        return options.image_values(
            self.state.layout,
            self.state.image_features,
            data_pool,
            {**self.state.configuration, **self.disk},
            self.origins,
        )


def arrival_of(
    metadata: Mapping[str, str],
    specs: Mapping[str, str],
    size: int,
    settings: backend_settings.BackendSettings,
    source: image_record.Volume,
    as_is: bool,
) -> Arrival:
    """Return the target of a migration.

    :param metadata: of the target, like the extra specs of its type
    :param size: of the volume, in GiB
    :param as_is: whether an operator migrates the volume unchanged
    :raises OptionError: for a type whose options are not possible here
    """
    accepted = accepted_keys.accepted_by_type(
        metadata, specs, settings, size, as_is
    )
    recorded = image_record.items(source)
    values = volume_items.values_accepted(recorded)
    state = image_record.state_here(source) if as_is else None
    if state is not None:
        # The source may be in another cluster.
        own = own_features(source, state) & features.CHOOSABLE
        state = state.with_values({keys.FEATURES: own})
    return Arrival(
        accepted,
        {k: v for k, v in accepted.kept.items() if values.get(k) == v},
        state,
        image_record.origins(source) or {},
        image_record.disk_in(recorded),
    )
