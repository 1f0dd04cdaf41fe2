# SPDX-License-Identifier: Apache-2.0

"""A group of fields in the form of one field, for stock templates.

Horizon's templates render one visible field after the other. A group is a
field that renders its members, each with its label, its help text and its
errors linked to it for screen readers.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template import loader

from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from rbd_volume_options import registry

NAME = 'rbd_options'
_NOTE = 'horizon_volume_opts/_note.html'


class GroupField(forms.Field):
    """A field that represents several fields, which are rendered together.

    :param members: the names of the fields
    :param template: the template that renders ``rows`` and the context
    :param context: additional variables of the template
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
        """Return the group, bound to a form."""
        return BoundGroup(form, self, field_name)


class Note(GroupField):
    """A line of text between the fields of a form."""

    def __init__(self, text: Any) -> None:
        super().__init__((), _NOTE, {'text': text})


class BoundGroup(forms.BoundField):
    """A group in a form."""

    @property
    def auto_id(self) -> str:
        """Empty, because with an ID a label would be rendered."""
        return ''

    @property
    def errors(self) -> Any:
        """Always empty; each member shows its own errors."""
        return self.form.error_class()

    def as_widget(
        self, widget: Any = None, attrs: Any = None, only_initial: bool = False
    ) -> str:
        """Render the group."""
        rows = [_row(self.form[name]) for name in self.field.members]
        more = [each for each in rows if each['is_more']]
        drawn: str = loader.render_to_string(
            self.field.template,
            {
                **self.field.context,
                'rows': [each for each in rows if not each['is_more']],
                'more': more,
                'is_open': any(each['is_chosen'] for each in rows),
                'is_more_open': any(each['is_chosen'] for each in more),
            },
        )
        return drawn

    def __str__(self) -> str:
        return self.as_widget()

    __html__ = __str__


class GroupedForm:
    """A mixin for forms; templates get the group instead of its members."""

    fields: dict[str, Any]

    def group(self, field: GroupField, after: str) -> None:
        """Insert a group after another field; at the end without that."""
        names = [each for each in self.fields if each not in field.members]
        self.fields[NAME] = field
        place = names.index(after) + 1 if after in names else len(names)
        names.insert(place, NAME)
        self.order_fields(names)  # type: ignore[attr-defined]

    def visible_fields(self) -> list[Any]:
        """Return the fields that a template renders."""
        bound_fields: list[Any] = super().visible_fields()  # type: ignore[misc]
        if NAME not in self.fields:
            return bound_fields
        members = self.fields[NAME].members
        return [bound for bound in bound_fields if bound.name not in members]


def _row(bound: Any) -> dict[str, Any]:
    hint, error = f'{bound.auto_id}_hint', f'{bound.auto_id}_error'
    is_box = isinstance(bound.field, forms.BooleanField)
    described = [] if is_box else [hint]
    attrs = {}
    if bound.errors:
        described.append(error)
        attrs['aria-invalid'] = 'true'
    if described:
        attrs['aria-describedby'] = ' '.join(described)
    key = getattr(bound.field, 'rbd_key', None)
    option = registry.OPTIONS[key] if key else None
    is_more = option is not None and option.is_plain
    return {
        'name': bound.name,
        'key': key,
        'kind': fields.kinds().get(key or ''),
        'field': bound,
        'control': bound.as_widget(attrs=attrs),
        'is_box': is_box,
        # Options that are not about layout and features.
        'is_more': is_more,
        # What has no default.
        'unset': wording.default(None, None, key) if is_more else '',
        # The maximum of all types, if a type can have a smaller one.
        'maximum': str(option.bounds['maximum'])
        if option and option.rules
        else '',
        'is_chosen': bool(bound.errors or bound.value()),
        'boxes': list(_boxes(bound)),
        'described_by': attrs.get('aria-describedby'),
        'hint_id': hint,
        'error_id': error,
    }


def _boxes(bound: Any) -> Iterator[dict[str, Any]]:
    """Yield the checkboxes of a features field; nothing for other fields."""
    if not isinstance(bound.field, fields.Features):
        return
    ticked = frozenset(bound.value() or ())
    for number, (value, text) in enumerate(bound.field.choices):
        yield {
            'id': f'{bound.auto_id}_{number}',
            'value': value,
            'help': text,
            'ticked': value in ticked,
        }
