# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The fields of the Create Volume form, and their metadata.

Fields accept any text. The rules of `rbd_volume_options` check the values, so
that an error lists the allowed values. The fields are plain selects and
checkboxes, because Horizon's themed widgets hide the real control from the
keyboard and from screen readers. The script of the form adds their help and
the sizes in lists, to keep the page small.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import wording
from rbd_volume_options import features
from rbd_volume_options import keys

#: The name of the form's field for each key.
NAMES: dict[str, str] = {
    keys.OBJECT_SIZE: 'rbd_object_size',
    keys.STRIPE_UNIT: 'rbd_stripe_unit',
    keys.STRIPE_COUNT: 'rbd_stripe_count',
    keys.OBJECT_MAP: 'rbd_object_map',
    keys.FEATURES: 'rbd_features',
}
#: The field that enables choosing the complete set of features. Without it,
#: unchecked boxes would be ambiguous.
CHOOSE_FEATURES = 'rbd_choose_features'

Choice = tuple[str, Any]


class Features(forms.MultipleChoiceField):
    """Features by name; the rules refuse unknown ones."""

    def valid_value(self, value: Any) -> bool:
        """Accept any name."""
        return True


def of_keys(wanted: Iterable[str]) -> dict[str, forms.Field]:
    """Return the fields for keys, by field name, in the order of the form."""
    wanted = frozenset(wanted)
    made: dict[str, forms.Field] = {}
    for key, name in NAMES.items():
        if key not in wanted:
            continue
        if key == keys.FEATURES:
            made[CHOOSE_FEATURES] = forms.BooleanField(
                label=_('Choose image features'), required=False
            )
        made[name] = _MAKERS[key]()
        made[name].label = wording.LABELS[key]
        made[name].required = False
    return made


def metadata(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata for the cleaned data of the form."""
    found = {
        key: str(data[name]).strip()
        for key, name in NAMES.items()
        if key != keys.FEATURES and data.get(name)
    }
    if data.get(CHOOSE_FEATURES):
        chosen = {features.LAYERING, *data.get(NAMES[keys.FEATURES], ())}
        found[keys.FEATURES] = features.joined(chosen)
    return found


def posted(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that the data of a request has values for."""
    given = {
        key for key, name in NAMES.items() if str(data.get(name, '')).strip()
    }
    if data.get(CHOOSE_FEATURES):
        given.add(keys.FEATURES)
    return frozenset(given)


class Sizes(forms.Select):
    """A list with the default and the posted value."""

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """Add the posted value to the choices, also if it is invalid."""
        posted = [(each, each) for each in value if each]
        self.choices = [('', wording.BLANK), *posted]
        return super().optgroups(name, value, attrs)


def _sizes() -> forms.Field:
    return forms.CharField(widget=Sizes(attrs={'class': 'form-control'}))


def _select(choices: list[Choice]) -> forms.Field:
    widget = forms.Select(choices=choices, attrs={'class': 'form-control'})
    return forms.CharField(widget=widget)


def _count() -> forms.Field:
    return forms.CharField(
        widget=forms.NumberInput(
            attrs={'class': 'form-control', 'min': 1, 'step': 1}
        )
    )


def _features() -> forms.Field:
    return Features(
        choices=[(name, name) for name in wording.FEATURES],
        widget=forms.CheckboxSelectMultiple,
    )


_MAKERS = {
    keys.OBJECT_SIZE: _sizes,
    keys.STRIPE_UNIT: _sizes,
    keys.STRIPE_COUNT: _count,
    keys.OBJECT_MAP: lambda: _select(
        [('', wording.BLANK), ('true', _('Yes')), ('false', _('No'))]
    ),
    keys.FEATURES: _features,
}
