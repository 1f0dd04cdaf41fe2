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

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import request


class Volume(Protocol):
    """What Cinder's driver stores about the features of a volume's image."""

    @property
    def provider_location(self) -> str | None: ...
    @property
    def replication_driver_data(self) -> str | None: ...


def of_glance_image(
    state: plan.ImageState, chunk_size: int
) -> inheritance.Source:
    """Return the RBD image of a Glance image as a source of a layout only."""
    image_layout = state.layout
    object_size = image_layout.object_size
    if image_layout.striping is None:
        object_size = max(object_size, chunk_size)
    origin = errors.Origin.GLANCE_IMAGE
    return inheritance.Source(
        precedence.Level(
            origin,
            options.VolumeOptions(
                object_size=object_size, striping=image_layout.striping
            ),
        ),
        dict.fromkeys(
            (precedence.Part.OBJECT_SIZE, precedence.Part.STRIPING), origin
        ),
    )


def own_features(source: Volume, state: plan.ImageState) -> features.Features:
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
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan a copy with the layout and the features of its source.

    It has the type of the source and no metadata, so planned as a request, it
    would lose the keys of the source.

    :param specs: the extra specs of the type
    """
    state = parent or base
    pool = specs.get(keys.DATA_POOL)
    return plan.ImagePlan(
        state.layout,
        own_features(source, state),
        definitions.parse_pool(pool) if pool else settings.options.data_pool,
    )


def plan_remade(volume: Volume, state: plan.ImageState) -> plan.ImagePlan:
    """Plan an image that replaces a volume's image, with the same layout."""
    return plan.ImagePlan(
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
    source_of: Callable[[plan.ImageState], inheritance.Source]
    bounds: inheritance.Bounds
    own: Callable[[], plan.ImageState]
    disk: Mapping[str, Any] | None = None

    def resolved(
        self, source: inheritance.Source | None = None
    ) -> precedence.Resolved:
        """Return the effective values, with those inherited from a source."""
        if source is None:
            return self.asked.resolve()
        return self.asked.resolve(
            *inheritance.levels(
                source, self.asked.resolve, self.bounds, self.own
            )
        )

    def __call__(
        self, base: plan.ImageState, parent: plan.ImageState | None
    ) -> plan.ImagePlan:
        """Return the plan; ``OptionError`` if the options are not possible."""
        source = None if parent is None else self.source_of(parent)
        how = plan.plan_image(
            self.resolved(source), base, self.bounds.size, self.bounds.limits
        )
        return dataclasses.replace(
            how,
            disk=how.disk if self.disk is None else self.disk,
            origins=inheritance.origins(how, source),
        )
