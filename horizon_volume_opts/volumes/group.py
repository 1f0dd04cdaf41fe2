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
import functools
from typing import Any

from django import forms
from django.template import loader
from django.utils import safestring
from django.utils.translation import gettext_lazy as _
from horizon import messages

from horizon_volume_opts import guard
from horizon_volume_opts import refusals
from horizon_volume_opts import requests_to_cinder
from horizon_volume_opts import wording
from rbd_volume_options import registry

NAME = 'rbd_options'
_NOT_PASSED = _(
    'The volume was created without the selected RBD volume options, because '
    'a customization of this dashboard replaces the request to Cinder. Delete '
    'the volume if you need them.'
)
_GROUP = 'horizon_volume_opts/_group.html'
#: The template of the fields alone.
ROWS = 'horizon_volume_opts/_rows.html'
_NOTE = 'horizon_volume_opts/_note.html'


class GroupField(forms.Field):
    """A field that represents several fields, which are rendered together.

    :param members: the names of the fields
    :param content: renders the group; by default, all members. It is not
        called for a form that is accepted, because it can send requests.
    :param url: the route that returns the content for other values; empty for
        content that does not change
    :param names: the fields of the form on which the content depends
    """

    def __init__(
        self,
        members: Iterable[str] = (),
        content: Callable[[], str] | None = None,
        url: str = '',
        names: Iterable[str] = (),
    ) -> None:
        super().__init__(required=False, label='')
        self.content = content
        self.members = tuple(members)
        self.url = url
        self.names = ' '.join(names)

    def get_bound_field(self, form: Any, field_name: str) -> 'BoundGroup':
        """Return the group, bound to a form."""
        return BoundGroup(form, self, field_name)


def note(text: Any) -> str:
    """Return a line of text between the fields of a form as HTML."""
    return _stripped(loader.render_to_string(_NOTE, {'text': text}))


def _stripped(html: str) -> str:
    """Return what a template rendered without the space around it.

    Django would escape the result of ``strip``, which is a plain text.
    """
    return str(safestring.mark_safe(html.strip()))  # noqa: S308 - a template


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
        render_content = self.field.content or functools.partial(
            render, self.form, self.field.members
        )
        content: str = render_content()
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
                'failed': wording.FAILED,
            },
        )
        return drawn

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
            'rows': rows,
            'main': [row for row in rows if not row['is_more']],
            'more': more,
            'is_more_open': any(row['is_chosen'] for row in more),
            'has_errors': any(row['field'].errors for row in rows),
            **(context or {}),
        },
    )
    return _stripped(drawn)


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


class StockForm(GroupedForm):
    """A mixin for a stock form, which adds to it and shows refusals.

    If an addition fails, the form is that of stock Horizon.
    """

    request: Any
    initial: dict[str, Any]
    data: Mapping[str, Any]
    #: The values of ours in the request; None without any.
    posted: Any = None
    #: The metadata of the volume that the form creates.
    volume_metadata: Mapping[str, str] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with guard.stock_page(type(self).__name__):
            self.extend()

    def extend(self) -> None:
        """Add to the form."""
        raise NotImplementedError()

    def clean(self) -> Any:
        """Check the form; values that cannot be checked are refused."""
        data = super().clean()  # type: ignore[misc]
        is_checked = False
        with guard.stock_page(type(self).__name__):
            self.check(data)
            is_checked = True
        if self.posted is not None and not is_checked:
            self.show_error(None, str(wording.UNCHECKED))
        return data

    def check(self, data: Any) -> None:
        """Check the cleaned values, and show errors."""

    def handle(self, request: Any, data: Any) -> Any:
        """Send the requests of the stock form, or show why it was refused."""
        try:
            with requests_to_cinder.submitting(
                request, self.volume_metadata
            ) as submission:
                result = super().handle(request, data)  # type: ignore[misc]
        except requests_to_cinder.RefusedRequest as refused:
            self.refuse(refused.refusal, data)
            return False
        if result and not submission.is_passed:
            messages.error(request, _NOT_PASSED)
        return result

    def refuse(self, refusal: refusals.Refusal, data: Any) -> None:
        """Show why Cinder refused the request."""
        raise NotImplementedError()

    def show_error(self, name: str | None, text: str) -> None:
        """Show an error at a field; above the form if it has no such field."""
        name = name if name in self.fields else None
        self.add_error(name, text)  # type: ignore[attr-defined]


def _row(bound: Any) -> dict[str, Any]:
    hint, error = f'{bound.auto_id}_hint', f'{bound.auto_id}_error'
    described = [hint] if bound.field.help_text else []
    attrs = {}
    if bound.errors:
        described.append(error)
        attrs['aria-invalid'] = 'true'
    if described:
        attrs['aria-describedby'] = ' '.join(described)
    option = registry.OPTIONS.get(bound.name.replace('_', ':', 1))
    return {
        'field': bound,
        'control': bound.as_widget(attrs=attrs),
        # Options that are not about layout and features.
        'is_more': option is not None and option.is_plain,
        'is_chosen': bool(bound.errors or bound.value()),
        'hint_id': hint,
        'error_id': error,
    }
