# SPDX-License-Identifier: Apache-2.0

"""Requests that bring an RBD image under Cinder's management."""

from collections.abc import Iterator
from typing import Any

from cinder import exception
from cinder.api.openstack import wsgi
from cinder.policies import manageable_volumes as stock

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import request
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import visible_types
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import plan


class ManageController(wsgi.Controller):
    """Checks keys before Cinder creates the volume.

    Only the volume service can check whether the image matches the keys.
    Operators manage volumes, so the list of keys for tenants does not apply.
    """

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the keys of the volume."""
        volume = body.get('volume') if isinstance(body, dict) else None
        if isinstance(volume, dict):
            metadata = checks.ours(volume.get('metadata'))
            if metadata is not None:
                self._check(req.environ['cinder.context'], volume, metadata)
        yield

    def _check(
        self,
        context: protocols.Context,
        volume: dict[str, Any],
        metadata: dict[str, str],
    ) -> None:
        context.authorize(stock.MANAGE_POLICY)
        policies.check_keys(context, metadata)
        with refusals.bad_request():
            checks.check_syntax(
                metadata, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
            )
        specs = _specs(context, volume.get('volume_type'))
        if specs is None or not (metadata or options.ours(specs)):
            return
        matching = self._reported.destination(context, volume)
        if not matching:
            # Cinder refuses a host that does not exist.
            return
        offer = offers.TypeOffer.of(specs, matching)
        with refusals.bad_request():
            offer.check_offered(metadata, errors.Origin.VOLUME_METADATA)
            for settings in offer.settings:
                asked = request.read(metadata, specs, settings)
                plan.check_managed(asked.resolve())


def _specs(
    context: protocols.Context, wanted: object
) -> dict[str, str] | None:
    """Return the extra specs of a type; None if Cinder refuses the type."""
    if not wanted:
        return {}
    if not isinstance(wanted, str):
        return None
    try:
        volume_type = visible_types.find(context, wanted)
    except exception.NotFound:
        return None
    return dict(volume_type.extra_specs or {})
