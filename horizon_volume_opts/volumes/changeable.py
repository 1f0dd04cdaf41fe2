# SPDX-License-Identifier: Apache-2.0

"""The choice of a value for a key that can be changed on a volume."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from rbd_volume_options import definitions
from rbd_volume_options import errors

_SHARED = _('Not available: %(reason)s.')
_NOT_ALLOWED = _('not allowed for volumes of this type')
_NO_TYPE = _('the volume type of this volume has no RBD volume options')
_YES_OR_NO = [('true', wording.YES), ('false', wording.NO)]

Listed = tuple[str, Any]


@dataclasses.dataclass(frozen=True)
class Choice:
    """The choice of a value for a volume.

    :ivar before: the value in the metadata of the volume; None if unset. A
        boolean has the spelling of the list.
    :ivar in_force: the value that the volume has without one in its metadata;
        None if there is none, or if it is unknown
    :ivar is_shared: whether several instances can attach the volume, and the
        option has only one value then
    :ivar offer: the options of its volume type
    :ivar reason: why the user cannot select a value; None if possible
    """

    option: definitions.Option
    before: str | None
    is_shared: bool
    offer: offers.UserOffer
    reason: str | None
    in_force: Any = None

    @classmethod
    def of(
        cls,
        option: definitions.Option,
        volume: Any,
        offers_by_type: Mapping[str, offers.UserOffer],
    ) -> 'Choice':
        """Return the choice for a volume."""
        metadata = getattr(volume, 'metadata', None) or {}
        name = volume.volume_type or ''
        offer = offers_by_type.get(name) or offers.UserOffer(
            name, str(_NO_TYPE)
        )
        before = metadata.get(option.key)
        recorded = volume_attributes.of_volume(volume).configuration
        return cls(
            option,
            _as_listed(option, before),
            is_shared(option, volume),
            offer,
            reason_of(option, offer),
            recorded.get(option.key) if before is None else None,
        )

    @property
    def is_possible(self) -> bool:
        """Whether the user can select a value."""
        return not (self.reason or self.is_shared)

    @property
    def shared_reason(self) -> str:
        """Why a volume for several instances has no choice."""
        return phrasing.in_words(self.option.shared_reason or '')

    @property
    def shared_text(self) -> str:
        """The same as a sentence."""
        return str(_SHARED % {'reason': self.shared_reason})

    def check(self, wanted: str) -> None:
        """Check a value that replaces the current one.

        :raises OptionError: for a value that is invalid or not allowed
        """
        if wanted == (self.before or ''):
            return
        key = self.option.key
        if self.is_shared:
            raise errors.OptionError(
                key, wanted, self.shared_text, str(wording.BLANK)
            )
        # Anyone who may change the metadata can remove the key.
        if wanted:
            self.offer.check({key: wanted}, None)


def _as_listed(option: definitions.Option, text: str | None) -> str | None:
    """Return a value in the spelling of the list: ``no`` is ``false``."""
    if text and option.value_type is definitions.ValueType.BOOLEAN:
        try:
            return definitions.as_text(option.parse(text))
        except errors.OptionError:
            return text
    return text


def is_shared(option: definitions.Option, volume: Any) -> bool:
    """Return whether several instances can attach a volume.

    False for options whose values do not depend on it.
    """
    return option.shared_value is not None and bool(
        getattr(volume, 'multiattach', False)
    )


def reason_of(
    option: definitions.Option, offer: offers.UserOffer
) -> str | None:
    """Return why a user cannot select a value for a type; None if possible."""
    if offer.reason:
        return offer.reason
    if option.key not in offer.settable:
        return str(_NOT_ALLOWED)
    return None


def choices(
    option: definitions.Option, offer: offers.UserOffer, in_force: Any = None
) -> list[Listed]:
    """Return the values of a volume type for a list, the default first.

    :param in_force: the value that the volume has by default. It can follow
        from rules of the type that the offer does not show, such as a limit
        for each GiB.
    """
    described = offer.options.get(option.key, {})
    value = described.get('default')
    blank = wording.default(
        in_force if value is None else value,
        described.get('default_from'),
        option.key,
    )
    if option.value_type is definitions.ValueType.BOOLEAN:
        return [('', blank), *_YES_OR_NO]
    return [('', blank), *offer.choices(option.key)]


def field(
    option: definitions.Option,
    listed: list[Listed],
    current: str | None,
    is_known: bool = True,
) -> forms.Field:
    """Return the field with the values.

    :param current: a value that is selected and is always in the list
    :param is_known: whether the list has all values that are allowed
    """
    attributes = {'class': 'form-control'}
    if current and current not in dict(listed):
        text = _('%(mode)s: not allowed') if is_known else '%(mode)s'
        listed = [*listed, (current, text % {'mode': current})]
    widget: forms.Widget = forms.Select(choices=listed, attrs=attributes)
    if option.value_type not in (
        definitions.ValueType.BOOLEAN,
        definitions.ValueType.WORD,
    ):
        attributes['placeholder'] = str(listed[0][1])
        widget = forms.TextInput(attrs=attributes)
    return forms.CharField(
        label=wording.label(option.key),
        required=False,
        initial=current or '',
        help_text=wording.short_help(option.key),
        widget=widget,
    )
