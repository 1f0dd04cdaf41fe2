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

"""How many RBD images there are of which kind: numbers only.

A census can be added to, so that a large cloud is counted in steps, and be
turned into plain values and back, for a cache that other processes and other
versions of this code read.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from rbd_volume_options import layout


class MapState(enum.Enum):
    """What is known of an image's object map."""

    VALID = 'valid'
    NONE = 'none'
    #: librbd passes the map over until it is rebuilt.
    INVALID = 'invalid'
    #: Nothing is recorded of the image.
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Image:
    """The image of one volume.

    :ivar pool: Cinder's pool, ``host@backend#pool``
    :ivar volume_type: the type's name; empty where there is none
    :ivar image_layout: None where it isn't known
    :ivar data_pool: the Ceph pool of its data, where that is another one
    """

    pool: str
    volume_type: str
    map_state: MapState
    image_layout: layout.ImageLayout | None = None
    data_pool: str = ''


@dataclasses.dataclass(frozen=True)
class MapRow:
    """How many images of a pool and a volume type have a map."""

    pool: str
    volume_type: str
    counts: Mapping[MapState, int]

    @property
    def total(self) -> int:
        """All images of the pool and the type."""
        return sum(self.counts.values())


@dataclasses.dataclass(frozen=True)
class LayoutRow:
    """How many images have a layout."""

    image_layout: layout.ImageLayout
    data_pool: str
    count: int


_MapKey = tuple[str, str, MapState]
_LayoutKey = tuple[int, int, int, str]


@dataclasses.dataclass
class Census:
    """The numbers, and how far the counting has come.

    :ivar taken: when the counting began, in ISO 8601 with its time zone
    :ivar marker: what to go on from; None at the beginning and at the end
    :ivar complete: whether everything was counted
    :ivar others: volumes that aren't RBD images, or aren't made yet
    """

    taken: str
    marker: str | None = None
    complete: bool = False
    others: int = 0
    _maps: Counter[_MapKey] = dataclasses.field(default_factory=Counter)
    _layouts: Counter[_LayoutKey] = dataclasses.field(default_factory=Counter)

    @property
    def images(self) -> int:
        """How many images were counted."""
        return sum(self._maps.values())

    def add(self, images: Iterable[Image]) -> None:
        """Count images."""
        for each in images:
            self._maps[each.pool, each.volume_type, each.map_state] += 1
            if found := each.image_layout:
                self._layouts[
                    found.object_size,
                    found.stripe_unit,
                    found.stripe_count,
                    each.data_pool,
                ] += 1

    def map_rows(self) -> list[MapRow]:
        """Return the maps by pool and type, in the order of their names."""
        counts: dict[tuple[str, str], dict[MapState, int]] = {}
        for (pool, volume_type, state), number in self._maps.items():
            row = counts.setdefault(
                (pool, volume_type), dict.fromkeys(MapState, 0)
            )
            row[state] = number
        return [MapRow(*key, counts[key]) for key in sorted(counts)]

    def layout_rows(self) -> list[LayoutRow]:
        """Return the layouts, those in most use first."""
        ordered = sorted(self._layouts.items(), key=lambda i: (-i[1], i[0]))
        return [
            LayoutRow(
                layout.ImageLayout.of(object_size, unit, count), pool, number
            )
            for (object_size, unit, count, pool), number in ordered
        ]

    def plain(self) -> dict[str, Any]:
        """Return it in values that any serializer takes."""
        return {
            'taken': self.taken,
            'marker': self.marker,
            'complete': self.complete,
            'others': self.others,
            'maps': [
                [pool, volume_type, state.value, number]
                for (pool, volume_type, state), number in self._maps.items()
            ],
            'layouts': [[*key, n] for key, n in self._layouts.items()],
        }

    @classmethod
    def of_plain(cls, values: Mapping[str, Any]) -> 'Census':
        """Return what :meth:`plain` was called on.

        :raises LookupError, TypeError, ValueError: for anything else
        """
        found = cls(
            values['taken'],
            values['marker'],
            values['complete'],
            values['others'],
        )
        for pool, volume_type, state, number in values['maps']:
            found._maps[pool, volume_type, MapState(state)] = number
        for object_size, unit, count, pool, number in values['layouts']:
            found._layouts[object_size, unit, count, pool] = number
        return found
