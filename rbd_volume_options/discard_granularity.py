# SPDX-License-Identifier: Apache-2.0

"""The discard granularity of a volume's disk.

Guests ignore free space that is smaller, and align large discards to it. A
discard removes the objects of an image that it covers completely. On a striped
image, only a whole object set does: object size times stripe count. In other
objects, it frees space in pieces of ``rbd_discard_granularity_bytes``.
"""

import contextlib

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import phrases
from rbd_volume_options import sizes

#: The smallest size that frees an object of the image.
OF_LAYOUT = 'layout'

#: A granularity must be a multiple of the logical sector size.
MINIMUM = 4 * sizes.KIB
#: The largest power of two below the largest discard of virtio-blk, 4194303
#: sectors. Linux discards nothing if the granularity is larger than that.
MAXIMUM = sizes.GIB

#: The first release of libvirt that has the attribute. Older ones ignore it.
OLDEST_LIBVIRT = '9.7.0'


def _words() -> dict[str, phrases.Phrase]:
    words = {OF_LAYOUT: phrases.Phrase('frees whole objects of this layout')}
    size = MINIMUM
    while size <= MAXIMUM:
        shown = sizes.format_size(size)
        words[shown.replace(' ', '')] = phrases.Phrase(
            'pieces of {size}', size=shown
        )
        size *= 2
    return words


EXPLANATIONS = _words()


def parse(value: str) -> str:
    """Return a granularity as it is in :data:`EXPLANATIONS`.

    :raises OptionError: if it is neither ``layout`` nor an allowed size
    """
    word = value
    with contextlib.suppress(errors.OptionError):
        size = sizes.parse_size(keys.DISCARD_GRANULARITY, value)
        word = sizes.format_size(size).replace(' ', '')
    if word not in EXPLANATIONS:
        raise errors.OptionError(
            keys.DISCARD_GRANULARITY,
            value,
            phrases.Phrase('not a discard granularity'),
            phrases.Phrase('layout, or a power of two from 4 KiB to 1 GiB'),
        )
    return word


def in_bytes(
    granularity: str, image_layout: layout.ImageLayout | None
) -> int | None:
    """Return a granularity in bytes; None if the layout is not known."""
    if granularity != OF_LAYOUT:
        return sizes.parse_size(keys.DISCARD_GRANULARITY, granularity)
    if image_layout is None:
        return None
    size = image_layout.object_size * image_layout.stripe_count
    # Linux rounds to multiples of powers of two only.
    return min(size & -size, MAXIMUM)
