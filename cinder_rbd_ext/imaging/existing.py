# SPDX-License-Identifier: Apache-2.0

"""State and changes of an existing RBD image, which is open."""

from collections.abc import Callable
from typing import Any

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols
from cinder_rbd_ext.imaging import configuration
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

# librbd's namespace of user snapshots.
_BY_NAME = 0

# librbd's bit of an image in a live migration, as source or as target. Older
# Python bindings have no name for it.
_MIGRATING = 1 << 9


def state_of(
    image: protocols.Image, pool_name: Callable[[int], str] | None = None
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
        configuration.of_image(image),
    )


def enable(
    image: protocols.Image, wanted: features.Features
) -> features.Features:
    """Enable those features that an image does not have, and return them."""
    missing = wanted - features.from_mask(image.features())
    if missing:
        image.update_features(features.to_mask(missing), True)
    return missing


def disable(
    image: protocols.Image, unwanted: features.Features
) -> features.Features:
    """Disable those features that an image has, and return them."""
    present = unwanted & features.from_mask(image.features())
    if present:
        image.update_features(features.to_mask(present), False)
    return present


def snapshot_names(image: protocols.Image) -> list[str]:
    """Return the names of the snapshots that can be opened by name.

    Snapshots of groups, and removed ones that had clones, have none.
    """
    return [
        snapshot['name']
        for snapshot in image.list_snaps()
        if snapshot.get('namespace', _BY_NAME) == _BY_NAME
    ]


def rebuild_object_maps(
    image: protocols.Image, open_snapshot: Callable[[str], Any]
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


# Otherwise librbd could end the volume service, or a clone could have wrong
# data; see :doc:`/contributor/architecture`.


def check_removal(image: protocols.Image, snapshot: str) -> None:
    """Check that a snapshot of an open image can be removed.

    :raises SnapshotIsBusy: during a live migration; Cinder keeps the snapshot
    """
    if image.features() & _MIGRATING:
        LOG.error(
            'Snapshot %(snapshot)s of image %(image)s is kept, because the '
            'image is in a live migration (rbd migration). Commit or abort '
            'the migration first.',
            {'snapshot': snapshot, 'image': image.get_name()},
        )
        raise exception.SnapshotIsBusy(snapshot_name=snapshot)


def check_snapshot(image: protocols.Image) -> None:
    """Check that a snapshot of an open image can be created, or a clone.

    :raises ImageMigrating: if the image is in a live migration
    """
    if image.features() & _MIGRATING:
        raise exceptions.ImageMigrating(name=image.get_name())
