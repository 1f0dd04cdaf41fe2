# SPDX-License-Identifier: Apache-2.0

"""A group of fields in the form of one field, for stock templates.

Horizon's templates render one visible field after the other. A group is a
field that renders its members, each with its label, its help text and its
errors linked to it for screen readers. Its content depends on other fields of
the form: the script of the page requests it again when one of them changes
(``js/group.js``). Browsers without scripts show all members.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template import loader
from django.utils import safestring

from horizon_volume_opts import guard
from rbd_volume_options import registry

NAME = 'rbd_options'
_GROUP = 'horizon_volume_opts/_group.html'
#: The template of the fields alone.
ROWS = 'horizon_volume_opts/_rows.html'
NOTE = 'horizon_volume_opts/_note.html'


class GroupField(forms.Field):
    """A field that represents several fields, which are rendered together.

    :param members: the names of the fields
    :param shown: those that are shown now
    :param template: the template that renders the content
    :param context: variables of the template
    :param url: the route that returns the content for other values; empty for
        content that does not change
    :param names: the fields of the form on which the content depends
    :param prepare: completes the field before it is rendered
    """

    def __init__(
        self,
        members: Iterable[str] = (),
        shown: Iterable[str] | None = None,
        template: str = ROWS,
        context: Mapping[str, Any] | None = None,
        url: str = '',
        names: Iterable[str] = (),
        prepare: Callable[['GroupField'], None] | None = None,
    ) -> None:
        super().__init__(required=False, label='')
        self.prepare = prepare
        self.members = tuple(members)
        self.shown = self.members if shown is None else tuple(shown)
        self.template = template
        self.context = context or {}
        self.url = url
        self.names = ' '.join(names)

    def get_bound_field(self, form: Any, field_name: str) -> 'BoundGroup':
        """Return the group, bound to a form."""
        return BoundGroup(form, self, field_name)


class Note(GroupField):
    """A line of text between the fields of a form."""

    def __init__(self, text: Any) -> None:
        super().__init__(template=NOTE, context={'text': text})


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

    @guard.otherwise('')
    def as_widget(
        self, widget: Any = None, attrs: Any = None, only_initial: bool = False
    ) -> str:
        """Render the group."""
        content = self.content()
        if not self.field.url:
            return content
        # Dialogs are loaded by a script.
        headers = self.form.request.headers
        is_page = headers.get('X-Requested-With') != 'XMLHttpRequest'
        names = self.field.members if is_page else ()
        drawn: str = loader.render_to_string(
            _GROUP,
            {
                'all_rows': [_row(self.form[name]) for name in names],
                'url': self.field.url,
                'names': self.field.names,
                'content': content,
            },
        )
        return drawn

    def content(self) -> str:
        """Render what depends on other fields."""
        if self.field.prepare:
            # Not for a form that is accepted: it would send requests.
            self.field.prepare(self.field)
        return render(
            self.form,
            self.field.shown,
            self.field.template,
            self.field.context,
        )

    def __str__(self) -> str:
        return str(self.as_widget())

    __html__ = __str__


def render(
    form: Any,
    names: Iterable[str],
    template: str = ROWS,
    context: Mapping[str, Any] | None = None,
) -> str:
    """Return the fields of a form as HTML, with a context of the template."""
    rows = [_row(form[name]) for name in names]
    more = [row for row in rows if row['is_more']]
    drawn = loader.render_to_string(
        template,
        {
            'rows': [row for row in rows if not row['is_more']],
            'more': more,
            'is_more_open': any(row['is_chosen'] for row in more),
            'has_errors': any(row['field'].errors for row in rows),
            **(context or {}),
        },
    )
    return str(safestring.mark_safe(drawn.strip()))  # noqa: S308 - a template


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
    described = [hint] if bound.field.help_text else []
    attrs = {}
    if bound.errors:
        described.append(error)
        attrs['aria-invalid'] = 'true'
    if described:
        attrs['aria-describedby'] = ' '.join(described)
    key = getattr(bound.field, 'rbd_key', None)
    return {
        'field': bound,
        'control': bound.as_widget(attrs=attrs),
        # Options that are not about layout and features.
        'is_more': bool(key and registry.OPTIONS[key].is_plain),
        'is_chosen': bool(bound.errors or bound.value()),
        'hint_id': hint,
        'error_id': error,
    }
