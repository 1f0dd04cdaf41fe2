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

"""A group of fields as one field, so that a stock template draws it.

Horizon's templates draw one visible field after the other. A group stands
among them as a field whose drawing is that of the real fields, each with its
label, a line of explanation and its errors tied to it for screen readers.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template import loader

from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields

NAME = 'rbd_options'
_KEYS = {name: key for key, name in fields.NAMES.items()}


class GroupField(forms.Field):
    """Stands for fields that are drawn together.

    :param members: the names of the fields
    :param template: what draws them, from ``rows`` and the context
    :param context: what else the template is to know
    """

    def __init__(
        self,
        members: Iterable[str],
        template: str,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(required=False, label='')
        self.members = tuple(members)
        self.template = template
        self.context = context or {}

    def get_bound_field(self, form: Any, field_name: str) -> 'BoundGroup':
        """Return the group as it is drawn in a form."""
        return BoundGroup(form, self, field_name)


class BoundGroup(forms.BoundField):
    """A group in a form."""

    @property
    def auto_id(self) -> str:
        """No id, for which a label would be drawn."""
        return ''

    @property
    def errors(self) -> Any:
        """None of its own; each field shows its errors beside itself."""
        return self.form.error_class()

    def as_widget(
        self, widget: Any = None, attrs: Any = None, only_initial: bool = False
    ) -> str:
        """Draw the group."""
        rows = [_row(self.form[name]) for name in self.field.members]
        drawn: str = loader.render_to_string(
            self.field.template, {**self.field.context, 'rows': rows}
        )
        return drawn

    def __str__(self) -> str:
        return self.as_widget()

    __html__ = __str__


class GroupedForm:
    """Mixed into a form: its template gets the group, not its members."""

    fields: dict[str, Any]

    def group(self, field: GroupField, after: str) -> None:
        """Put a group behind another field."""
        names = [each for each in self.fields if each not in field.members]
        self.fields[NAME] = field
        names.insert(names.index(after) + 1, NAME)
        self.order_fields(names)  # type: ignore[attr-defined]

    def visible_fields(self) -> list[Any]:
        """Return what a template draws."""
        found: list[Any] = super().visible_fields()  # type: ignore[misc]
        if NAME not in self.fields:
            return found
        members = self.fields[NAME].members
        return [bound for bound in found if bound.name not in members]


def _row(bound: Any) -> dict[str, Any]:
    hint, error = f'{bound.auto_id}_hint', f'{bound.auto_id}_error'
    described = [hint] if bound.help_text else []
    attrs = {}
    if bound.errors:
        described.append(error)
        attrs['aria-invalid'] = 'true'
    if described:
        attrs['aria-describedby'] = ' '.join(described)
    return {
        'name': bound.name,
        'key': _KEYS.get(bound.name),
        'field': bound,
        'control': bound.as_widget(attrs=attrs),
        'is_box': isinstance(bound.field, forms.BooleanField),
        'boxes': list(_boxes(bound)),
        'described_by': attrs.get('aria-describedby'),
        'hint_id': hint,
        'error_id': error,
    }


def _boxes(bound: Any) -> Iterator[dict[str, Any]]:
    """Return the boxes of a field of features; none of another field."""
    if not isinstance(bound.field, fields.Features):
        return
    ticked = frozenset(bound.value() or ())
    for number, (value, _label) in enumerate(bound.field.choices):
        yield {
            'id': f'{bound.auto_id}_{number}',
            'value': value,
            'ticked': value in ticked,
            'hint': wording.FEATURES[value],
        }
