# SPDX-License-Identifier: Apache-2.0

"""The plan of an image, as arguments of librbd, and the planned image."""

from typing import Any

from cinder_rbd_ext import protocols
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import wire

# librbd drops some of the other bits, and its release decides which.
_CHOOSABLE = features.to_mask(features.CHOOSABLE)
_DEFAULT_DATA_POOL = 'rbd_default_data_pool'


def arguments(how: plan.ImagePlan) -> dict[str, Any]:
    """Return librbd's arguments for the values that a plan sets.

    Unit and count are always both set: without them, a clone with its own
    order is refused or loses its layout, and a new image uses ceph.conf.
    """
    values: dict[str, Any] = {}
    if how.layout:
        values.update(
            order=how.layout.order,
            stripe_unit=how.layout.stripe_unit,
            stripe_count=how.layout.stripe_count,
        )
    if how.image_features is not None:
        wanted = how.image_features & features.CHOOSABLE
        values['features'] = features.to_mask(wanted)
    if how.data_pool:
        values['data_pool'] = how.data_pool
    return values


def striping(options: dict[str, str]) -> layout.Striping | None:
    """Return the default striping of a pool's configuration."""
    unit = int(options.get(wire.RBD_DEFAULT_STRIPE_UNIT, 0))
    count = int(options.get(wire.RBD_DEFAULT_STRIPE_COUNT, 0))
    return layout.Striping(unit, count) if unit and count else None


def state(
    ioctx: protocols.Ioctx, values: dict[str, Any], options: dict[str, str]
) -> plan.ImageState | None:
    """Return the image that librbd creates with some arguments.

    :returns: None if the configuration decides on a part of it
    """
    order, mask = values.get('order'), values.get('features')
    unit, count = values.get('stripe_unit'), values.get('stripe_count')
    pool = values.get('data_pool')
    if (
        not order
        or mask is None
        or mask & ~_CHOOSABLE
        or not (unit or striping(options) is None)
        or not (pool or not options.get(_DEFAULT_DATA_POOL))
    ):
        return None
    if pool == ioctx.get_pool_name():
        pool = None
    size = 1 << order
    image_layout = layout.ImageLayout.of(size, unit or size, count or 1)
    return plan.ImageState(
        image_layout,
        features.of_new_image(
            features.from_mask(mask),
            image_layout.striping is not None,
            bool(pool),
        ),
        pool,
    )
