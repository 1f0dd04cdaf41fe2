# SPDX-License-Identifier: Apache-2.0

"""Requests that restore a backup."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import visible_types
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import sector_sizes


class BackupsController(wsgi.Controller):
    """Checks that servers can read a backup after its restore.

    :param reported: the pools, with the settings of their back ends
    """

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    @wsgi.extends
    def restore(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the volume to which a backup is restored."""
        context = req.environ['cinder.context']
        written = volume_source.disk_of_backup(context, id)
        if written is not None:
            volume_id = checks.part_of(body, 'restore').get('volume_id')
            with refusals.bad_request():
                if volume_id is None:
                    self._check_new_volume(context, written)
                elif uuidutils.is_uuid_like(volume_id):
                    volume = cinder_volume.API().get(context, volume_id)
                    sector_sizes.check_receives(
                        record.disk_in(record.items_of(volume.id)), written
                    )
        yield

    def _check_new_volume(
        self, context: protocols.Context, written: Mapping[str, Any]
    ) -> None:
        """Check the volume of the default type that Cinder would create."""
        volume_type = visible_types.of_new_volume(context, None)
        if volume_type is not None:
            specs = volume_type['extra_specs'] or {}
            offer = offers.TypeOffer.of(specs, self._reported.matching(specs))
            checks.check_readable(offer, {}, written)
