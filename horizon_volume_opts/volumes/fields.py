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

"""The fields of the Create Volume form, and the metadata that they mean.

Fields take any text: what is legal is written down in `rbd_volume_options`
and checked there, so that a refusal names what would be accepted. Plain
selects and boxes, not Horizon's themed ones: those hide the real control from
the keyboard and from screen readers.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import wording
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import sizes

#: The name of the form's field for each key.
NAMES: dict[str, str] = {
    keys.OBJECT_SIZE: 'rbd_object_size',
    keys.STRIPE_UNIT: 'rbd_stripe_unit',
    keys.STRIPE_COUNT: 'rbd_stripe_count',
    keys.OBJECT_MAP: 'rbd_object_map',
    keys.FEATURES: 'rbd_features',
}
#: Whether the whole set of features is chosen; unticked boxes say nothing.
CHOOSE_FEATURES = 'rbd_choose_features'

Choice = tuple[str, Any]


class Features(forms.MultipleChoiceField):
    """Features by name; an unknown one is for the rules to refuse."""

    def valid_value(self, value: Any) -> bool:
        """Take any name."""
        return True


def of_keys(wanted: Iterable[str]) -> dict[str, forms.Field]:
    """Return the fields for keys, by name, in the order of the form."""
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
        made[name].help_text = wording.HINTS[key]
        made[name].required = False
    return made


def metadata(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys that cleaned data of the form asks for."""
    found = {
        key: str(data[name]).strip()
        for key, name in NAMES.items()
        if key != keys.FEATURES and data.get(name)
    }
    if data.get(CHOOSE_FEATURES):
        chosen = {features.LAYERING, *data.get(NAMES[keys.FEATURES], ())}
        found[keys.FEATURES] = features.joined(chosen)
        # All features are said, the map among them.
        found.pop(keys.OBJECT_MAP, None)
    return found


def _sizes(smallest: int) -> list[Choice]:
    choices: list[Choice] = [('', wording.BLANK)]
    number = smallest
    while number <= layout.MAX_OBJECT_SIZE:
        choices.append((wording.size(number), sizes.format_size(number)))
        number *= 2
    return choices


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
    keys.OBJECT_SIZE: lambda: _select(_sizes(layout.MIN_OBJECT_SIZE)),
    keys.STRIPE_UNIT: lambda: _select(_sizes(layout.MIN_STRIPE_UNIT)),
    keys.STRIPE_COUNT: _count,
    keys.OBJECT_MAP: lambda: _select(
        [('', wording.BLANK), ('true', _('Yes')), ('false', _('No'))]
    ),
    keys.FEATURES: _features,
}
