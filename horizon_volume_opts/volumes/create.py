# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form with layout and image features."""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api.rest import urls
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts import rest
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import new_volume
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry

_TEMPLATE = 'horizon_volume_opts/_new_volume.html'
#: Whether the user selects values, or leaves them to the volume type.
_CHOICE = 'rbd_choice'
_DEFAULT, _CUSTOM = 'default', 'custom'
_LABEL = _('Layout and features')
#: The fields of the stock form on which the options depend.
_NAMES = (
    'type',
    'size',
    'volume_source_type',
    'snapshot_source',
    'volume_source',
    'image_source',
)
#: The parameters of the page that select a source.
_PARAMETERS = {
    'snapshot_id': 'snapshot_source',
    'volume_id': 'volume_source',
    'image_id': 'image_source',
}
#: Both are set together.
_PAIR = tuple(map(fields.name_of, (keys.STRIPE_UNIT, keys.STRIPE_COUNT)))


def _without_default(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a form; none of ours if the default is chosen."""
    if values.get(_CHOICE) != _DEFAULT:
        return values
    ours = set(map(fields.name_of, fields.creation_keys()))
    return {name: value for name, value in values.items() if name not in ours}


def _drawn(
    volume: new_volume.NewVolume,
    choice: str | None,
    errors_of: Mapping[str, Iterable[str]],
) -> str:
    """Return the group for a volume as HTML.

    :param errors_of: the errors of fields, by name
    """
    shown = volume.form_fields()
    form = forms.Form(
        {fields.name_of(k): text for k, text in volume.requested.items()}
    )
    form.fields.update(shown)
    form.full_clean()
    for name in shown.keys() & errors_of.keys():
        form.add_error(name, list(errors_of[name]))
    context = {
        'volume': volume,
        'label': _LABEL,
        'is_shown': bool(volume.settable or volume.requested),
        'is_custom': choice == _CUSTOM or bool(volume.requested),
    }
    return group.render(form, shown, _TEMPLATE, context)


class CreateForm(group.StockForm):
    """A mixin for the stock form: the options of the selected type."""

    errors: Any
    _is_unavailable = False

    def extend(self) -> None:
        """Add the group of options."""
        # What the user selected earlier must not disappear if it is no longer
        # offered: it is honored or refused at its field.
        values = fields.metadata(_without_default(self.data))
        self.posted = self.volume_metadata = values or None
        by_type: Mapping[str, offers.UserOffer] = {}
        listed = getattr(self.fields.get('type'), 'choices', ())
        try:
            by_type = discovery.by_type(
                self.request, [name for name, _text in listed if name]
            )
        except discovery.Unavailable:
            self._is_unavailable = True
            if not self.posted:
                self.set_warning(wording.UNAVAILABLE)  # type: ignore[attr-defined]
        settable = {key for each in by_type.values() for key in each.settable}
        members = fields.of_keys(settable | values.keys())
        self.fields.update(members)
        field = group.GroupField(members)
        if by_type:
            field = group.GroupField(
                members,
                self._content,
                url=rest.address(
                    Group, default_type=self.initial.get('type') or ''
                ),
                names=_NAMES,
            )
        if by_type or members:
            self.group(field, after='size')

    def _content(self) -> str:
        """Render the group for the values that the form shows first."""
        volume = self._volume(self._first_values())
        return _drawn(volume, self.data.get(_CHOICE), self.errors)

    def _first_values(self) -> Mapping[str, Any]:
        """Return the values that the form shows first."""
        if self.data:
            return _without_default(self.data)
        values = {
            name: self.fields[name].initial
            for name in ('type', 'size')
            if name in self.fields
        }
        parameters = self.request.GET
        return values | {
            name: parameters[parameter]
            for parameter, name in _PARAMETERS.items()
            if parameter in parameters
        }

    def _volume(self, values: Mapping[str, Any]) -> new_volume.NewVolume:
        return new_volume.NewVolume.of_values(
            self.request, values, self.initial.get('type')
        )

    def check(self, data: Mapping[str, Any]) -> None:
        """Check the requested options with the known data."""
        if self.posted is None:
            return
        if self._is_unavailable:
            for key in self.posted:
                self.refuse(refusals.Refusal(key, str(wording.UNCHECKED)))
            return
        own = {fields.name_of(k): text for k, text in self.posted.items()}
        try:
            self._volume({**data, **own}).check()
        except errors.OptionError as error:
            self.refuse(refusals.of_error(error))

    def refuse(self, refusal: refusals.Refusal, data: Any = None) -> None:
        """Show a refusal at its field; other fields are perhaps not shown."""
        name, text = None, refusal.text
        if refusal.key in (self.posted or ()):
            name = fields.name_of(refusal.key or '')
        elif refusal.key:
            text = f'{refusal.key} = {text}'
        self.show_error(name, text)


class Group(rest.Fragment):
    """The options for other values of a form.

    The dialog that creates a volume of a Glance image uses it, too. It sends
    the request with the metadata in the response.
    """

    url_regex = r'rbd_volume_options/new-volume/$'
    texts = {'title': _('RBD Volume Options'), 'failed': wording.FAILED}

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the content as HTML, the metadata and whether it is valid."""
        values = request.GET.dict()
        changed = values.get('changed', '')
        volume = new_volume.NewVolume.of_values(
            request, _without_default(values), values.get('default_type')
        ).proposed(changed)
        refusal = None
        try:
            volume.check()
        except errors.OptionError as error:
            refusal = refusals.of_error(error)
            partner = registry.partner(error.key)
            is_half = error.key in volume.requested and bool(
                partner and partner not in volume.requested
            )
        errors_of = {}
        # The user is about to select the other one.
        if refusal and not (is_half and changed in _PAIR):
            key = refusal.key or ''
            if key not in {*volume.settable, *volume.requested}:
                key = min(volume.requested)
            errors_of = {fields.name_of(key): [refusal.text]}
        return {
            'html': _drawn(volume, values.get(_CHOICE), errors_of),
            'metadata': volume.requested,
            'is_valid': refusal is None,
            'is_offered': any(
                each.reason is None
                for each in discovery.by_type(request).values()
            ),
        }


def use_form() -> None:
    """Extend the form of Horizon's view; a hook."""
    urls.register(Group)
    replacements.extend_form(views.CreateView, CreateForm)
