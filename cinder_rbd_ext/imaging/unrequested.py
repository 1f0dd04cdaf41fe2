#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Copies that Cinder makes for itself, and sizes that it sets meanwhile.

No user has requested them, so the rules for requests do not apply to them: a
refusal would fail a backup, a re-image or a download that is allowed.
"""

from typing import Any

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import request
from cinder_rbd_ext.imaging import sources
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import plan

# An attribute and not a field: Cinder stores the fields of the object.
_REQUESTED_SIZE = '_rbd_requested_size'


def is_copy(volume: Any, source: Any) -> bool:
    """Return whether a new volume is a copy for Cinder's own use.

    It is the temporary volume of a backup or of a generic revert, which does
    not count for the quota, or an entry of the image-volume cache.

    :param source: the source volume, if any
    """
    return source is not None and (
        not volume.use_quota or sources.is_cached_image(volume)
    )


def plan_copy(
    volume: Any,
    source: Any,
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


def keep_size(volume: Any) -> None:
    """Keep the requested size of a volume that is created from an image.

    To fill the image-volume cache, Cinder first creates the volume with the
    size of the image and extends it later.
    """
    setattr(volume, _REQUESTED_SIZE, volume.size)


def size_of(volume: Any) -> int:
    """Return the requested size of a new volume in GiB."""
    size: int = max(volume.size, getattr(volume, _REQUESTED_SIZE, 0))
    return size
