# SPDX-License-Identifier: Apache-2.0

"""What a user can choose for a new volume, and what the volume gets.

The rules are those of `rbd_volume_options`. A form and the requests of its
script ask here, so that a page never has a second opinion.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import logging
from typing import Any

from django.utils import formats
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import refusals
from horizon_volume_opts import source
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import sizes

LOG = logging.getLogger(__name__)


def _(text: str) -> str:
    return str(gettext(text))


#: The count that is proposed with a stripe unit, if the type has none.
_COUNT = 8
_MAX_GIB = 1 << 33
_NO_OPTIONS = gettext_lazy('the volume type has no RBD volume options')
#: The fields of the stock form for each kind of source.
_SOURCES = {
    'snapshot_source': source.SNAPSHOT,
    'volume_source': source.VOLUME,
    'image_source': '',
}
_LAYOUT = (keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT)


@dataclasses.dataclass(frozen=True)
class NewVolume:
    """A volume that a form is about to create.

    :ivar offer: the options of its volume type
    :ivar size: GiB; None if it is invalid
    :ivar state: the RBD image of a source volume or snapshot, if known
    :ivar is_from_image: whether the source is a Glance image
    :ivar is_lost: whether the source could not be read
    :ivar requested: the selected values, by key
    """

    offer: offers.UserOffer
    size: int | None
    state: options.Values | None
    is_from_image: bool
    is_lost: bool
    requested: Mapping[str, str]

    @classmethod
    def of_values(
        cls, request: Any, values: Mapping[str, Any], default_type: str | None
    ) -> 'NewVolume':
        """Return the volume for the values of a form.

        :param values: the fields of the stock form, and those of the keys
        :raises Unavailable: if Cinder does not return the options
        """
        kind, ident = _source(values)
        volume_type = values.get('type') or default_type
        state, is_lost = None, False
        if kind and ident:
            try:
                origin = source.find(request, kind, ident)
                volume_type = origin.volume_type
                state = volume_attributes.of_volume(origin).state
            except refusals.FAILURES as error:
                LOG.warning(
                    'Could not get the %s of a new volume: %s', kind, error
                )
                is_lost = True
        offer = None
        if not is_lost and (ident or kind is None):
            offer = discovery.of_type(request, volume_type)
        return cls(
            offer or offers.UserOffer('', str(_NO_OPTIONS)),
            _gib(values.get('size')),
            state,
            kind == '' and bool(ident),
            is_lost,
            fields.metadata(values),
        )

    @property
    def has_options(self) -> bool:
        """Whether the type has options of RBD volumes."""
        return self.offer.reason is None

    @property
    def settable(self) -> list[str]:
        """The keys that the user can select, in the order of forms."""
        return [
            key
            for key in fields.creation_keys()
            if key in self.offer.settable
            # The data of a source decide on the sectors.
            and not (
                self.state
                and registry.OPTIONS[key].kind is definitions.Kind.DISK
            )
        ]

    def check(self) -> None:
        """Check the requested values with the known data.

        Cinder checks again. This check saves a request and identifies the
        field.

        :raises OptionError: for options that are invalid or not allowed
        """
        if not self.requested:
            return
        key = min(self.requested)
        if self.is_lost:
            raise errors.OptionError(
                key,
                self.requested[key],
                _('the source of the volume is not available'),
                _('a volume without RBD volume options; or try again'),
            )
        size = self.size and self.size * sizes.GIB
        self.offer.check(self.requested, size, self.state)

    # What the volume gets

    def default(self, key: str) -> tuple[Any, errors.Origin | None]:
        """Return the default of a key and its origin.

        The value is None if it is unknown, or if there is none.
        """
        value, origin = self.offer.default(key), self.offer.origin(key)
        if self.state and origin is not errors.Origin.VOLUME_TYPE:
            inherited = {
                keys.OBJECT_SIZE: self.state.layout.object_size,
                keys.STRIPE_UNIT: self.state.layout.stripe_unit,
                keys.STRIPE_COUNT: self.state.layout.stripe_count,
                keys.OBJECT_MAP: features.OBJECT_MAP
                in self.state.image_features,
            }
            if key in inherited:
                if key in _LAYOUT[1:] and not self.state.layout.striping:
                    return None, errors.Origin.SOURCE_VOLUME
                return inherited[key], errors.Origin.SOURCE_VOLUME
        if (
            self.is_from_image
            and origin is errors.Origin.CLUSTER
            and key in _LAYOUT
        ):
            # The layout of a Glance image overrides that of Ceph.
            return None, None
        return value, origin

    def value(self, key: str) -> Any:
        """Return the value that the volume gets; None if unknown."""
        if text := self.requested.get(key):
            try:
                return registry.OPTIONS[key].parse(text)
            except errors.OptionError:
                return None
        if key in _LAYOUT[1:] and any(
            each in self.requested for each in _LAYOUT[1:]
        ):
            return None
        return self.default(key)[0]

    @property
    def summary(self) -> str:
        """The line for the closed group; empty for a type without options."""
        if not self.has_options:
            return ''
        object_size = self.value(keys.OBJECT_SIZE)
        unit, count = map(self.value, _LAYOUT[1:])
        words = []
        if object_size:
            words.append(
                _('%(size)s objects') % {'size': phrasing.size(object_size)}
            )
        if unit and count and (unit, count) != (object_size, 1):
            words.append(phrasing.unit_by_count(unit, count))
        has_map = self.value(keys.OBJECT_MAP)
        if has_map is not None:
            words.append(_('object map') if has_map else _('no object map'))
        text = _('Layout and features: %s (default)')
        if self.requested:
            text = _('Layout and features: %s (selected)')
        elif self.state:
            text = _('Layout and features: %s (same as the source)')
        return text % (', '.join(words) or _('depends on the back end'))

    @property
    def preview(self) -> str:
        """The result of valid values: ``2 GiB = 2,048 objects``; or empty."""
        object_size = self.value(keys.OBJECT_SIZE)
        if not (self.size and object_size and self.has_options):
            return ''
        unit, count = map(self.value, _LAYOUT[1:])
        if bool(unit) != bool(count):
            return ''
        image_layout = layout.ImageLayout.from_numbers(
            object_size, unit or object_size, count or 1
        )
        number = image_layout.object_count(self.size * sizes.GIB)
        return _('%(size)s GiB = %(count)s objects of %(object)s') % {
            'size': _number(self.size),
            'count': _number(number),
            'object': phrasing.size(object_size),
        }

    @property
    def limits(self) -> str:
        """The limits on reads and writes that the type sets; or empty."""
        text = self.offer.limits_in_words()
        return _('Limits of the volume type: %s.') % text if text else ''

    @property
    def status(self) -> str:
        """What is wrong with the source; or empty."""
        return str(wording.NO_SOURCE) if self.is_lost else ''

    # The fields

    def form_fields(self) -> dict[str, Any]:
        """Return the fields for the keys, by field name.

        A key with a requested value has a field, even if it is not allowed.
        """
        shown = {*self.settable, *self.requested}
        return {
            fields.name_of(key): self._field(key)
            for key in fields.creation_keys()
            if key in shown
        }

    def _field(self, key: str) -> Any:
        value, origin = self.default(key)
        blank = wording.default(value, origin, key)
        if value is None and origin and key in _LAYOUT[1:]:
            blank = wording.default(_('no striping'), origin)
        elif value is None and key in (*_LAYOUT, keys.OBJECT_MAP):
            blank = _('Default: depends on the back end')
            if self.is_from_image and key in _LAYOUT:
                blank = _('Default: same as the image')
        field = fields.of_key(key, blank, self._choices(key))
        if field_range := self._range(key):
            field.help_text = f'{field.help_text} {field_range}'
        return field

    def _choices(self, key: str) -> fields.Choices | None:
        option = registry.OPTIONS[key]
        described = self.offer.options.get(key, {})
        if option.value_type is definitions.ValueType.SIZE:
            largest = described.get('maximum', 0)
            if key == keys.STRIPE_UNIT:
                largest = min(largest, self.value(keys.OBJECT_SIZE) or largest)
            return list(_sizes(described.get('minimum', 1), largest))
        return self.offer.choices(key)

    def _range(self, key: str) -> str:
        """Return the values that the type permits, if it restricts them."""
        option = registry.OPTIONS[key]
        if key not in self.offer.settable:
            return ''
        if option.value_type is not definitions.ValueType.COUNT:
            return ''
        described = self.offer.options[key]
        unlimited = option.bounds.get('maximum')
        smallest = described.get('minimum') or 1
        largest = described.get('maximum')
        if described.get('per_gib') and largest == unlimited and self.size:
            # At most the limit that follows from the size.
            largest = max(
                described['per_gib'] * self.size,
                described.get('per_gib_minimum') or 0,
            )
        if largest is None or (largest == unlimited and smallest <= 1):
            return ''
        return _('%(minimum)s to %(maximum)s with this volume type.') % {
            'minimum': wording.value_of(key, min(smallest, largest)),
            'maximum': wording.value_of(key, largest),
        }

    def proposed(self, changed: str) -> 'NewVolume':
        """Return the volume with a stripe count for a new stripe unit.

        :param changed: the name of the field that the user changed
        """
        requested = dict(self.requested)
        if changed != fields.name_of(keys.STRIPE_UNIT):
            return self
        if keys.STRIPE_UNIT not in requested:
            requested.pop(keys.STRIPE_COUNT, None)
        elif keys.STRIPE_COUNT not in requested:
            count = self.default(keys.STRIPE_COUNT)[0] or _COUNT
            bounds = self.offer.options.get(keys.STRIPE_COUNT, {})
            while count > bounds.get('maximum', count):
                count //= 2
            requested[keys.STRIPE_COUNT] = str(count)
        return dataclasses.replace(self, requested=requested)


def _source(values: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the kind and the ID of the source of a form.

    The kind is None for an empty volume, and empty for a Glance image.
    """
    chosen = values.get('volume_source_type')
    for name, kind in _SOURCES.items():
        if values.get(name) and chosen in ('', None, name):
            return kind, str(values[name])
    # Selected, but not yet which; the type of a Glance image is known.
    return _SOURCES.get(str(chosen or '')) or None, ''


def _gib(text: Any) -> int | None:
    try:
        size = int(text)
    except (TypeError, ValueError):
        return None
    return size if 0 < size < _MAX_GIB else None


def _sizes(smallest: int, largest: int) -> Iterator[tuple[str, str]]:
    size = smallest
    while size <= largest:
        text = sizes.format_size(size).replace(' ', '')
        yield text.removesuffix('B').removesuffix('i'), phrasing.size(size)
        size *= 2


def _number(value: int) -> str:
    return str(formats.number_format(value, force_grouping=True))
