# SPDX-License-Identifier: Apache-2.0

"""A request that is checked at a door, and what all checks read of it."""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import functools
from typing import Any

from cinder import volume as cinder_volume

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from rbd_volume_options import errors
from rbd_volume_options import offers


def part_of(body: object, name: str) -> dict[str, Any]:
    """Return a part of a request's body; empty if it is not an object."""
    part = body.get(name) if isinstance(body, dict) else None
    return part if isinstance(part, dict) else {}


class ApiCall:
    """A request, with what is read for it once.

    :ivar ids: the variables in the path
    :ivar part: the part of the body that the door names
    :ivar policy: Cinder's own policy of the route
    :ivar notice: what the caller should know if the request succeeds
    :ivar hint: what the caller should know if a check refuses the request
    :ivar shows_pools: whether a refusal may show the names of pools
    """

    def __init__(
        self,
        req: protocols.Request,
        body: object,
        ids: dict[str, Any],
        part: str,
        policy: str,
        known: restrictions.Restrictions,
    ) -> None:
        self.req = req
        self.context = req.environ['cinder.context']
        self.ids = ids
        self.part = part_of(body, part) if part else part_of({'': body}, '')
        self.policy = policy
        self.restrictions = known
        self.reported = known.reported
        self.types = known.types
        self.notice: str | None = None
        self.hint = ''
        self.shows_pools = False

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """Answer with HTTP 400 to what the rules do not allow."""
        try:
            yield
        except errors.OptionError as error:
            shown = error if self.shows_pools else error.for_tenants()
            raise refusals.refused(shown, self.hint) from error

    @property
    def volume_id(self) -> str:
        """The id of the volume in the path."""
        return str(self.ids.get('volume_id', self.ids.get('id')))

    @functools.cached_property
    def volume(self) -> Any:
        """The volume in the path, which the caller may change."""
        volume = cinder_volume.API().get(self.context, self.volume_id)
        if self.policy:
            self.context.authorize(self.policy, target_obj=volume)
        return volume

    @functools.cached_property
    def stored(self) -> record.Row:
        """The row of the volume, with its record."""
        return record.stored(self.volume.id)

    def offer(
        self, volume_type: protocols.VolumeType, names: Collection[str] = ()
    ) -> offers.TypeOffer:
        """Return what a type offers to a volume with some keys."""
        specs = type_specs.with_maxima(volume_type, names)
        offer = offers.TypeOffer.of_pools(specs, self.reported.matching(specs))
        if offer.reason == offers.NO_BACKEND:
            raise refusals.no_backend(volume_type['name'])
        return offer
