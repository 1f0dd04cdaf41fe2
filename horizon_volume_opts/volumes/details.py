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

"""A tab with the RBD image in the details of a volume.

Horizon's ``EXTRA_TABS`` adds it to the tab groups; nothing is replaced.
"""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _
from horizon import tabs

from horizon_volume_opts import discovery
from horizon_volume_opts import made
from horizon_volume_opts import qos
from horizon_volume_opts import wording
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import precedence
from rbd_volume_options import sizes
from rbd_volume_options import wire

_PART = precedence.Part
_ORIGINS: dict[errors.Origin, Any] = {
    errors.Origin.VOLUME_METADATA: _('requested for this volume'),
    errors.Origin.VOLUME_TYPE: _('set by the volume type'),
    errors.Origin.SOURCE_VOLUME: _('same as the source'),
    errors.Origin.BACKEND: _('set by the back end'),
    errors.Origin.GLANCE_IMAGE: _('same as the image'),
    errors.Origin.CLUSTER: _('set by Ceph'),
}


class RBDTab(tabs.Tab):
    """The RBD image of a volume and its attachments."""

    name = _('RBD')
    slug = 'rbd_volume_options'
    template_name = 'horizon_volume_opts/_details.html'

    def allowed(self, request: Any) -> bool:
        """Return whether there is a record of the RBD image."""
        volume = self.tab_group.kwargs.get('volume')
        return volume is not None and made.of_volume(volume).state is not None

    def get_context_data(self, request: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the context of the template."""
        volume = self.tab_group.kwargs['volume']
        found = made.of_volume(volume)
        state = found.state
        assert state is not None  # noqa: S101  (see allowed)
        return {
            'volume': volume,
            'object_size': sizes.format_size(state.layout.object_size),
            'stripe_unit': sizes.format_size(state.layout.stripe_unit),
            'stripe_count': state.layout.stripe_count,
            'object_count': state.layout.object_count(volume.size * sizes.GIB),
            'features': sorted(state.image_features),
            'object_map': made.has_object_map(state),
            'data_pool': state.data_pool,
            'origins': {
                part.value: _ORIGINS[origin]
                for part, origin in found.origins.items()
            },
            'mode': (getattr(volume, 'metadata', None) or {}).get(
                keys.CACHE_MODE
            ),
            **_of_type(request, volume),
            'attachments': list(_attachments(volume, found)),
        }


def _of_type(request: Any, volume: Any) -> dict[str, Any]:
    """Return the limits of the volume type and its default cache mode."""
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
    }


def _attachments(volume: Any, found: made.Made) -> Iterator[dict[str, Any]]:
    for attachment in volume.attachments:
        instance = attachment.get('instance')
        yield {
            'server': getattr(instance, 'name', None)
            or attachment.get('server_id'),
            'device': attachment.get('device'),
            'mode': found.cache_modes.get(attachment.get('attachment_id', '')),
        }


def in_brief(volume: Any) -> str:
    """Return a short text for the layout; a hyphen if unknown."""
    state = made.of_volume(volume).state
    if state is None:
        return '-'
    text = str(state.layout)
    if made.has_object_map(state):
        return str(_('%(layout)s, object map') % {'layout': text})
    return text
