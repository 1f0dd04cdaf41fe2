# SPDX-License-Identifier: Apache-2.0

"""Sizes and layouts in the language of the user, each on one line."""

from django.utils.translation import gettext as _

from rbd_volume_options import layout
from rbd_volume_options import sizes


def size(number: int) -> str:
    """Return a size in bytes as text: ``4 MiB``, with a no-break space."""
    return sizes.format_size(number).replace(' ', '\xa0')


def striping(image_layout: layout.ImageLayout) -> str:
    """Return the striping of a layout as text: ``64 KiB × 8``."""
    if image_layout.striping is None:
        none: str = _('no striping')
        return none
    return unit_by_count(image_layout.stripe_unit, image_layout.stripe_count)


def unit_by_count(unit: int, count: int) -> str:
    """Return a stripe unit and a count as text: ``64 KiB × 8``."""
    return f'{size(unit)}\xa0×\xa0{count}'


def in_words(image_layout: layout.ImageLayout) -> str:
    """Return a layout as text: ``4 MiB objects, 64 KiB × 8``."""
    text: str = _('%(size)s objects') % {
        'size': size(image_layout.object_size)
    }
    if image_layout.striping:
        text = f'{text}, {striping(image_layout)}'
    return text
