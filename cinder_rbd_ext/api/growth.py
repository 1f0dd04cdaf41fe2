# SPDX-License-Identifier: Apache-2.0

"""Requests that extend a volume."""

from collections.abc import Mapping
from typing import Any

from cinder import volume as cinder_volume
from cinder.api import microversions
from cinder.policies import volume_actions as stock
from oslo_utils import units

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import replaced
from rbd_volume_options import growth
from rbd_volume_options import limits
from rbd_volume_options import precedence

# This applies to a volume with another driver or no requested layout.
_UNBOUNDED = limits.Limits(require_whole_stripes=False, max_objects=1 << 63)


class Growth:
    """Checks the new size of a volume, before quota is reserved.

    Otherwise the volume service would refuse it and leave the volume in
    ``error_extending``.
    """

    def __init__(self, reported: pools.ReportedPools) -> None:
        self._reported = reported

    def check(
        self, req: protocols.Request, volume_id: str, asked: Mapping[str, Any]
    ) -> None:
        """Check a request for ``os-extend``.

        :raises HTTPBadRequest: for a size that the layout or the object map do
            not allow, or while the volume is migrated
        :raises HTTPServiceUnavailable: if the result depends on the limits of
            the back end and they are unknown
        """
        size = checks.whole_number(asked.get('new_size'))
        if size is None:
            return
        context = req.environ['cinder.context']
        volume = cinder_volume.API().get(context, volume_id)
        context.authorize(_policy(req, volume), target_obj=volume)
        if size > volume.size:
            self._check(volume, size * units.Gi)

    def _check(self, volume: protocols.Volume, size: int) -> None:
        recorded = record.items_of(volume.id)
        replaced.check_is_not_copied(volume, recorded)
        state = record.read(recorded)
        if state is None or not self._applies(volume, recorded):
            return
        origins = record.origins(recorded) or {}
        bounds = _UNBOUNDED
        if not precedence.GIVEN.isdisjoint(origins.values()):
            bounds = self._limits(volume)
        with refusals.bad_request():
            growth.check(state, origins, size, bounds)

    def _applies(
        self, volume: protocols.Volume, recorded: Mapping[str, str]
    ) -> bool:
        """Return whether the back end of a volume applies its record.

        Our driver applies it whatever section wrote it, because an operator
        may have renamed the section. Another driver does not: the record may
        be that of the former image of a migrated volume.
        """
        if record.of_volume(volume, recorded):
            return True
        here = self._reported.holding(volume)
        return here is None or capabilities.is_ours(here.capabilities)

    def _limits(self, volume: protocols.Volume) -> limits.Limits:
        """Return the limits of the back end that holds the volume."""
        here = self._reported.holding(volume)
        if here is None:
            raise refusals.unavailable(
                'The back end of the volume has not reported its '
                'capabilities yet.'
            )
        # A back end with another driver applies its own rules.
        return here.settings.limits if here.settings else _UNBOUNDED


def _policy(req: protocols.Request, volume: protocols.Volume) -> str:
    """Return the policy that Cinder checks."""
    in_use = volume.status == 'in-use'
    if in_use and req.api_version_request.matches(
        microversions.VOLUME_EXTEND_INUSE
    ):
        return str(stock.EXTEND_ATTACHED_POLICY)
    return str(stock.EXTEND_POLICY)
