# SPDX-License-Identifier: Apache-2.0

"""The RBD images of volumes, as rows of the panel."""

import dataclasses
import enum
from typing import Any

from rbd_volume_options import layout
from rbd_volume_options import wire


class MapState(enum.Enum):
    """The known state of the object map of an image."""

    VALID = wire.AUDIT_MAP_VALID
    #: The image has a map; only Ceph knows whether it is valid.
    UNCHECKED = 'unchecked'
    NONE = wire.AUDIT_MAP_NONE
    #: librbd ignores the map until it is rebuilt.
    INVALID = wire.AUDIT_MAP_INVALID
    #: There is no record of the image.
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Image:
    """The RBD image of a volume.

    :ivar pool: Cinder's pool, ``host@backend#pool``
    :ivar volume_type: name of the volume type; empty if there is none
    :ivar map_state: state of the object map
    :ivar image_layout: the layout; None if unknown
    :ivar data_pool: Ceph pool of the data if it is a separate pool, or empty
    :ivar ident: ID of the volume
    :ivar name: name of the volume, or empty
    :ivar project: ID of its project
    :ivar size: of the volume in GiB
    :ivar findings: kinds of findings of the last audit
    """

    pool: str
    volume_type: str
    map_state: MapState
    image_layout: layout.ImageLayout | None = None
    data_pool: str = ''
    ident: str = ''
    name: str = ''
    project: str = ''
    size: int = 0
    findings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the volume, or its ID."""
        return self.name or self.ident

    def plain(self) -> list[Any]:
        """Return the image as plain values that can be serialized."""
        made = self.image_layout
        return [
            self.pool,
            self.volume_type,
            self.map_state.value,
            made and [made.object_size, made.stripe_unit, made.stripe_count],
            self.data_pool,
            self.ident,
            self.name,
            self.project,
            self.size,
            self.findings,
        ]

    @classmethod
    def of_plain(cls, values: list[Any]) -> 'Image':
        """Return the image for the result of :meth:`plain`.

        :raises LookupError, TypeError, ValueError: for other values
        """
        pool, volume_type, state, made, data_pool, *rest = values
        ident, name, project, size, kinds = rest
        return cls(
            pool,
            volume_type,
            MapState(state),
            layout.ImageLayout.from_numbers(*made) if made else None,
            data_pool,
            ident,
            name,
            project,
            size,
            tuple(kinds),
        )
