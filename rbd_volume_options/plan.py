# SPDX-License-Identifier: Apache-2.0

"""The plan for a new RBD image: resolved values, checked by the rules."""

from collections.abc import Mapping
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import rate_limits
from rbd_volume_options import registry
from rbd_volume_options.families import rate_limits as limit_options
from rbd_volume_options.families import sector_size

Origin = errors.Origin


def stock_image(
    object_size: int,
    striping: layout.Striping | None,
    image_features: features.Features | None,
) -> options.Values:
    """Return the image that a stock driver creates for an empty volume.

    :param object_size: the object size of the back end, in bytes
    :param striping: librbd's default; None if images are not striped, or if
        it is unknown
    :param image_features: librbd's default; None if it is unknown
    """
    return options.image_values(
        layout.ImageLayout(object_size, striping),
        image_features or frozenset(),
    )


def plan_image(
    resolved: options.Values,
    base: options.Values,
    size: int,
    bounds: operator_limits.Limits,
) -> options.Values:
    """Return the values to create an image with, checked by the rules.

    What is left out is left to the stock driver: a layout or features that
    nobody requested. All parts have an origin.

    :param base: the image that the stock driver would create
    :param size: bytes
    :raises OptionError: for values that librbd or the limits of the back end
        reject
    """
    image_layout = resolved.layout_over(base.layout)
    wanted = resolved.features_over(base.image_features)
    if resolved.layout_origin:
        origins = resolved.origins or {}
        has_map = resolved.has_object_map(base.image_features)
        layout.check_unit(image_layout, resolved.origin(keys.STRIPING))
        operator_limits.check_layout(image_layout, origins, bounds)
        operator_limits.check_size(
            image_layout, origins, bounds, size, has_map
        )
    # Also for a volume without keys, whose creation librbd would refuse.
    operator_limits.check_object_map(
        image_layout, size, wanted, resolved.features_origin or Origin.CLUSTER
    )
    values = {**configuration_of(resolved, size), **resolved.disk}
    if resolved.layout_origin:
        values[keys.OBJECT_SIZE] = image_layout.object_size
        values[keys.STRIPING] = image_layout.striping
    if resolved.features_origin:
        values[keys.FEATURES] = wanted
    if keys.DATA_POOL in resolved:
        values[keys.DATA_POOL] = resolved[keys.DATA_POOL]
    return options.Values(
        values,
        {
            keys.OBJECT_SIZE: resolved.origin(keys.OBJECT_SIZE),
            keys.STRIPING: resolved.origin(keys.STRIPING),
            keys.FEATURES: resolved.features_origin or Origin.CLUSTER,
        },
    )


def configuration_of(
    resolved: options.Values, size: int, is_accepted: bool = False
) -> dict[str, Any]:
    """Return the configuration of the image of a volume, by key.

    :param size: size of the volume in bytes
    :param is_accepted: as for :func:`rbd_volume_options.rate_limits.limits_of`
    :raises OptionError: for limits on reads and writes that contradict each
        other or the volume type
    """
    values = {
        key: value
        for key, value in resolved.configuration.items()
        if registry.OPTIONS[key].policy is not limit_options.SET_LIMITS
    }
    return values | rate_limits.limits_of(resolved, size, is_accepted)


def check_managed(resolved: options.Values) -> None:
    """Check that the metadata of a volume to manage describe its disk.

    :raises OptionError: if the type or the back end sets sectors of 4096
        bytes, so that the image was perhaps written for them
    """
    size = resolved.choice(keys.SECTOR_SIZE)
    if size and size.origin is not Origin.VOLUME_METADATA:
        sector_size.check_stated(size.value, size.origin)


def check_growth(
    state: options.Values,
    origins: Mapping[str, Origin],
    size: int,
    bounds: operator_limits.Limits,
) -> None:
    """Check that an image may grow to a size.

    :param origins: where each part of the image was set
    :param size: the new size, in bytes
    :raises OptionError: for a size that the layout or the object map does not
        allow
    """
    operator_limits.check_size(
        state.layout,
        origins,
        bounds,
        size,
        # Each image has features; none means that they are unknown.
        state.has_object_map(state.image_features),
    )
    operator_limits.check_object_map(state.layout, size, state.image_features)
