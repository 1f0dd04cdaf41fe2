# SPDX-License-Identifier: Apache-2.0

"""The rule that the size of a striped volume is a number of whole stripes.

It is that of CERN's report; librbd does not require it.
"""

import math

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import phrases
from rbd_volume_options import sizes


def check_size(
    image_layout: layout.ImageLayout,
    size: int,
    bounds: limits.Limits,
    origin: errors.Origin | None = None,
) -> None:
    """Check that a volume's size is a multiple of the stripe width.

    :param size: size of the volume in bytes
    :raises OptionError: if it is not, and the back end requires it
    """
    striping = image_layout.striping
    if not bounds.require_whole_stripes or striping is None:
        return
    if size % striping.width:
        raise errors.OptionError(
            keys.STRIPE_COUNT,
            striping.count,
            phrases.Phrase(
                '{size} is not a multiple of {unit} x {count}',
                size=sizes.format_size(size),
                unit=sizes.format_size(striping.unit),
                count=striping.count,
            ),
            phrases.Phrase(
                'values whose product divides the size, such as powers of two'
            ),
            origin,
            errors.Code.NOT_WHOLE_STRIPES,
        )


def step(image_layout: layout.ImageLayout) -> int:
    """Return the number of GiB that hold whole stripes, and no fewer."""
    striping = image_layout.striping
    if striping is None:
        return 1
    return striping.width // math.gcd(striping.width, sizes.GIB)
