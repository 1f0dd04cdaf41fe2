# SPDX-License-Identifier: Apache-2.0

"""The sources of images, and the plans of images from them.

The rules for requests do not apply to copies that Cinder makes for itself and
to re-images: a refusal would fail a backup or download that is allowed.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
from typing import Any
from typing import Protocol

from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import request
from rbd_volume_options.families import data_pool as data_pools


class Volume(Protocol):
    """What Cinder's driver stores about the features of a volume's image."""

    @property
    def provider_location(self) -> str | None: ...
    @property
    def replication_driver_data(self) -> str | None: ...


class RecordedVolume(Volume, image_record.RecordedVolume, Protocol):
    """The source of a migration, as in the database."""


def glance_source(
    state: options.Values, chunk_size: int
) -> inheritance.Source:
    """Return the RBD image of a Glance image as a source of a layout only."""
    object_size, striping = state.layout.object_size, state.layout.striping
    if striping is None:
        object_size = max(object_size, chunk_size)
    origin = errors.Origin.GLANCE_IMAGE
    level = options.of_one_origin(
        origin, {keys.OBJECT_SIZE: object_size, keys.STRIPING: striping}
    )
    return inheritance.Source(origin, level, level.origins or {})


def own_features(source: Volume, state: options.Values) -> features.Features:
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
    source: Volume,
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


def plan_remade(volume: Volume, state: options.Values) -> options.Values:
    """Plan an image that replaces a volume's image, with the same layout."""
    return options.image_values(
        state.layout,
        own_features(volume, state),
        state.data_pool,
        state.configuration,
    )


@dataclasses.dataclass(frozen=True)
class Made:
    """Decides how the image of a new volume is created.

    :ivar source_of: returns the source, for the image that is cloned or copied
    :ivar bounds: the limits for inherited values and for the size
    :ivar own: returns the image that the stock driver would create
    :ivar disk: the disk for which the data were written, by key; None for the
        requested one
    """

    asked: request.Request
    source_of: Callable[[options.Values], inheritance.Source]
    bounds: inheritance.Bounds
    own: Callable[[], options.Values]
    disk: Mapping[str, Any] | None = None

    def resolved(
        self, source: inheritance.Source | None = None
    ) -> options.Values:
        """Return the effective values, with those inherited from a source."""
        if source is None:
            return self.asked.resolve()
        return self.asked.resolve(
            *inheritance.levels(
                source, self.asked.resolve, self.bounds, self.own
            )
        )

    def __call__(
        self, base: options.Values, parent: options.Values | None
    ) -> options.Values:
        """Return the plan; ``OptionError`` if the options are not possible."""
        source = None if parent is None else self.source_of(parent)
        how = plan.plan_image(
            self.resolved(source), base, self.bounds.size, self.bounds.limits
        )
        if self.disk is not None:
            how = how.without(how.disk.keys()).with_values(self.disk)
        return dataclasses.replace(
            how, origins=inheritance.origins(how, source)
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
    source: RecordedVolume,
    as_is: bool,
) -> Arrival:
    """Return the target of a migration.

    :param metadata: of the target, like the extra specs of its type
    :param size: of the volume, in GiB
    :param as_is: whether an operator migrates the volume unchanged
    :raises OptionError: for a type whose options are not possible here
    """
    accepted = accepted_keys.of_type(metadata, specs, settings, size, as_is)
    recorded = image_record.items(source)
    values = image_record.values_accepted(recorded)
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
