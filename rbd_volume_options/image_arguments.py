# SPDX-License-Identifier: Apache-2.0

"""The plan of an image, as arguments of librbd or of ``rbd import``.

Cinder's driver also creates images with this command, for converted Glance
images and encrypted volumes.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

# librbd drops some of the other bits, and its release decides which.
_CHOOSABLE = features.to_mask(features.CHOOSABLE)
_DEFAULT_DATA_POOL = 'rbd_default_data_pool'
_ORDER = '--order'


def create_arguments(how: options.Values) -> dict[str, Any]:
    """Return librbd's arguments for the values that a plan sets.

    Unit and count are always both set: without them, a clone with its own
    order is refused or loses its layout, and a new image uses ceph.conf.
    """
    values: dict[str, Any] = {}
    if how.has_layout:
        values.update(
            order=how.layout.order,
            stripe_unit=how.layout.stripe_unit,
            stripe_count=how.layout.stripe_count,
        )
    if keys.FEATURES in how:
        wanted = how.image_features & features.CHOOSABLE
        values['features'] = features.to_mask(wanted)
    if how.data_pool:
        values['data_pool'] = how.data_pool
    return values


def made_values(
    pool_name: str, values: Mapping[str, Any], ceph_options: Mapping[str, str]
) -> options.Values | None:
    """Return the image that librbd creates in a pool with some arguments.

    None if the configuration decides on a part of it.
    """
    order, mask = values.get('order'), values.get('features')
    unit, count = values.get('stripe_unit'), values.get('stripe_count')
    pool = values.get('data_pool')
    if (
        not order
        or mask is None
        or mask & ~_CHOOSABLE
        or not (unit or backend_settings.striping_in(ceph_options) is None)
        or not (pool or not ceph_options.get(_DEFAULT_DATA_POOL))
    ):
        return None
    if pool == pool_name:
        pool = None
    size = 1 << order
    image_layout = layout.ImageLayout.from_numbers(
        size, unit or size, count or 1
    )
    return options.image_values(
        image_layout,
        features.with_implied(
            features.from_mask(mask),
            image_layout.striping is not None,
            bool(pool),
        ),
        pool,
    )


def copy_arguments(target: options.Values, pool: str) -> list[str]:
    """Return the arguments of ``rbd deep cp`` for a copy in a pool."""
    # The image's own pool means no data pool. Without this argument, librbd
    # would use the default data pool of its configuration.
    pools = {keys.DATA_POOL: target.data_pool or pool}
    return _words(target.with_values(pools))


def _words(how: options.Values) -> list[str]:
    """Return the arguments of ``rbd`` for the values that a plan sets."""
    words = []
    if how.has_layout:
        words += [
            # The unit keeps rbd from reading a number as MiB. The size is a
            # power of two, which it does not round.
            *('--object-size', f'{how.layout.object_size}B'),
            *('--stripe-unit', f'{how.layout.stripe_unit}B'),
            *('--stripe-count', str(how.layout.stripe_count)),
        ]
    for name in sorted(how.get(keys.FEATURES, set()) & features.CHOOSABLE):
        words += ['--image-feature', name]
    if how.data_pool:
        words += ['--data-pool', how.data_pool]
    return words


def object_size_of(command: Sequence[Any]) -> int:
    """Return the object size in a command, in bytes."""
    words = list(command)
    if _ORDER in words:
        return 1 << int(words[words.index(_ORDER) + 1])
    return layout.DEFAULT_OBJECT_SIZE


def import_command(
    command: Sequence[Any], how: options.Values
) -> tuple[Any, ...]:
    """Return the command that creates the image as planned."""
    words = list(command)
    if how.has_layout and _ORDER in words:
        at = words.index(_ORDER)
        del words[at : at + 2]
    return (*words, *_words(how))
