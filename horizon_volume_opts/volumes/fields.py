# SPDX-License-Identifier: Apache-2.0

"""The fields of the forms that create a volume, and their metadata.

Fields accept any text. The rules of `rbd_volume_options` check the values, so
that an error lists the allowed values. The fields are plain text fields,
selects and checkboxes, because Horizon's themed widgets hide the real control
from the keyboard and from screen readers, and because the browser's own check
of a number field covers the form. The script of the forms adds defaults, and
the values in lists, which depend on the volume type.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import layouts
from horizon_volume_opts import wording
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import sizes

#: The field that enables choosing the complete set of features. Without it,
#: unchecked boxes would be ambiguous.
CHOOSE_FEATURES = 'rbd_choose_features'

_CLASS = {'class': 'form-control'}
#: The kind of numbers of bytes per second, which can have a unit.
_RATE = 'rate'


def kinds() -> dict[str, str]:
    """Return the keys that a new volume can have, with the kind of values.

    The kind decides on the control. It is the type of values, or `_RATE`.
    Options of attachments have forms of their own.
    """
    return {
        option.key: _RATE if option.is_rate else option.value_type.value
        for option in registry.OPTIONS.values()
        if keys.Scope.VOLUME in option.scopes
        and option.kind is not definitions.Kind.CONNECTION
    }


def name_of(key: str) -> str:
    """Return the name of the form's field for a key."""
    return key.replace(':', '_')


class Features(forms.MultipleChoiceField):
    """Features by name; the rules refuse unknown ones."""

    def valid_value(self, value: Any) -> bool:
        """Accept any name."""
        return True


class Listed(forms.Select):
    """A list with the default, the posted value and perhaps others."""

    choices: Any
    shown: Callable[[str], str] = staticmethod(str)

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """Add the posted value to the choices, also if it is invalid."""
        listed: dict[str, Any] = {'': wording.BLANK}
        listed.update(self.choices)
        for each in value:
            listed.setdefault(each, self.shown(each))
        self.choices = list(listed.items())
        return super().optgroups(name, value, attrs)


def of_keys(wanted: Iterable[str]) -> dict[str, forms.Field]:
    """Return the fields for keys, by field name, in the order of the form."""
    wanted = frozenset(wanted)
    made: dict[str, forms.Field] = {}
    for key, kind in kinds().items():
        if key not in wanted:
            continue
        if kind == 'features':
            made[CHOOSE_FEATURES] = forms.BooleanField(
                label=_('Choose image features'), required=False
            )
        field: Any = _MAKERS[kind]()
        made[name_of(key)] = field
        field.label = wording.label(key)
        field.help_text = wording.help_of(key)
        field.required = False
        field.rbd_key = key
    return made


def metadata(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata for the cleaned data of the form."""
    items = {
        key: str(data[name_of(key)]).strip()
        for key, kind in kinds().items()
        if kind != 'features' and data.get(name_of(key))
    }
    if data.get(CHOOSE_FEATURES):
        chosen = {features.LAYERING, *data.get(name_of(keys.FEATURES), ())}
        items[keys.FEATURES] = features.joined(chosen)
    return items


def posted(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that the data of a request has values for."""
    posted_keys = {
        key for key in kinds() if str(data.get(name_of(key), '')).strip()
    }
    if data.get(CHOOSE_FEATURES):
        posted_keys.add(keys.FEATURES)
    return frozenset(posted_keys)


class Sizes(Listed):
    """The same for sizes, also if no script writes the texts."""

    @staticmethod
    def shown(text: str) -> str:
        """Return a posted size with its unit; another text as it is."""
        try:
            return layouts.size(sizes.parse_size('', text))
        except errors.OptionError:
            return text


def _list(*choices: tuple[str, Any]) -> forms.Field:
    return forms.CharField(widget=Listed(attrs=_CLASS, choices=choices))


_MAKERS: dict[str, Callable[[], forms.Field]] = {
    'size': lambda: forms.CharField(widget=Sizes(attrs=_CLASS)),
    'word': _list,
    'count': lambda: forms.CharField(
        widget=forms.TextInput(attrs={**_CLASS, 'inputmode': 'numeric'})
    ),
    # A keyboard for numbers has no units.
    _RATE: lambda: forms.CharField(widget=forms.TextInput(attrs=_CLASS)),
    'boolean': lambda: _list(('true', wording.YES), ('false', wording.NO)),
    'features': lambda: Features(
        choices=wording.FEATURES.items(), widget=forms.CheckboxSelectMultiple
    ),
}
