# SPDX-License-Identifier: Apache-2.0

"""The form that changes the options of an existing volume.

It has a field for each option that is not fixed at creation.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import messages
from openstack_dashboard.api import cinder

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import requests_to_cinder
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import attach
from horizon_volume_opts.volumes import changeable
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import option_forms
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import registry

_VOLUME = 'volume'
#: The microversion with conditional changes of metadata.
_ETAGS = '3.15'
_UNAVAILABLE = _(
    'The allowed values are not available, because Cinder did not return the '
    'options of the volume types. Try again later.'
)
_OF_ATTACHMENTS = _(
    'A change applies to later attachments of the volume. Existing attachments'
    ' keep the value: detach the volume and attach it again.'
)
_TAKES_EFFECT = _('A change takes effect %(when)s.')
_FIXED = _(
    'The other options are fixed when the volume is created. To change them, '
    'change the volume type.'
)
_NOTHING = _('No RBD option of this volume can be changed: %(reason)s.')


class ChangeOptionsForm(option_forms.OptionsForm):
    """Changes the options that are not fixed, if the volume type has them."""

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        volume = self.initial[_VOLUME]
        by_type: Mapping[str, offers.UserOffer] = {}
        self._is_known = True
        try:
            by_type = discovery.by_type(
                request, list(filter(None, [volume.volume_type]))
            )
        except discovery.Unavailable:
            self._is_known = False
        self._choices: dict[str, changeable.Choice] = {}
        reasons = set()
        for option in registry.changeable():
            name = fields.name_of(option.key)
            choice = changeable.Choice(option, volume, by_type)
            # A value that was set or sent always has a field.
            if choice.before or self.data.get(name) or not choice.reason:
                self._choices[name] = choice
                self.fields[name] = choice.field(self._is_known)
            elif choice.reason:
                reasons.add(choice.reason)
        self.description = list(self._effects())
        if not self._is_known:
            self.description.append(('', _UNAVAILABLE))
        elif not self.fields:
            reason = ', '.join(sorted(reasons))
            self.description.append(('', _NOTHING % {'reason': reason}))
        self.description.append(('', _FIXED))
        if last_refusal := attach.last_refusal(volume):
            self.set_warning(last_refusal)

    def _effects(self) -> Iterator[tuple[str, Any]]:
        """Yield the labels of fields, and when a change is in force."""
        labels: dict[str, list[str]] = {}
        for choice in self._choices.values():
            option = choice.option
            text = str(_OF_ATTACHMENTS)
            if option.kind is not definitions.Kind.CONNECTION:
                when = phrasing.in_words(option.takes_effect)
                text = str(_TAKES_EFFECT % {'when': when})
            labels.setdefault(text, []).append(wording.label(option.key))
        for text, named in labels.items():
            yield ', '.join(named), text

    def errors_in(
        self, data: Mapping[str, Any]
    ) -> Iterator[errors.OptionError]:
        """Check the values against the offer of the volume type."""
        for name, choice in self._choices.items():
            try:
                # Without the offer, Cinder checks the values.
                if self._is_known:
                    choice.check(data.get(name) or '')
            except errors.OptionError as error:
                yield error

    def save(self, request: Any, data: Mapping[str, Any]) -> None:
        """Set and remove the keys."""
        changed = {
            choice.option.key: data[name]
            for name, choice in self._choices.items()
            if data[name] != (choice.before or '')
        }
        if not changed:
            return
        response = _change(request, self.initial[_VOLUME].id, changed)
        if requests_to_cinder.show_notice(request, response):
            # The change is perhaps not in force yet.
            return
        for key in changed:
            when = registry.OPTIONS[key].takes_effect
            messages.success(
                request,
                _('%(option)s: the change takes effect %(when)s.')
                % {
                    'option': wording.label(key),
                    'when': phrasing.in_words(when),
                },
            )


def _change(request: Any, volume_id: str, wanted: Mapping[str, str]) -> Any:
    """Change the metadata of a volume; return the response of Cinder.

    Cinder checks all keys together, and changes all of them or none. A request
    that only sets keys does not mention others. One that removes keys contains
    all that the volume keeps: two requests could be refused for a state
    between them, or change only half. Cinder refuses it if others have changed
    the metadata since it was read here. The metadata of the volume itself also
    contains items that Cinder adds.

    :param wanted: the values by key; an empty value removes the key
    """
    items = {key: value for key, value in wanted.items() if value}
    client = cinder.cinderclient(request, _ETAGS).client
    path = f'/volumes/{volume_id}/metadata'
    # The functions of cinderclient do not return the header with the notice.
    if len(items) == len(wanted):
        response, _body = client.post(path, body={'metadata': items})
        return response
    current, body = client.get(path)
    kept = {k: v for k, v in body['metadata'].items() if k not in wanted}
    response, _body = client.put(
        path,
        body={'metadata': kept | items},
        headers={'If-Match': current.headers.get('Etag')},
    )
    return response


class ChangeOptionsView(option_forms.OptionsView):
    """The page of the form, and the modal above the table of volumes."""

    form_class = ChangeOptionsForm
    page_title = _('Change RBD Options')
    panel = 'horizon:project:volumes'

    def get_initial(self) -> dict[str, Any]:
        """Return the volume."""
        try:
            volume = cinder.volume_get(self.request, self.kwargs['ident'])
        except Exception:
            exceptions.handle(
                self.request,
                _('Unable to retrieve volume information.'),
                redirect=self.success_url,
            )
        return {_VOLUME: volume}


class AdminChangeOptionsView(ChangeOptionsView):
    """The same page in the dashboard of administrators."""

    panel = 'horizon:admin:volumes'
