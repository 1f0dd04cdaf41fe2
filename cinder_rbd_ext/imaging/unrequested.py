# SPDX-License-Identifier: Apache-2.0

"""Plans of images that no user has requested, and sizes that Cinder sets.

They are copies that Cinder makes for itself, and re-images. The rules for
requests do not apply to them: a refusal would fail a backup, a re-image or a
download that is allowed. A re-image is planned only if the stock driver
creates the image again. Since Cinder 29 (``releases.REIMAGE_KEEPS_IMAGE``), it
writes into the existing one.
"""

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import protocols
from cinder_rbd_ext import request
from cinder_rbd_ext.imaging import sources
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import plan

# An attribute and not a field: Cinder stores the fields of the object.
_REQUESTED_SIZE = '_rbd_requested_size'


def is_copy(volume: protocols.Volume) -> bool:
    """Return whether the clone of a volume is a copy for Cinder's own use.

    It is the temporary volume of a backup or of a generic revert, which does
    not count for the quota, or an entry of the image-volume cache.
    """
    return not volume.use_quota or sources.is_cached_image(volume)


def plan_copy(
    volume: protocols.Volume,
    source: protocols.Volume,
    settings: backend_settings.BackendSettings,
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan a copy with the layout and the features of its source.

    It has the type of the source and no metadata, so planned as a request, it
    would lose the keys of the source.

    :param settings: of the back end, which has the data pool of a type without
        one
    """
    state = parent or base
    pool = request.specs_of(volume.volume_type).get(keys.DATA_POOL)
    return plan.ImagePlan(
        state.layout,
        sources.own_features(source, state),
        definitions.parse_pool(pool) if pool else settings.options.data_pool,
    )


def keep_size(volume: protocols.Volume) -> None:
    """Keep the requested size of a volume that is created from an image.

    To fill the image-volume cache, Cinder first creates the volume with the
    size of the image and extends it later.
    """
    setattr(volume, _REQUESTED_SIZE, volume.size)


def size_of(volume: protocols.Volume) -> int:
    """Return the requested size of a new volume in GiB."""
    size: int = max(volume.size, getattr(volume, _REQUESTED_SIZE, 0))
    return size


def plan_remade(
    volume: protocols.Volume, state: plan.ImageState
) -> plan.ImagePlan:
    """Plan an image that replaces a volume's image, with the same layout.

    The options of the volume were fixed when it was created.
    """
    return plan.ImagePlan(
        state.layout,
        sources.own_features(volume, state),
        state.data_pool,
        state.configuration,
    )
