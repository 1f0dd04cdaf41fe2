# SPDX-License-Identifier: Apache-2.0

"""The texts of the rules, in the language of the user."""

import string
from typing import Any

from django.utils import formats
from django.utils.translation import gettext

from horizon_volume_opts import layouts
from rbd_volume_options import layout
from rbd_volume_options import phrases


class _Formatter(string.Formatter):
    """Formats the values of a phrase as the language of the user does."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, phrases.Phrase):
            return in_words(value)
        if isinstance(value, layout.ImageLayout):
            return layouts.in_words(value)
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
