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

"""What the pages' scripts ask, below Horizon's own ``api/``."""

from typing import Any

from django.conf import settings
from django.views import generic
from openstack_dashboard.api.rest import urls
from openstack_dashboard.api.rest import utils

from horizon_volume_opts import discovery
from horizon_volume_opts.volumes import source
from rbd_volume_options import wire

_UNAVAILABLE = 503


class Types(generic.View):
    """What volume types offer, by their names."""

    url_regex = rf'{wire.DASHBOARD_ROUTE}types/$'

    @utils.ajax()
    def get(self, request: Any) -> Any:
        """Return the offer of each type that the user sees.

        ``?named=`` is a type that the page knows: an answer without it that
        was kept is too old.
        """
        try:
            found = discovery.by_type(request, request.GET.getlist('named'))
        except discovery.Unavailable:
            return utils.JSONResponse('unavailable', _UNAVAILABLE)
        return {
            name: {
                'reason': offer.reason,
                wire.REQUIRE_WHOLE_STRIPES: offer.require_whole_stripes,
                'options': offer.options,
            }
            for name, offer in found.items()
        }


class Source(generic.View):
    """What a volume is going to be made from."""

    url_regex = (
        rf'{wire.DASHBOARD_ROUTE}sources/(?P<kind>{"|".join(source.KINDS)})'
        r'/(?P<ident>[^/]+)/$'
    )

    @utils.ajax()
    def get(self, request: Any, kind: str, ident: str) -> Any:
        """Return the type and the RBD image of a volume, or of a snapshot's.

        ``made`` is null where nothing is recorded of the image.
        """
        found = source.find(request, kind, ident)
        made = found.state and {
            'object_size': found.state.layout.object_size,
            'stripe_unit': found.state.layout.stripe_unit,
            'stripe_count': found.state.layout.stripe_count,
            'features': sorted(found.state.image_features),
        }
        return {'volume_type': found.volume_type, 'made': made}


def sources_url() -> str:
    """Return the URL below which sources are, for a page's script."""
    return f'{settings.WEBROOT}api/{wire.DASHBOARD_ROUTE}sources/'


def add_routes() -> None:
    """Add the routes to Horizon's; a hook."""
    for view in (Types, Source):
        urls.register(view)
