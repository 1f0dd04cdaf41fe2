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

from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django import forms as django_forms
from django.urls import re_path
from django.urls import reverse
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import forms
from horizon import messages
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.volumes import urls

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from horizon_volume_opts import wording
from rbd_volume_options import keys
from rbd_volume_options import wire

URL_NAME = 'rbd_cache_mode'
_INDEX = 'horizon:project:volumes:index'
_FIELD = 'mode'


class ChangeModeForm(forms.SelfHandlingForm):
    """Selects the mode of later attachments of a volume."""

    mode = forms.CharField(
        label=wording.LABELS[keys.CACHE_MODE],
        required=False,
    )

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        offer = None
        try:
            offer = discovery.of_type(request, self.initial['volume_type'])
        except discovery.Unavailable:
            # Cinder checks the mode.
            self.set_warning(_('The allowed modes are not available.'))
        self.fields[_FIELD].widget = django_forms.Select(
            choices=_choices(offer, self.initial[_FIELD]),
            attrs={'class': 'form-control'},
        )

    def handle(self, request: Any, data: Any) -> bool:
        """Set or remove the key; show a refusal at the field."""
        ident = self.initial['volume_id']
        try:
            if data[_FIELD]:
                cinder.volume_set_metadata(
                    request, ident, {keys.CACHE_MODE: data[_FIELD]}
                )
            elif self.initial[_FIELD]:
                cinder.volume_delete_metadata(
                    request, ident, [keys.CACHE_MODE]
                )
        except cinder_exceptions.ClientException as error:
            refusal = refusals.read(error)
            self.add_error(_FIELD, refusal.text if refusal else str(error))
            return False
        messages.success(
            request,
            _('The next attachment of the volume has the new cache mode.'),
        )
        return True


def _choices(
    offer: offers.UserOffer | None, current: str
) -> list[tuple[str, Any]]:
    option = offer.options.get(keys.CACHE_MODE, {}) if offer else {}
    blank = wording.default(
        option.get('default'),
        option.get(wire.DEFAULT_FROM),
        keys.CACHE_MODE,
    )
    found: list[tuple[str, Any]] = [('', blank)]
    if offer and keys.CACHE_MODE in offer.settable:
        found += [
            (mode.value, f'{mode.value}: {wording.CACHE_MODES[mode]}')
            for mode in offer.cache_modes
        ]
    if current not in dict(found):
        found.append((current, current))
    return found


class ChangeModeView(forms.ModalFormView):
    """The page of the form, and the modal above the table of volumes."""

    form_class = ChangeModeForm
    template_name = 'horizon_volume_opts/change_mode.html'
    page_title = _('Change Cache Mode')
    submit_label = _('Save')
    success_url = reverse_lazy(_INDEX)
    cancel_url = reverse_lazy(_INDEX)

    def get_initial(self) -> dict[str, Any]:
        """Return the volume and its current mode."""
        ident = self.kwargs['volume_id']
        try:
            volume = cinder.volume_get(self.request, ident)
        except Exception:
            exceptions.handle(
                self.request,
                _('Unable to retrieve volume information.'),
                redirect=reverse(_INDEX),
            )
        metadata = getattr(volume, 'metadata', None) or {}
        return {
            'volume_id': ident,
            'volume_type': volume.volume_type,
            _FIELD: metadata.get(keys.CACHE_MODE, ''),
        }

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the address that the form is sent to."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context['submit_url'] = reverse(
            f'horizon:project:volumes:{URL_NAME}',
            args=(self.kwargs['volume_id'],),
        )
        return context


def add_page() -> None:
    """Add the page to those of the panel Volumes."""
    if all(each.name != URL_NAME for each in urls.urlpatterns):
        urls.urlpatterns += [
            re_path(
                r'^(?P<volume_id>[^/]+)/rbd_cache_mode/$',
                ChangeModeView.as_view(),
                name=URL_NAME,
            )
        ]
