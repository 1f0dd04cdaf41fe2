# SPDX-License-Identifier: Apache-2.0

"""Sizes, layouts and the texts of the rules, in the language of the user."""

import string
from typing import Any

from django.utils import formats
from django.utils.translation import gettext

from rbd_volume_options import layout
from rbd_volume_options import phrases
from rbd_volume_options import sizes


def size(number: int) -> str:
    """Return a size in bytes as text: ``4 MiB``, with a no-break space."""
    return sizes.format_size(number).replace(' ', '\xa0')


def striping(image_layout: layout.ImageLayout) -> str:
    """Return the striping of a layout as text: ``64 KiB × 8``."""
    if image_layout.striping is None:
        none: str = gettext('no striping')
        return none
    return unit_by_count(image_layout.stripe_unit, image_layout.stripe_count)


def unit_by_count(unit: int, count: int) -> str:
    """Return a stripe unit and a count as text: ``64 KiB × 8``."""
    return f'{size(unit)}\xa0×\xa0{count}'


def layout_in_words(image_layout: layout.ImageLayout) -> str:
    """Return a layout as text: ``4 MiB objects, 64 KiB × 8``."""
    text: str = gettext('%(size)s objects') % {
        'size': size(image_layout.object_size)
    }
    if image_layout.striping:
        text = f'{text}, {striping(image_layout)}'
    return text


class _Formatter(string.Formatter):
    """Formats the values of a phrase as the language of the user does."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, phrases.Phrase):
            return in_words(value)
        if isinstance(value, layout.ImageLayout):
            return layout_in_words(value)
        if format_spec == ',':
            return str(formats.number_format(value, force_grouping=True))
        return str(super().format_field(value, format_spec))


def in_words(text: str) -> str:
    """Return a text; a phrase of the rules is translated."""
    if not isinstance(text, phrases.Phrase):
        return text
    # The catalogue has the templates of all phrases.
    template = gettext(text.template)
    return _Formatter().vformat(template, (), text.values)


def sentence(text: str) -> str:
    """Return a clause as a sentence, in the language of the user."""
    words = in_words(text)
    return f'{words[0].upper()}{words[1:]}.'
