# SPDX-License-Identifier: Apache-2.0

"""The rules for extending a volume."""

from collections.abc import Mapping

from rbd_volume_options import errors
from rbd_volume_options import limits
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import whole_stripes


def check(
    state: plan.ImageState,
    origins: Mapping[precedence.Part, errors.Origin],
    size: int,
    bounds: limits.Limits,
) -> None:
    """Check that an image may grow to a size.

    Striping that was not set by our keys or options is not restricted.

    :param origins: where each part of the image was set
    :param size: the new size, in bytes
    :raises OptionError: for a size that the layout or the object map does not
        allow
    """
    striping = origins.get(precedence.Part.STRIPING)
    if striping in precedence.GIVEN:
        whole_stripes.check_size(state.layout, size, bounds, striping)
    chosen = [
        origins[part]
        for part in (precedence.Part.STRIPING, precedence.Part.OBJECT_SIZE)
        if origins.get(part) in precedence.ASKED
    ]
    if chosen:
        limits.check_object_count(
            state.layout, size, bounds, chosen[0], _has_map(state)
        )
    limits.check_object_map(state.layout, size, state.image_features)


def _has_map(state: plan.ImageState) -> bool:
    # Each image has features; none means that they are unknown.
    return not state.image_features or 'object-map' in state.image_features
