# SPDX-License-Identifier: Apache-2.0

"""New volumes without keys whose size their type or back end may refuse.

Most requests have no keys, and no type refuses them. This is decided with what
the API already knows, without a look-up of the type, the source or the Glance
image. If the image names a snapshot, the driver checks the volume.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import options

_Restricting = tuple[known_types.KnownType, tuple[pools.Pool, ...]]


@dataclasses.dataclass(frozen=True)
class _Known:
    """The types and the reported pools, and the verdicts that they allow.

    :ivar decide: :func:`_may_refuse`, which remembers its results
    """

    types: tuple[known_types.KnownType, ...]
    reported: tuple[pools.Pool, ...]
    decide: Callable[..., bool]


class Restrictions:
    """Decides whether a request for a volume requires a closer look."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        self._reported = reported
        self._types = types
        self._known: _Known | None = None

    def may_refuse(self, volume: Mapping[str, Any]) -> bool:
        wanted = volume.get('volume_type') or None
        known = self._look()
        if known is None or not isinstance(wanted, str | None):
            return True
        if wanted is not None and not any(
            wanted in (each.ident, each.name) for each in known.types
        ):
            # The type is new, or does not exist.
            return True
        source: volume_source.Source | None = None
        if not volume.get('source_volid') and not volume.get('snapshot_id'):
            from_image = volume_source.image_reference(volume) is not None
            source = volume_source.Source(
                known=not from_image, is_image=from_image
            )
        size = checks.whole_number(volume.get('size'))
        return known.decide(wanted, size, source)

    def offer(
        self, volume_type: protocols.VolumeType, group: Any = None
    ) -> offers.TypeOffer | None:
        """Return the offer of a type, to check a volume without keys.

        :param group: a group on whose back end Cinder places the volume
        :returns: None if neither the type nor its back ends set a layout
        """
        specs = volume_type['extra_specs'] or {}
        matching: tuple[pools.Pool, ...] = ()
        if group is not None:
            matching = self._reported.named(
                group.host, group.cluster_name, is_optional=True
            )
        matching = matching or self._reported.known_matching(specs)
        if not _restricts(specs, matching):
            return None
        return offers.TypeOffer.of(specs, matching)

    def _look(self) -> _Known | None:
        types, reported = self._types.all(), self._reported.known()
        known = self._known
        if types is None:
            return None
        if (
            known is None
            or known.types is not types
            or known.reported is not reported
        ):
            restricting = []
            for each in types:
                matching = self._reported.known_matching(each.specs)
                if _restricts(each.specs, matching):
                    restricting.append((each, matching))
            decide = functools.partial(_may_refuse, restricting)
            known = _Known(types, reported, functools.cache(decide))
            self._known = known
        return known


def _restricts(
    specs: Mapping[str, str], matching: tuple[pools.Pool, ...]
) -> bool:
    return bool(options.ours(specs)) or any(
        pool.settings
        and (
            pool.settings.options.striping
            or any(
                definitions.OPTIONS[key].kind is definitions.Kind.DISK
                for key in pool.settings.options.plain
            )
        )
        for pool in matching
    )


def _may_refuse(
    restricting: Iterable[_Restricting],
    wanted: str | None,
    size: int | None,
    source: volume_source.Source | None,
) -> bool:
    """Return whether one of the possible types may refuse a request.

    Without a type, the source, the image or the project decides on it.

    :param source: None if it must be looked up
    """
    for each, matching in restricting:
        if wanted not in (None, each.ident, each.name):
            continue
        if size is None or source is None:
            return True
        try:
            offer = offers.TypeOffer.of(each.specs, matching)
            checks.check_type(offer, size, source)
        except errors.OptionError:
            return True
    return False
