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

"""What was made, shown on volumes.

The driver records it in the volume's admin metadata, which Cinder's show and
detail have read already, as they have the attachments: nothing is asked of
the database here.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder_rbd_ext import record

ALIAS = 'os-rbd-volume-options'

Attributes = dict[str, Any]


def of_volume(volume: Any, shows_pools: bool = True) -> Attributes:
    """Return the attributes of a volume; None where nothing is recorded.

    :param volume: Cinder's volume object
    :param shows_pools: whether the caller may see the names of pools
    """
    recorded = _admin_metadata(volume)
    state = record.of_volume(volume, recorded)
    made: Attributes = dict.fromkeys(
        ('object_size', 'stripe_unit', 'stripe_count', 'features', 'data_pool')
    )
    if state:
        made.update(
            object_size=state.layout.object_size,
            stripe_unit=state.layout.stripe_unit,
            stripe_count=state.layout.stripe_count,
            features=sorted(state.image_features),
            data_pool=state.data_pool if shows_pools else None,
        )
    made['cache_modes'] = _cache_modes(volume)
    made['refused'] = record.refusal(recorded)
    refusal = record.attach_refusal(recorded)
    made['attach_refused'] = dataclasses.asdict(refusal) if refusal else None
    return {f'{ALIAS}:{name}': value for name, value in made.items()}


def _admin_metadata(volume: Any) -> Mapping[str, str]:
    if not volume.obj_attr_is_set('admin_metadata'):
        return {}
    found: Mapping[str, str] = volume.admin_metadata or {}
    return found


def _cache_modes(volume: Any) -> dict[str, str | None]:
    """Return the cache mode of each attachment, by the attachment's id.

    None: the compute host chose.
    """
    return {
        attachment.id: (attachment.connection_info or {}).get('cache_mode')
        for attachment in volume.volume_attachment
        if attachment.attach_status == 'attached'
    }
