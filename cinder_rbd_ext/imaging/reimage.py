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

"""Plans of images that keep the layout and features in a re-image.

They are used only if the stock driver creates the RBD image again. Since
Cinder 29 (``releases.REIMAGE_KEEPS_IMAGE``), it writes into the existing one.
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
    """Plan an image that replaces a volume's image, with the same layout.

    The options of the volume were fixed when it was created.

    :param state: the state of the former image
    """
    return plan.ImagePlan(
        state.layout,
        sources.own_features(volume, state),
        state.data_pool,
        state.configuration,
    )
