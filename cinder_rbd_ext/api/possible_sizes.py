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

"""The sizes that volumes can have with the layout of their type."""

from collections.abc import Mapping
import math

from cinder.common import constants
from cinder.volume import volume_types
from oslo_utils import units

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import growth
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits


def check(
    specs: Mapping[str, str],
    image_layout: layout.ImageLayout,
    image_features: features.Features,
    bounds: limits.Limits,
    origin: errors.Origin,
) -> None:
    """Check that there is a size with which volumes can be created.

    If only some sizes are possible, each volume is checked.

    :param specs: the extra specs of the type, which may limit the size
    :raises OptionError: if no size within the limits matches the layout
    """
    low = _bound(specs, volume_types.MIN_SIZE_KEY) or 1
    high = _bound(specs, volume_types.MAX_SIZE_KEY)
    step = 1
    striping = image_layout.striping
    if striping and bounds.require_whole_stripes:
        step = growth.step(image_layout)
        if high is not None and high // step * step < low:
            raise errors.OptionError(
                keys.STRIPE_COUNT,
                striping.count,
                f'the size of a volume must be a multiple of {step} GiB, and '
                f'the volume type allows {low} to {high} GiB',
                'values whose product divides a size that the type allows',
                origin,
            )
    smallest = math.ceil(low / step) * step
    limits.check_object_map(
        image_layout, smallest * units.Gi, image_features, origin
    )


def _bound(specs: Mapping[str, str], key: str) -> int | None:
    """Return a limit in GiB; None if Cinder ignores it too.

    The text can have thousands of digits. A limit that no size can exceed has
    the effect of the nearest possible size.
    """
    maximum: int = constants.DB_MAX_INT
    try:
        return max(0, min(int(specs[key]), maximum))
    except (KeyError, ValueError):
        return None
