# SPDX-License-Identifier: Apache-2.0

"""The sources of volumes, and the copies that Cinder makes for itself."""

from oslo_config import cfg

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import layout
from rbd_volume_options import options

CONF = cfg.CONF


def is_cached_image(volume: record.Row | protocols.Volume) -> bool:
    """Return whether a volume is an entry of Cinder's image-volume cache."""
    internal = CONF.cinder_internal_tenant_project_id
    return bool(internal) and volume.project_id == internal


def volume_source(
    source: record.Row | protocols.Volume,
    state: options.Values,
    chunk_size: int,
) -> inheritance.Source:
    """Return a volume as the source of another one.

    The layout of a cached image was requested by its first user and must not
    affect other volumes. It counts as an image without a layout of its own.
    """
    if is_cached_image(source):
        plain = options.image_values(
            layout.ImageLayout(chunk_size), frozenset()
        )
        return inheritance.glance_source(plain, chunk_size)
    mirrored: features.Features = frozenset()
    if recorded := image_record.read(source):
        # An operator mirrors the image of the source only.
        added = state.image_features - recorded.state.image_features
        mirrored = added & {features.JOURNALING}
    own = options.image_values(
        state.layout,
        inheritance.own_features(source, state) - mirrored,
        other=image_record.disk_in(image_record.items(source)),
    )
    return inheritance.volume_source(own, image_record.origins(source) or {})


def is_copy(volume: protocols.Volume) -> bool:
    """Return whether the clone of a volume is a copy for Cinder's own use.

    It is the temporary volume of a backup or of a generic revert, or an entry
    of the image-volume cache.
    """
    return not volume.use_quota or is_cached_image(volume)
