# SPDX-License-Identifier: Apache-2.0

"""The base class of the controllers, and what all read of a request."""

from collections.abc import Collection
from typing import Any

from cinder.api.openstack import wsgi
from cinder.common import constants

from cinder_rbd_ext import protocols
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from rbd_volume_options import offers
from rbd_volume_options import wire


def part_of(body: object, name: str) -> dict[str, Any]:
    """Return a part of a request's body; empty if it is not an object."""
    part = body.get(name) if isinstance(body, dict) else None
    return part if isinstance(part, dict) else {}


def whole_number(value: Any) -> int | None:
    """Return a size in GiB as Cinder reads it; None if Cinder refuses it."""
    try:
        size = int(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return size if 0 < size <= constants.DB_MAX_INT else None


class Controller(wsgi.Controller):
    """A controller of the extension, which knows the pools and the types."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__()
        self._reported = reported
        self._types = types

    def _offer(
        self, volume_type: protocols.VolumeType, names: Collection[str] = ()
    ) -> offers.TypeOffer:
        """Return what a type offers to a volume with some keys."""
        specs = type_specs.with_maxima(volume_type, names)
        offer = offers.TypeOffer.of(specs, self._reported.matching(specs))
        if offer.reason == wire.NO_BACKEND:
            raise refusals.no_backend(volume_type['name'])
        return offer
