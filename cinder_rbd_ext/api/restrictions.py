# SPDX-License-Identifier: Apache-2.0

"""New volumes without keys whose size their type or back end may refuse.

Most requests have no keys, and no type refuses them. This is decided with what
the API already knows, without a look-up of the type, the source or the Glance
image. If the image names a snapshot, the driver checks the volume.
"""

from collections.abc import Mapping
from typing import Any

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import offers

_Restricting = tuple[known_types.KnownType, offers.TypeOffer]

#: Size in GiB from which a volume is looked at closely: its object map may be
#: too large for librbd.
_LARGE = 64 << 10


class Restrictions:
    """Decides whether a request for a volume requires a closer look."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        self.reported = reported
        self.types = types
        # The last types and pools, and what was computed from them.
        self._known: tuple[object, object, list[_Restricting]]
        self._known = (None, None, [])

    def may_refuse(self, volume: Mapping[str, Any]) -> bool:
        """Return whether a volume without keys may be refused.

        Without a type, the source, the image or the project decides on it.

        :param volume: the request, not checked yet
        """
        size = volume_source.whole_number(volume.get('size'))
        if size is not None and size >= _LARGE:
            return True
        wanted = volume.get('volume_type') or None
        types = self.types.all()
        if types is None or not isinstance(wanted, str | None):
            return True
        if wanted is not None and not any(
            wanted in (each['id'], each['name']) for each in types
        ):
            # The type is new, or does not exist.
            return True
        source: checks.VolumeSource | None = None
        if not volume.get('source_volid') and not volume.get('snapshot_id'):
            from_image = volume_source.image_reference(volume) is not None
            source = checks.VolumeSource(
                known=not from_image, is_image=from_image
            )
        return any(
            _refuses(offer, size, source)
            for each, offer in self._look(types)
            if wanted in (None, each['id'], each['name'])
        )

    def _look(
        self, types: tuple[known_types.KnownType, ...]
    ) -> list[_Restricting]:
        """Return the types that set a layout, with their offers."""
        reported = self.reported.known()
        types_before, reported_before, restricting = self._known
        if types_before is not types or reported_before is not reported:
            restricting = []
            for each in types:
                offer = offer_of(each, self.reported)
                if offer is not None:
                    restricting.append((each, offer))
            self._known = types, reported, restricting
        return restricting


def offer_of(
    volume_type: protocols.VolumeType | known_types.KnownType,
    reported: pools.ReportedPools,
    group: Any = None,
    size: int = 0,
) -> offers.TypeOffer | None:
    """Return the offer of a type, to check a volume without keys.

    :param group: a group on whose back end Cinder places the volume
    :param size: of the volume in GiB
    :returns: None if neither the type nor its back ends set a layout, and the
        volume is not large
    """
    specs = volume_type['extra_specs'] or {}
    matching: tuple[pools.Pool, ...] = ()
    if group is not None:
        matching = reported.named(
            group.host, group.cluster_name, is_optional=True
        )
    matching = matching or reported.known_matching(specs)
    if size < _LARGE and not offers.restricts(specs, matching):
        return None
    return offers.TypeOffer.of_pools(specs, matching)


def _refuses(
    offer: offers.TypeOffer,
    size: int | None,
    source: checks.VolumeSource | None,
) -> bool:
    """Return whether a type may refuse a volume.

    :param source: None if it must be looked up
    """
    if size is None or source is None:
        return True
    try:
        checks.check_type(offer, size, source)
    except errors.OptionError:
        return True
    return False
