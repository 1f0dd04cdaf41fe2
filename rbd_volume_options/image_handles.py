# SPDX-License-Identifier: Apache-2.0

"""State and changes of an RBD image, which is open."""

from collections.abc import Callable
from typing import Any

from rbd_volume_options import bindings
from rbd_volume_options import features
from rbd_volume_options import image_configuration
from rbd_volume_options import layout
from rbd_volume_options import plan

# librbd's namespace of user snapshots.
_BY_NAME = 0


def state_of(
    image: bindings.Image, pool_name: Callable[[int], str] | None = None
) -> plan.ImageState:
    """Return an image's layout, features, data pool and configuration.

    :param pool_name: returns the name of a pool by its id; None if the data
        pool does not matter
    """
    object_size = image.stat()['obj_size']
    mask = image.features()
    data_pool = None
    if pool_name and features.DATA_POOL in features.from_mask(mask):
        data_pool = pool_name(image.data_pool_id())
    return plan.ImageState(
        layout.ImageLayout.of(
            object_size, image.stripe_unit(), image.stripe_count()
        ),
        features.from_mask(mask),
        data_pool,
        image_configuration.of_image(image),
    )


def enable(
    image: bindings.Image, wanted: features.Features
) -> features.Features:
    """Enable those features that an image does not have, and return them."""
    missing = wanted - features.from_mask(image.features())
    if missing:
        image.update_features(features.to_mask(missing), True)
    return missing


def disable(
    image: bindings.Image, unwanted: features.Features
) -> features.Features:
    """Disable those features that an image has, and return them."""
    present = unwanted & features.from_mask(image.features())
    if present:
        image.update_features(features.to_mask(present), False)
    return present


def snapshot_names(image: bindings.Image) -> list[str]:
    """Return the names of the snapshots that can be opened by name.

    Snapshots of groups, and removed ones that had clones, have none.
    """
    return [
        snapshot['name']
        for snapshot in image.list_snaps()
        if snapshot.get('namespace', _BY_NAME) == _BY_NAME
    ]


def rebuild_object_maps(
    image: bindings.Image, open_snapshot: Callable[[str], Any]
) -> int:
    """Make the object maps valid; return the number of rebuilt ones.

    After the feature is enabled, they are invalid. librbd rebuilds those of
    the head and of each snapshot, opened by ``open_snapshot``, separately.
    """
    if features.OBJECT_MAP not in features.from_mask(image.features()):
        return 0
    rebuilt = 0
    if image.flags():
        image.rebuild_object_map()
        rebuilt += 1
    for name in snapshot_names(image):
        with open_snapshot(name) as at_snapshot:
            if at_snapshot.flags():
                at_snapshot.rebuild_object_map()
                rebuilt += 1
    return rebuilt
