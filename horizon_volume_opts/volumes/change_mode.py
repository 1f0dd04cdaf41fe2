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

"""The form that changes the cache mode of an existing volume."""

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
from horizon_volume_opts import refusals
from horizon_volume_opts.volumes import cache_mode
from rbd_volume_options import errors

URL_NAME = 'rbd_cache_mode'
_VOLUME = 'volume'
_FIELD = 'mode'
_UNAVAILABLE = _(
    'The allowed modes are not available, because Cinder did not return the '
    'options of the volume types. Try again later.'
)


class ChangeModeForm(forms.SelfHandlingForm):
    """Selects the mode of later attachments of a volume."""

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
        self._choice = cache_mode.ModeChoice.of(volume, by_type)
        self.fields[_FIELD] = self._field()
        notes = [self._reason(), cache_mode.last_refusal(volume)]
        if any(notes):
            self.set_warning(' '.join(filter(None, notes)))

    def _reason(self) -> str | None:
        """Return why no mode can be selected; None if one can be."""
        if self._is_unavailable:
            return str(_UNAVAILABLE)
        if self._choice.is_shared:
            return str(cache_mode.SHARED)
        if self._choice.reason:
            return str(
                cache_mode.NOT_OFFERED % {'reason': self._choice.reason}
            )
        return None

    def _field(self) -> Any:
        """Return the field with the modes that may be requested.

        The current mode, and one that was sent, are also in the list.
        """
        offer = self._choice.offer
        listed = cache_mode.choices(offer)
        if self._choice.reason or self._choice.is_shared:
            # Cinder may know modes that the user cannot set.
            listed = listed[:1]
        posted = str(self.data.get(_FIELD) or '').strip()
        current = self._choice.before
        if posted and posted not in (*dict(listed), current):
            listed = [*listed, (posted, posted)]
        return cache_mode.field(listed, current)

    def clean(self) -> Any:
        """Check the mode against the offer of the volume type."""
        data: dict[str, Any] = super().clean()
        # Without the offer, Cinder checks the mode.
        if not self._is_unavailable:
            try:
                self._choice.check(data.get(_FIELD) or '')
            except errors.OptionError as error:
                self.add_error(_FIELD, refusals.of_error(error).text)
        return data

    def handle(self, request: Any, data: Any) -> bool:
        """Set or remove the key; show a refusal at the field."""
        ident = self.initial[_VOLUME].id
        try:
            if data[_FIELD]:
                cinder.volume_set_metadata(
                    request, ident, {cache_mode.KEY: data[_FIELD]}
                )
            elif self._choice.before:
                cinder.volume_delete_metadata(request, ident, [cache_mode.KEY])
        except cinder_exceptions.ClientException as error:
            refusal = refusals.read(error)
            self.add_error(_FIELD, refusal.text if refusal else str(error))
            return False
        messages.success(
            request,
            _('The next attachment of the volume has the new cache mode.'),
        )
        return True


class ChangeModeView(forms.ModalFormView):
    """The page of the form, and the modal above the table of volumes."""

    form_class = ChangeModeForm
    template_name = 'horizon_volume_opts/change_mode.html'
    page_title = _('Change Cache Mode')
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


class AdminChangeModeView(ChangeModeView):
    """The same page in the dashboard of administrators."""

    dashboard = 'admin'
    success_url = reverse_lazy('horizon:admin:volumes:index')
    cancel_url = success_url


def add_pages() -> None:
    """Add the page to those of the panel Volumes of both dashboards."""
    for panel, view in (
        (urls, ChangeModeView),
        (admin_urls, AdminChangeModeView),
    ):
        if all(each.name != URL_NAME for each in panel.urlpatterns):
            panel.urlpatterns += [
                re_path(
                    r'^(?P<volume_id>[^/]+)/rbd_cache_mode/$',
                    view.as_view(),
                    name=URL_NAME,
                )
            ]
