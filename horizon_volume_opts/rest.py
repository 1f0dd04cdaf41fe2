# SPDX-License-Identifier: Apache-2.0

"""REST views for the scripts of the pages, below Horizon's ``api/``."""

from typing import Any

from django.conf import settings
from django.views import generic
from openstack_dashboard.api.rest import urls
from openstack_dashboard.api.rest import utils

from horizon_volume_opts import discovery
from horizon_volume_opts import packing
from horizon_volume_opts import source
from rbd_volume_options import registry
from rbd_volume_options import wire

UNAVAILABLE = 503


class Types(generic.View):
    """The offers of volume types, by type name."""

    url_regex = rf'{wire.DASHBOARD_ROUTE}types/$'

    @utils.ajax()
    def get(self, request: Any) -> Any:
        """Return the offers of all types that the user can see, packed.

        ``?named=`` is the name of a type on the page. A cached response
        without that type is too old and is not used.
        """
        try:
            by_type = discovery.by_type(request, request.GET.getlist('named'))
        except discovery.Unavailable:
            return utils.JSONResponse('unavailable', UNAVAILABLE)
        return packing.packed(by_type, registry.volume_keys())


class Source(generic.View):
    """The source of a new volume."""

    url_regex = (
        rf'{wire.DASHBOARD_ROUTE}sources/(?P<kind>{"|".join(source.KINDS)})'
        r'/(?P<ident>[\w-]+)/$'
    )

    @utils.ajax()
    def get(self, request: Any, kind: str, ident: str) -> Any:
        """Return the type and RBD image of a volume or a snapshot's volume.

        ``made`` is null if there is no record of the image.
        """
        origin = source.find(request, kind, ident)
        made = origin.state and {
            'object_size': origin.state.layout.object_size,
            'stripe_unit': origin.state.layout.stripe_unit,
            'stripe_count': origin.state.layout.stripe_count,
            'features': sorted(origin.state.image_features),
        }
        return {'volume_type': origin.volume_type, 'made': made}


def sources_url() -> str:
    """Return the base URL of sources, for the script of a page."""
    return f'{settings.WEBROOT}api/{wire.DASHBOARD_ROUTE}sources/'


def add_routes() -> None:
    """Add the routes to those of Horizon; a hook."""
    for view in (Types, Source):
        urls.register(view)
