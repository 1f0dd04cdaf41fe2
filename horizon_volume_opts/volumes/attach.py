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

"""The form Manage Attachments with the cache mode of the attachment.

The cache mode of an attachment comes from ``rbd:cache_mode`` in the metadata
of the volume, because Nova's request cannot contain it. Therefore, the form
sets the metadata before it attaches the volume.
"""

import logging
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django import forms
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import group
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

FIELD = 'rbd_cache_mode'
_TEMPLATE = 'horizon_volume_opts/_rows.html'
_AVAILABLE = 'available'

_SHARED = _(
    'Not available: the volume can be attached to several instances at once, '
    'and the caches of their hosts are not coherent.'
)


class AttachForm(group.GroupedForm, stock.AttachForm):
    """The stock form with the cache mode, if the volume type offers it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        volume = self.initial.get('volume')
        self._before: str | None = None
        self._offer: offers.UserOffer | None = None
        if volume is None:
            return
        metadata = getattr(volume, 'metadata', None) or {}
        self._before = metadata.get(keys.CACHE_MODE)
        try:
            offer = discovery.of_type(self.request, volume.volume_type)
        except discovery.Unavailable:
            self.set_warning(wording.UNAVAILABLE)
            return
        if offer and keys.CACHE_MODE in offer.settable:
            self._offer = offer
            self.fields[FIELD] = _field(offer, volume, self._before)
            self.group(group.GroupField([FIELD], _TEMPLATE), after='instance')

    def clean(self) -> Any:
        """Check the mode against the offer of the volume type."""
        data = super().clean()
        wanted = data.get(FIELD)
        if self._offer and wanted and wanted != self._before:
            try:
                self._offer.check({keys.CACHE_MODE: wanted}, None)
            except errors.OptionError as error:
                self.add_error(FIELD, refusals.of_error(error).text)
        return data

    def handle(self, request: Any, data: Any) -> Any:
        """Set the mode if it changes, then attach the volume."""
        wanted = data.get(FIELD) or None
        if FIELD not in self.fields or self.fields[FIELD].disabled:
            wanted = self._before
        if wanted == self._before:
            return super().handle(request, data)
        volume_id = data['volume_id']
        try:
            _set(request, volume_id, wanted)
        except cinder_exceptions.ClientException as error:
            refusal = refusals.read(error)
            self.add_error(FIELD, refusal.text if refusal else str(error))
            return False
        try:
            return super().handle(request, data)
        except Exception:
            self._put_back(request, volume_id)
            raise

    def _put_back(self, request: Any, volume_id: str) -> None:
        """Restore the mode of a volume that was not attached.

        The stock form also fails if it attached the volume but could not read
        it afterwards. Then the attachment may still need the mode.
        """
        try:
            if cinder.volume_get(request, volume_id).status == _AVAILABLE:
                _set(request, volume_id, self._before)
        except Exception:
            LOG.exception(
                'Could not restore the former cache mode of volume %s',
                volume_id,
            )


def _set(request: Any, volume_id: str, mode: str | None) -> None:
    if mode is None:
        cinder.volume_delete_metadata(request, volume_id, [keys.CACHE_MODE])
    else:
        cinder.volume_set_metadata(request, volume_id, {keys.CACHE_MODE: mode})


def _field(
    offer: offers.UserOffer, volume: Any, current: str | None
) -> forms.Field:
    """Return the field with the modes that are allowed for a volume."""
    option = offer.options[keys.CACHE_MODE]
    blank = wording.default(option['default'], option[wire.DEFAULT_FROM])
    choices = [('', blank)]
    choices += [(mode.value, _text(mode)) for mode in offer.cache_modes]
    if current and current not in dict(choices):
        choices.append(
            (current, _('%(mode)s: no longer allowed') % {'mode': current})
        )
    hint = wording.HINTS[keys.CACHE_MODE]
    shared = bool(getattr(volume, 'multiattach', False))
    return forms.CharField(
        label=wording.LABELS[keys.CACHE_MODE],
        required=False,
        initial=current or '',
        help_text=_SHARED if shared else hint,
        disabled=shared,
        widget=forms.Select(choices=choices, attrs={'class': 'form-control'}),
    )


def _text(mode: cache_modes.CacheMode) -> str:
    return f'{mode.value}: {wording.CACHE_MODES[mode]}'


def _show_again(view: Any, form: Any) -> Any:
    """Show the page again with the errors of the form.

    The stock view uses ``get`` for a form that is not valid. For a valid form
    that could not be handled, it would render the table of attachments without
    loading its data, and fail.
    """
    return view.get(view.request)


def use_form() -> None:
    """Use the form in Horizon's view; a hook."""
    views.EditAttachmentsView.form_class = AttachForm
    views.EditAttachmentsView.form_invalid = _show_again
