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

"""What a volume is made from, and the plans that follow from it."""

import json
from typing import Any

from oslo_config import cfg
from oslo_utils import units

from cinder_rbd_ext import backend
from cinder_rbd_ext import request
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence

CONF = cfg.CONF


def is_cached_image(volume: Any) -> bool:
    """Return whether a volume is an entry of Cinder's image-volume cache.

    Those belong to Cinder's internal tenant.
    """
    internal = CONF.cinder_internal_tenant_project_id
    return bool(internal) and volume.project_id == internal


def level_of(
    source: Any, state: plan.ImageState, chunk_size: int
) -> precedence.Level:
    """Return the level that a source volume is.

    A cached image stands for the Glance image. It looks as whoever asked for
    that image first wanted a volume to look, which is nobody else's wish:
    it counts as an image without a layout of its own.

    :param source: Cinder's volume object
    :param state: its RBD image
    :param chunk_size: object size in bytes of what stock creates
    """
    if is_cached_image(source):
        plain = plan.ImageState(layout.ImageLayout(chunk_size), frozenset())
        return request.glance_level(plain, chunk_size)
    own = plan.ImageState(
        state.layout, own_features(source, state), state.data_pool
    )
    return request.source_level(own)


def own_features(source: Any, state: plan.ImageState) -> features.Features:
    """Return a volume's features but for what its type did to them.

    A multi-attach type took features away and a replicated one added some;
    neither passes on to a volume of another type.
    """
    found = state.image_features
    saved = _loads(source.provider_location).get('saved_features')
    if isinstance(saved, int):
        found |= features.from_mask(saved) & features.SINGLE_CLIENT
    before = _loads(source.replication_driver_data)
    if before.get('had_journaling') is False:
        found -= {features.JOURNALING}
    if before.get('had_exclusive_lock') is False:
        found -= {features.EXCLUSIVE_LOCK}
    return found


def _loads(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or '{}')
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def plan_made(
    asked: request.Request,
    levels: list[precedence.Level],
    volume: Any,
    settings: backend.BackendSettings,
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan a new volume's image.

    :param asked: what its metadata, its type and the backend say
    :param levels: the volume that it is made from, if it is
    :param base: what the stock driver would make
    :param parent: the image that it is cloned from, if it is; without
        levels that is a Glance image's
    :raises OptionError: for what can't be made
    """
    if parent is not None and not levels:
        levels = [request.glance_level(parent, settings.chunk_size)]
    return plan.plan_image(
        asked.resolve(*levels), base, volume.size * units.Gi, settings.limits
    )


def plan_remade(
    volume: Any,
    state: plan.ImageState,
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan the image that takes the place of a volume's own: as it was.

    What the volume asks for was settled when it was made.

    :param state: the image that there was
    """
    return plan.ImagePlan(
        state.layout, own_features(volume, state), state.data_pool
    )


def plan_arrived(
    state: plan.ImageState,
    data_pool: str | None,
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan the image to which Cinder copies another one: as that one is.

    :param state: what is recorded of the other one
    :param data_pool: what the type or the back end says
    """
    return plan.ImagePlan(state.layout, state.image_features, data_pool)


def plan_migrated(
    volume: Any,
    host: dict[str, Any],
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan the copy of an image in another backend's pool: as it is.

    Only the data pool is the other backend's, unless the type names one:
    the image's own may not be for that backend to use.
    """
    specs = request.specs_of(volume.volume_type)
    pool = specs.get(keys.DATA_POOL)
    if pool is None:
        pool = host.get('capabilities', {}).get('rbd_volume_data_pool')
    return plan.ImagePlan(
        base.layout,
        base.image_features,
        options.parse_pool(pool) if pool else None,
    )
