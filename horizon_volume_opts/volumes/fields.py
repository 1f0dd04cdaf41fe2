# SPDX-License-Identifier: Apache-2.0

"""The fields of the forms that create a volume, and their metadata.

Fields accept any text. The rules of `rbd_volume_options` check the values, so
that an error lists the allowed values. The fields are plain text fields and
selects, because Horizon's themed widgets hide the real control from the
keyboard and from screen readers, and because the browser's own check of a
number field covers the form.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms

from horizon_volume_opts import phrasing
from horizon_volume_opts import wording
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import sizes

_CLASS = {'class': 'form-control'}
Choices = list[tuple[str, Any]]


def creation_keys() -> tuple[str, ...]:
    """Return the keys that have a field in a form for a new volume.

    Options of attachments have forms of their own. A complete set of image
    features is for volume types and the command line.
    """
    return tuple(
        option.key
        for option in registry.OPTIONS.values()
        if keys.Scope.VOLUME in option.scopes
        and option.kind is not definitions.Kind.CONNECTION
        and option.value_type is not definitions.ValueType.FEATURES
    )


def name_of(key: str) -> str:
    """Return the name of the form's field for a key."""
    return key.replace(':', '_')


class Listed(forms.Select):
    """A list that has the value of the request, even if it is invalid."""

    choices: Any
    shown: Callable[[str], str] = staticmethod(str)

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """Add the value to the choices."""
        listed = dict(self.choices)
        for text in value:
            listed.setdefault(text, self.shown(text))
        self.choices = list(listed.items())
        return super().optgroups(name, value, attrs)


class Sizes(Listed):
    """The same for sizes."""

    @staticmethod
    def shown(text: str) -> str:
        """Return a size with its unit; another text as it is."""
        try:
            return phrasing.size(sizes.parse_size('', text))
        except errors.OptionError:
            return text


def of_key(key: str, blank: str, choices: Choices | None = None) -> Any:
    """Return the field of a key.

    :param blank: the text for no value
    :param choices: the values in a list; None for a text field
    """
    option = registry.OPTIONS[key]
    widget: forms.Widget = forms.TextInput(attrs=_CLASS)
    if choices is not None:
        is_size = option.value_type is definitions.ValueType.SIZE
        select = Sizes if is_size else Listed
        widget = select(attrs=_CLASS, choices=[('', blank), *choices])
    elif blank:
        widget.attrs['placeholder'] = blank
    return forms.CharField(
        label=wording.label(key),
        required=False,
        help_text=wording.short_help(key),
        widget=widget,
    )


def of_keys(wanted: Iterable[str]) -> dict[str, forms.Field]:
    """Return text fields for keys, by field name, in the order of the form."""
    wanted = frozenset(wanted)
    return {
        name_of(key): of_key(key, '')
        for key in creation_keys()
        if key in wanted
    }


def metadata(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata for the data of a form or a request."""
    values = {
        key: str(data.get(name_of(key)) or '').strip()
        for key in creation_keys()
    }
    return {key: value for key, value in values.items() if value}
