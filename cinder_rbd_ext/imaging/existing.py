# SPDX-License-Identifier: Apache-2.0

"""An open RBD image: inherited settings, and snapshots in a migration.

In a live migration, librbd could end the volume service, or a clone could have
wrong data; see :doc:`/contributor/architecture`.
"""

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from rbd_volume_options import bindings
from rbd_volume_options import image_configuration

LOG = logging.getLogger(__name__)

# librbd's bit of an image in a live migration, as source or as target. Older
# Python bindings have no name for it.
_MIGRATING = 1 << 9


def reset(image: bindings.Image) -> None:
    """Remove the entries that a new image inherited."""
    name = image_configuration.CACHE_OVERRIDE
    if name in image_configuration.reset(image):
        LOG.info(
            'Removed the inherited setting %s from image %s',
            name,
            image.get_name(),
        )


def check_removal(image: bindings.Image, snapshot: str) -> None:
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


def check_snapshot(image: bindings.Image) -> None:
    """Check that an image can have a new snapshot or clone, or be reverted.

    A revert would keep the current data that are not copied yet.

    :raises ImageMigrating: if the image is in a live migration
    """
    if image.features() & _MIGRATING:
        raise exceptions.ImageMigrating(name=image.get_name())
