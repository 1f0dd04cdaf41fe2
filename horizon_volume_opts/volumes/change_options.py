# SPDX-License-Identifier: Apache-2.0

"""The form that changes the options of an existing volume.

It has a field for each option that is not fixed at creation.
"""

from collections.abc import Mapping
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.urls import re_path
from django.urls import reverse
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import forms
from horizon import messages
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.admin.volumes import urls as admin_urls
from openstack_dashboard.dashboards.project.volumes import urls

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import refusals
from horizon_volume_opts import requests_to_cinder
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import attach
from horizon_volume_opts.volumes import changeable
from horizon_volume_opts.volumes import fields
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import registry

URL_NAME = 'rbd_options'
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
_NOTHING = _('No RBD option of this volume can be changed: %(reason)s.')


class ChangeOptionsForm(forms.SelfHandlingForm):
    """Changes the options that are not fixed, if the volume type has them."""

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        volume = self.initial[_VOLUME]
        by_type: Mapping[str, offers.UserOffer] = {}
        self._is_unavailable = False
        try:
            by_type = discovery.by_type(
                request, list(filter(None, [volume.volume_type]))
            )
        except discovery.Unavailable:
            self._is_unavailable = True
        self._choices = {
            fields.name_of(option.key): changeable.Choice.of(
                option, volume, by_type
            )
            for option in registry.changeable()
        }
        reasons = {
            reason
            for name, choice in self._choices.items()
            if (reason := self._add(name, choice))
        }
        self.note = ''
        if self._is_unavailable:
            self.note = str(_UNAVAILABLE)
        elif not self.fields:
            self.note = _NOTHING % {'reason': ', '.join(sorted(reasons))}
        last_refusal = attach.last_refusal(volume)
        if last_refusal:
            self.set_warning(last_refusal)

    def _add(self, name: str, choice: changeable.Choice) -> str | None:
        """Add a field; return why its value cannot be changed, if so.

        The current value and one that was sent are always in the list.
        """
        posted = str(self.data.get(name) or '').strip()
        listed = changeable.choices(
            choice.option, choice.offer, choice.in_force
        )
        reason = None
        if choice.reason or choice.is_shared:
            # Cinder may know values that the user cannot set.
            listed = listed[:1]
            reason = choice.reason or choice.shared_reason
        if posted and posted not in (*dict(listed), choice.before):
            listed = [*listed, (posted, posted)]
        # Without a reason, or to remove the value.
        if choice.before or posted or not reason:
            self.fields[name] = changeable.field(
                choice.option,
                listed,
                choice.before,
                is_known=not self._is_unavailable,
            )
        return reason

    @property
    def effects(self) -> list[tuple[str, str]]:
        """When a change is in force, and the labels of the fields."""
        labels: dict[str, list[str]] = {}
        for name in self.fields:
            option = self._choices[name].option
            text = str(_OF_ATTACHMENTS)
            if option.kind is not definitions.Kind.CONNECTION:
                when = phrasing.in_words(option.takes_effect)
                text = str(_TAKES_EFFECT % {'when': when})
            labels.setdefault(text, []).append(wording.label(option.key))
        return [(', '.join(each), text) for text, each in labels.items()]

    def clean(self) -> Any:
        """Check the values against the offer of the volume type."""
        data: dict[str, Any] = super().clean()
        # Without the offer, Cinder checks the values.
        if not self._is_unavailable:
            for name in self.fields:
                try:
                    self._choices[name].check(data.get(name) or '')
                except errors.OptionError as error:
                    self.add_error(name, refusals.of_error(error).text)
        return data

    def handle(self, request: Any, data: Any) -> bool:
        """Set and remove the keys; show a refusal at its field."""
        changed = {
            self._choices[name].option: data[name]
            for name in self.fields
            if data[name] != (self._choices[name].before or '')
        }
        if not changed:
            return True
        wanted = {each.key: value for each, value in changed.items()}
        try:
            response = _change(request, self.initial[_VOLUME].id, wanted)
        except cinder_exceptions.ClientException as error:
            refusal = refusals.read(error)
            name = (
                fields.name_of(refusal.key) if refusal and refusal.key else ''
            )
            if name not in self.fields:
                name = fields.name_of(next(iter(changed)).key)
            self.add_error(name, refusal.text if refusal else str(error))
            return False
        if requests_to_cinder.show_notice(request, response):
            # The change is perhaps not in force yet.
            return True
        for option in changed:
            messages.success(
                request,
                _('%(option)s: the change takes effect %(when)s.')
                % {
                    'option': wording.label(option.key),
                    'when': phrasing.in_words(option.takes_effect),
                },
            )
        return True


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


class ChangeOptionsView(forms.ModalFormView):
    """The page of the form, and the modal above the table of volumes."""

    form_class = ChangeOptionsForm
    template_name = 'horizon_volume_opts/change_options.html'
    page_title = _('Change RBD Options')
    submit_label = _('Save')
    dashboard = 'project'
    success_url = reverse_lazy('horizon:project:volumes:index')
    cancel_url = success_url

    def get_initial(self) -> dict[str, Any]:
        """Return the volume."""
        try:
            volume = cinder.volume_get(self.request, self.kwargs['volume_id'])
        except Exception:
            exceptions.handle(
                self.request,
                _('Unable to retrieve volume information.'),
                redirect=self.success_url,
            )
        return {_VOLUME: volume}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the address that the form is sent to."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context['submit_url'] = reverse(
            f'horizon:{self.dashboard}:volumes:{URL_NAME}',
            args=(self.kwargs['volume_id'],),
        )
        return context


class AdminChangeOptionsView(ChangeOptionsView):
    """The same page in the dashboard of administrators."""

    dashboard = 'admin'
    success_url = reverse_lazy('horizon:admin:volumes:index')
    cancel_url = success_url


def add_pages() -> None:
    """Add the page to those of the panel Volumes of both dashboards."""
    for panel, view in (
        (urls, ChangeOptionsView),
        (admin_urls, AdminChangeOptionsView),
    ):
        if all(each.name != URL_NAME for each in panel.urlpatterns):
            panel.urlpatterns += [
                re_path(
                    r'^(?P<volume_id>[^/]+)/rbd_options/$',
                    view.as_view(),
                    name=URL_NAME,
                )
            ]
