# SPDX-License-Identifier: Apache-2.0

"""A tab with the RBD image in the details of a volume.

Horizon's ``EXTRA_TABS`` adds it to the tab groups; nothing is replaced.
"""

from collections.abc import Iterator
from typing import Any

from django.utils import dateparse
from django.utils import formats
from django.utils.translation import gettext_lazy as _
from horizon import tabs

from horizon_volume_opts import discovery
from horizon_volume_opts import guard
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import qos
from horizon_volume_opts import refusals
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from rbd_volume_options import compute_hosts
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import sizes

_POOL_FROM = _('set by the volume type or the back end')
#: The label of a row, and a short text.
_REFUSED: dict[str, tuple[Any, Any]] = {
    volume_attributes.CREATION: (_('Creation'), _('creation refused')),
    volume_attributes.ATTACHMENT: (
        _('Last attachment'),
        _('last attachment refused'),
    ),
    volume_attributes.CONVERSION: (_('Conversion'), _('not converted')),
}
_MODES: dict[compute_hosts.State, Any] = {
    compute_hosts.State.AS_REQUESTED: '%(mode)s',
    compute_hosts.State.DIFFERS: _(
        '%(mode)s; %(requested)s is requested. The instance gets it when it '
        'starts on a compute host that allows it.'
    ),
    compute_hosts.State.PROMISE_BROKEN: _(
        '%(mode)s, which can lose writes that %(requested)s keeps. The '
        'instance gets %(requested)s when it starts on a compute host that '
        'allows it.'
    ),
    compute_hosts.State.UNKNOWN: _(
        'default of the compute host, which does not support cache modes; '
        '%(requested)s is requested'
    ),
}


class RBDTab(tabs.Tab):
    """The RBD image of a volume and its attachments."""

    name = _('RBD')
    slug = 'rbd_volume_options'
    template_name = 'horizon_volume_opts/_details.html'

    @guard.otherwise(False)
    def allowed(self, request: Any) -> bool:
        """Return whether there is a record of the RBD image, or a refusal.

        A volume whose creation was refused has no image.
        """
        volume = self.tab_group.kwargs.get('volume')
        if volume is None:
            return False
        attributes = volume_attributes.of_volume(volume)
        return attributes.state is not None or bool(attributes.refusals)

    @guard.otherwise({})
    def get_context_data(self, request: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the rows of the table."""
        volume = self.tab_group.kwargs['volume']
        made = volume_attributes.of_volume(volume)
        try:
            offer = discovery.of_type(request, volume.volume_type)
        except discovery.Unavailable:
            offer = None
        return {
            'rows': [
                *_refusals(made),
                *(_of_image(volume, made, made.state) if made.state else ()),
                *_of_options(made, offer),
                *_of_attachments(volume, made, offer),
            ]
        }


#: Label, value and origin of a row; the origin can be empty.
Row = tuple[Any, Any, Any]


def _refusals(made: volume_attributes.Made) -> Iterator[Row]:
    for refusal in made.refusals:
        try:
            at = dateparse.parse_datetime(refusal.at)
        except ValueError:
            at = None
        text = refusals.readable(refusal.reason)
        if at:
            text = f'{formats.date_format(at, "Y-m-d H:i:s T")}: {text}'
        yield _REFUSED[refusal.step][0], text, ''


def _of_image(
    volume: Any, made: volume_attributes.Made, state: options.Values
) -> Iterator[Row]:
    def origin(part: str) -> Any:
        origin = made.origins.get(part)
        return wording.ORIGINS[origin] if origin else ''

    features_from = origin(keys.FEATURES)
    count = state.layout.object_count(volume.size * sizes.GIB)
    yield (
        wording.label(keys.OBJECT_SIZE),
        phrasing.size(state.layout.object_size),
        origin(keys.OBJECT_SIZE),
    )
    yield (
        _('Striping'),
        phrasing.striping(state.layout),
        origin(keys.STRIPING),
    )
    number = formats.number_format(count, force_grouping=True)
    yield _('Objects'), _('up to %s') % number, ''
    yield (
        wording.label(keys.OBJECT_MAP),
        wording.value_of(
            keys.OBJECT_MAP, volume_attributes.has_object_map(state)
        ),
        features_from,
    )
    names = ', '.join(sorted(state.image_features))
    yield wording.label(keys.FEATURES), names, features_from
    if state.data_pool:
        # Its origin is not recorded; it is never inherited.
        yield wording.label(keys.DATA_POOL), state.data_pool, _POOL_FROM


def _of_options(
    made: volume_attributes.Made, offer: offers.UserOffer | None
) -> Iterator[Row]:
    for key, value in made.configuration.items():
        yield wording.label(key), wording.value_of(key, value), ''
    limits = qos.text(offer.limits_on_use) if offer else ''
    if limits:
        origin = wording.ORIGINS[errors.Origin.VOLUME_TYPE]
        yield _('Limits'), limits, origin


def _of_attachments(
    volume: Any,
    made: volume_attributes.Made,
    offer: offers.UserOffer | None,
) -> Iterator[Row]:
    metadata = getattr(volume, 'metadata', None) or {}
    label = _('Cache mode of the next attachment')
    if mode := metadata.get(keys.CACHE_MODE):
        origin = wording.ORIGINS[errors.Origin.VOLUME_METADATA]
        yield label, mode, origin
    elif offer and keys.CACHE_MODE in offer.options:
        yield label, offer.default_text(keys.CACHE_MODE), ''
    for attachment in volume.attachments:
        instance = attachment.get('instance')
        server = getattr(instance, 'name', None) or attachment['server_id']
        ident = attachment.get('attachment_id', '')
        yield (
            _('Cache mode of the attachment to %(server)s')
            % {'server': server},
            _mode(made.cache_modes.get(ident), made.in_force.get(ident)),
            attachment.get('device') or '',
        )


def _mode(requested: str | None, in_force: str | None) -> Any:
    """Return the mode of an attachment, and why it is another one."""
    if requested is None:
        return in_force or _('default of the compute host')
    state = compute_hosts.compare_modes(requested, in_force)
    return _MODES[state] % {'mode': in_force, 'requested': requested}


@guard.otherwise('-')
def in_brief(volume: Any) -> str:
    """Return a short text for the layout and refusals; a hyphen if unknown."""
    attributes = volume_attributes.of_volume(volume)
    words = []
    if attributes.state:
        words.append(phrasing.size(attributes.state.layout.object_size))
        if attributes.state.layout.striping:
            words.append(phrasing.striping(attributes.state.layout))
        if volume_attributes.has_object_map(attributes.state):
            words.append(str(_('object map')))
    words += [str(_REFUSED[each.step][1]) for each in attributes.refusals]
    return ', '.join(words) or '-'
