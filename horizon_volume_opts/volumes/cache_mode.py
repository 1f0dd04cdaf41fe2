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

"""The cache mode that a user selects when a volume is attached.

The cache mode of an attachment comes from ``rbd:cache_mode`` in the metadata
of the volume, because Nova's request cannot contain it. Therefore, a form sets
the metadata before it attaches the volume.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api import cinder

from horizon_volume_opts import offers
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: The key that the forms for attachments set.
KEY = keys.CACHE_MODE
FIELD = 'rbd_cache_mode'
_AVAILABLE = 'available'

SHARED = _(
    'Not available: the volume can be attached to several instances at once, '
    'and the caches of their hosts are not coherent.'
)
NOT_OFFERED = _('The cache mode cannot be selected: %(reason)s.')
_NOT_ALLOWED = _('you may not set it for volumes of this type')
_NO_TYPE = _('the volume type of this volume has no RBD volume options')

_LAST_REFUSED = _('The last attachment of the volume was refused: %(reason)s')

Choice = tuple[str, Any]


@dataclasses.dataclass(frozen=True)
class ModeChoice:
    """The choice of a cache mode for a volume.

    :ivar before: the mode in the metadata of the volume; None if unset
    :ivar is_shared: whether several instances can attach the volume
    :ivar offer: the options of its volume type
    :ivar reason: why the user cannot select a mode; None if possible
    """

    before: str | None
    is_shared: bool
    offer: offers.UserOffer
    reason: str | None

    @classmethod
    def of(
        cls, volume: Any, by_type: Mapping[str, offers.UserOffer]
    ) -> 'ModeChoice':
        """Return the choice for a volume.

        :param by_type: the offers of all volume types, by name
        """
        metadata = getattr(volume, 'metadata', None) or {}
        name = volume.volume_type or ''
        offer = by_type.get(name) or offers.UserOffer(name, str(_NO_TYPE))
        return cls(
            metadata.get(KEY),
            bool(getattr(volume, 'multiattach', False)),
            offer,
            reason_of(offer),
        )

    def check(self, wanted: str) -> None:
        """Check a mode that replaces the current one.

        :raises OptionError: for a mode that is invalid or not allowed
        """
        if wanted == (self.before or ''):
            return
        if self.is_shared:
            raise errors.OptionError(
                KEY, wanted, str(SHARED), str(wording.BLANK)
            )
        # Anyone who may change the metadata can remove the key.
        if wanted:
            self.offer.check({KEY: wanted}, None)


def reason_of(offer: offers.UserOffer) -> str | None:
    """Return why a user cannot select a mode for a type; None if possible."""
    if offer.reason:
        return offer.reason
    if KEY not in offer.settable:
        return str(_NOT_ALLOWED)
    return None


def last_refusal(volume: Any) -> str | None:
    """Return why the last attachment of a volume was refused, if it was."""
    for each in volume_attributes.of_volume(volume).refusals:
        if each.step is volume_attributes.Step.ATTACHMENT:
            return str(_LAST_REFUSED % {'reason': each.reason})
    return None


def choices(offer: offers.UserOffer) -> list[Choice]:
    """Return the modes of a volume type for a list, the default first."""
    option = offer.options.get(KEY, {})
    blank = wording.default(
        option.get('default'),
        option.get(wire.DEFAULT_FROM),
        KEY,
    )
    return [('', blank), *offer.choices(KEY)]


def field(listed: list[Choice], current: str | None) -> forms.Field:
    """Return the field with modes.

    :param current: a mode that is selected and is always in the list
    """
    if current and current not in dict(listed):
        listed = [
            *listed,
            (current, _('%(mode)s: not allowed') % {'mode': current}),
        ]
    return forms.CharField(
        label=wording.label(KEY),
        required=False,
        initial=current or '',
        help_text=wording.help_of(KEY),
        widget=forms.Select(choices=listed, attrs={'class': 'form-control'}),
    )


@contextlib.contextmanager
def applied(
    request: Any, volume_id: str, before: str | None, wanted: str
) -> Iterator[None]:
    """Attach a volume with a mode, in the body of this context.

    If the body fails, the volume gets its former mode again.

    :param wanted: empty for the default
    :raises ClientException: if Cinder refuses the mode
    """
    if wanted == (before or ''):
        yield
        return
    _set(request, volume_id, wanted)
    try:
        yield
    except Exception:
        _put_back(request, volume_id, before)
        raise


def _put_back(request: Any, volume_id: str, before: str | None) -> None:
    """Restore the mode of a volume that was not attached.

    The stock forms also fail if they attached the volume but could not read it
    afterwards. Then the attachment may still need the mode.
    """
    try:
        if cinder.volume_get(request, volume_id).status == _AVAILABLE:
            _set(request, volume_id, before or '')
    except Exception:
        LOG.exception(
            'Could not restore the former cache mode of volume %s', volume_id
        )


def _set(request: Any, volume_id: str, mode: str) -> None:
    if mode:
        cinder.volume_set_metadata(request, volume_id, {KEY: mode})
    else:
        cinder.volume_delete_metadata(request, volume_id, [KEY])
