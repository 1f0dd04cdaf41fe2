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

"""The plan of an image, as arguments of librbd."""

from typing import Any

from rbd_volume_options import features
from rbd_volume_options import plan


def arguments(how: plan.ImagePlan) -> dict[str, Any]:
    """Return librbd's arguments for the values that a plan sets.

    Unit and count are always both set: without them, a clone with its own
    order is refused or loses its layout, and a new image uses ceph.conf.
    """
    given: dict[str, Any] = {}
    if how.layout:
        given.update(
            order=how.layout.order,
            stripe_unit=how.layout.stripe_unit,
            stripe_count=how.layout.stripe_count,
        )
    if how.image_features is not None:
        wanted = how.image_features & features.CHOOSABLE
        given['features'] = features.to_mask(wanted)
    if how.data_pool:
        given['data_pool'] = how.data_pool
    return given
