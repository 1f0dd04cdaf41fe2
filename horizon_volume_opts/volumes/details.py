# SPDX-License-Identifier: Apache-2.0

"""A tab with the RBD image in the details of a volume.

Horizon's ``EXTRA_TABS`` adds it to the tab groups; nothing is replaced.
"""

from collections.abc import Iterator
from typing import Any

from django.utils import dateparse
from django.utils.translation import gettext_lazy as _
from horizon import tabs

from horizon_volume_opts import discovery
from horizon_volume_opts import layouts
from horizon_volume_opts import offers
from horizon_volume_opts import qos
from horizon_volume_opts import refusals
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import plan
from rbd_volume_options import sizes
from rbd_volume_options import wire

_ORIGINS: dict[errors.Origin | None, Any] = {
    errors.Origin.VOLUME_METADATA: _('requested for this volume'),
    errors.Origin.VOLUME_TYPE: _('set by the volume type'),
    errors.Origin.SOURCE_VOLUME: _('same as the source'),
    errors.Origin.BACKEND: _('set by the back end'),
    errors.Origin.GLANCE_IMAGE: _('same as the image'),
    errors.Origin.CLUSTER: _('set by Ceph'),
}
_POOL_FROM = _('set by the volume type or the back end')
_REFUSED: dict[volume_attributes.Step, Any] = {
    volume_attributes.Step.CREATION: _('Creation'),
    volume_attributes.Step.ATTACHMENT: _('Last attachment'),
    volume_attributes.Step.CONVERSION: _('Conversion'),
}
_MARKS: dict[volume_attributes.Step, Any] = {
    volume_attributes.Step.CREATION: _('creation refused'),
    volume_attributes.Step.ATTACHMENT: _('last attachment refused'),
    volume_attributes.Step.CONVERSION: _('not converted'),
}


class RBDTab(tabs.Tab):
    """The RBD image of a volume and its attachments."""

    name = _('RBD')
    slug = 'rbd_volume_options'
    template_name = 'horizon_volume_opts/_details.html'

    def allowed(self, request: Any) -> bool:
        """Return whether there is a record of the RBD image, or a refusal.

        A volume whose creation was refused has no image.
        """
        volume = self.tab_group.kwargs.get('volume')
        if volume is None:
            return False
        attributes = volume_attributes.of_volume(volume)
        return attributes.state is not None or bool(attributes.refusals)

    def get_context_data(self, request: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the context of the template."""
        volume = self.tab_group.kwargs['volume']
        attributes = volume_attributes.of_volume(volume)
        return {
            'volume': volume,
            'refusals': list(_refusals(attributes)),
            **(
                _of_image(volume, attributes.state) if attributes.state else {}
            ),
            'origins': {
                part.value: _ORIGINS[origin]
                for part, origin in attributes.origins.items()
            },
            'mode': (getattr(volume, 'metadata', None) or {}).get(
                keys.CACHE_MODE
            ),
            **_of_type(request, volume, attributes.state),
            'attachments': list(_attachments(volume, attributes)),
            'configuration': [
                (wording.label(key), wording.value_of(key, value))
                for key, value in attributes.configuration.items()
            ],
        }


def _refusals(attributes: volume_attributes.Made) -> Iterator[dict[str, Any]]:
    for each in attributes.refusals:
        try:
            at = dateparse.parse_datetime(each.at)
        except ValueError:
            at = None
        reason = refusals.readable(each.reason)
        yield {'step': _REFUSED[each.step], 'reason': reason, 'at': at}


def _of_image(volume: Any, state: plan.ImageState) -> dict[str, Any]:
    return {
        'object_size': layouts.size(state.layout.object_size),
        'stripe_unit': layouts.size(state.layout.stripe_unit),
        'stripe_count': state.layout.stripe_count,
        'object_count': state.layout.object_count(volume.size * sizes.GIB),
        'features': sorted(state.image_features),
        'object_map': volume_attributes.has_object_map(state),
        'data_pool': state.data_pool,
    }


def _of_type(
    request: Any, volume: Any, state: plan.ImageState | None
) -> dict[str, Any]:
    """Return what depends on the volume type: limits and defaults."""
    try:
        offer = discovery.of_type(request, volume.volume_type)
    except discovery.Unavailable:
        offer = None
    option = offer.options.get(keys.CACHE_MODE, {}) if offer else {}
    return {
        'limits': qos.text(offer.limits_on_use) if offer else '',
        'default_mode': wording.default(
            option.get('default'),
            option.get(wire.DEFAULT_FROM),
            keys.CACHE_MODE,
        )
        if option
        else None,
        'data_pool_from': _origin_of_pool(offer, state),
    }


def _origin_of_pool(
    offer: offers.UserOffer | None, state: plan.ImageState | None
) -> Any:
    """Return where the data pool was set.

    It is not recorded, and it is never inherited from a source.
    """
    if offer and state and offer.default(keys.DATA_POOL) == state.data_pool:
        return _ORIGINS.get(offer.origin(keys.DATA_POOL), _POOL_FROM)
    return _POOL_FROM


def _attachments(
    volume: Any, attributes: volume_attributes.Made
) -> Iterator[dict[str, Any]]:
    for attachment in volume.attachments:
        instance = attachment.get('instance')
        yield {
            'server': getattr(instance, 'name', None)
            or attachment.get('server_id'),
            'device': attachment.get('device'),
            'mode': attributes.cache_modes.get(
                attachment.get('attachment_id', '')
            ),
        }


def in_brief(volume: Any) -> str:
    """Return a short text for the layout and refusals; a hyphen if unknown."""
    attributes = volume_attributes.of_volume(volume)
    words = []
    if attributes.state:
        words.append(layouts.size(attributes.state.layout.object_size))
        if attributes.state.layout.striping:
            words.append(layouts.striping(attributes.state.layout))
        if volume_attributes.has_object_map(attributes.state):
            words.append(str(_('object map')))
    words += [str(_MARKS[each.step]) for each in attributes.refusals]
    return ', '.join(words) or '-'
