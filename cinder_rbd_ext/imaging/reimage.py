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

"""A re-image keeps the layout and the features of a volume.

Only where the stock driver creates the RBD image again: from Cinder 29 on, it
writes into the existing one.
"""

from typing import Any

from cinder_rbd_ext.imaging import sources
from rbd_volume_options import plan


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
        state.layout, sources.own_features(volume, state), state.data_pool
    )
