# SPDX-License-Identifier: Apache-2.0

"""Values of options, written by their names."""

from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

#: The keys of the values that are not plain, by their names.
KEYS = {
    'object_size': keys.OBJECT_SIZE,
    'striping': keys.STRIPING,
    'object_map': keys.OBJECT_MAP,
    'image_features': keys.FEATURES,
    'data_pool': keys.DATA_POOL,
}


def level(
    origin: errors.Origin, plain: dict[str, Any] | None = None, **named: Any
) -> options.Values:
    """Return values of one origin.

    :param plain: values by key
    :param named: those of the layout, the features and the pool by name; None
        for unset ones, but striping that is None is that of a plain image
    """
    values = {
        KEYS[name]: value
        for name, value in named.items()
        if value is not None or name == 'striping'
    }
    return options.of_one_origin(origin, {**values, **(plain or {})})


def planned(
    image_layout: layout.ImageLayout | None = None,
    image_features: frozenset[str] | None = None,
    data_pool: str | None = None,
    other: dict[str, Any] | None = None,
) -> options.Values:
    """Return the plan of an image; None for what the stock driver decides."""
    values: dict[str, Any] = dict(other or {})
    if image_layout is not None:
        values[keys.OBJECT_SIZE] = image_layout.object_size
        values[keys.STRIPING] = image_layout.striping
    if image_features is not None:
        values[keys.FEATURES] = image_features
    if data_pool is not None:
        values[keys.DATA_POOL] = data_pool
    return options.Values(values)
