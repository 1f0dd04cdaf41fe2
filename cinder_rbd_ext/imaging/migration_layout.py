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

"""Plans of images that keep the layout and features in a migration.

``migration_target`` decides whether an image keeps them.
"""

from collections.abc import Mapping
from typing import Any

from cinder_rbd_ext import request
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import wire


def plan_arrived(
    state: plan.ImageState,
    origins: Mapping[precedence.Part, errors.Origin],
    data_pool: str | None,
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan a migration's target with the layout and features of the source.

    :param state: the record of the source
    :param origins: where each part of the source was set
    :param data_pool: the data pool of the type or the back end
    """
    return plan.ImagePlan(
        state.layout,
        state.image_features,
        data_pool,
        state.configuration,
        origins,
    )


def plan_migrated(
    volume: Any,
    host: dict[str, Any],
    base: plan.ImageState,
    parent: plan.ImageState | None,
) -> plan.ImagePlan:
    """Plan an unchanged copy of an image in the pool of another back end.

    Only the data pool is that of the other back end, unless the type names
    one. The other back end may not be able to use the image's data pool.
    """
    specs = request.specs_of(volume.volume_type)
    pool = specs.get(keys.DATA_POOL)
    if pool is None:
        pool = host.get('capabilities', {}).get(wire.RBD_VOLUME_DATA_POOL)
    return plan.ImagePlan(
        base.layout,
        base.image_features,
        definitions.parse_pool(pool) if pool else None,
        base.configuration,
    )
