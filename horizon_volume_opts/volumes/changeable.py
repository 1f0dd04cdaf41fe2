# SPDX-License-Identifier: Apache-2.0

"""The choice of a value for a key that can be changed on a volume."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from rbd_volume_options import definitions
from rbd_volume_options import errors

_SHARED = _('Not available: %(reason)s.')
_NOT_ALLOWED = _('not allowed for volumes of this type')
_NO_TYPE = _('the volume type of this volume has no RBD volume options')


class Choice:
    """The choice of a value for a volume.

    :ivar before: the value in the metadata of the volume; None if unset. A
        boolean has the spelling of the list.
    :ivar offer: the options of its volume type
    :ivar shared: why a volume for several instances has no choice; empty for
        other volumes, and for options whose values do not depend on it
    :ivar reason: why the user cannot select a value; None if possible
    """

    def __init__(
        self,
        option: definitions.Option,
        volume: Any,
        by_type: Mapping[str, offers.UserOffer],
    ) -> None:
        self.option = option
        self._volume = volume
        name = volume.volume_type or ''
        metadata = getattr(volume, 'metadata', None) or {}
        self.before = _as_listed(option, metadata.get(option.key))
        self.offer = by_type.get(name) or offers.UserOffer(name, str(_NO_TYPE))
        self.shared = ''
        if option.shared_value is not None and getattr(
            volume, 'multiattach', False
        ):
            self.shared = phrasing.in_words(option.shared_reason or '')
        self.reason = self.offer.reason
        if self.reason is None and option.key not in self.offer.settable:
            self.reason = str(_NOT_ALLOWED)
        self.reason = self.reason or self.shared or None

    def check(self, wanted: str) -> None:
        """Check a value that replaces the current one.

        :raises OptionError: for a value that is invalid or not allowed
        """
        if wanted == (self.before or ''):
            return
        key = self.option.key
        if self.shared:
            text = str(_SHARED % {'reason': self.shared})
            raise errors.OptionError(key, wanted, text, str(wording.BLANK))
        # Anyone who may change the metadata can remove the key.
        if wanted:
            self.offer.check({key: wanted}, None)

    def field(self, is_known: bool = True) -> forms.Field:
        """Return the field, which always has the current value.

        :param is_known: whether the allowed values are known
        """
        key = self.option.key
        value = self.offer.default(key)
        if value is None and self.before is None:
            # It can follow from rules of the type that the offer does not
            # show, such as a limit for each GiB.
            made = volume_attributes.of_volume(self._volume)
            value = made.configuration.get(key)
        blank = wording.default(value, self.offer.origin(key), key)
        choices = self.offer.choices(key)
        if choices is not None and self.reason:
            # Cinder may know values that the user cannot set.
            choices = []
        current = self.before
        if choices is not None and current and current not in dict(choices):
            text = _('%(mode)s: not allowed') if is_known else '%(mode)s'
            choices.append((current, str(text % {'mode': current})))
        field = fields.of_key(key, blank, choices)
        field.initial = current or ''
        return field


def _as_listed(option: definitions.Option, text: str | None) -> str | None:
    """Return a value in the spelling of the list: ``no`` is ``false``."""
    if text and option.value_type is definitions.ValueType.BOOLEAN:
        try:
            return definitions.as_text(option.parse(text))
        except errors.OptionError:
            return text
    return text
