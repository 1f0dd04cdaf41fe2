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

"""Counts of RBD images by object map and layout.

A census can be extended, so that a large cloud is counted in steps. It can be
converted to plain values and back, for a cache that other processes and other
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
    """The known state of the object map of an image."""

    VALID = 'valid'
    NONE = 'none'
    #: librbd ignores the map until it is rebuilt.
    INVALID = 'invalid'
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
    """

    pool: str
    volume_type: str
    map_state: MapState
    image_layout: layout.ImageLayout | None = None
    data_pool: str = ''


@dataclasses.dataclass(frozen=True)
class MapRow:
    """Number of images of a pool and volume type, by state of the map."""

    pool: str
    volume_type: str
    counts: Mapping[MapState, int]

    @property
    def total(self) -> int:
        """Number of all images of the pool and volume type."""
        return sum(self.counts.values())


@dataclasses.dataclass(frozen=True)
class LayoutRow:
    """Number of images with a layout."""

    image_layout: layout.ImageLayout
    data_pool: str
    count: int


_MapKey = tuple[str, str, MapState]
_LayoutKey = tuple[int, int, int, str]


@dataclasses.dataclass
class Census:
    """The counts and the progress of counting.

    :ivar taken: time when the count started, in ISO 8601 with a time zone
    :ivar marker: the volume to continue after; None before the start and at
        the end
    :ivar complete: whether all volumes were counted
    :ivar others: number of volumes that are not RBD images or are not created
        yet
    """

    taken: str
    marker: str | None = None
    complete: bool = False
    others: int = 0
    _maps: Counter[_MapKey] = dataclasses.field(default_factory=Counter)
    _layouts: Counter[_LayoutKey] = dataclasses.field(default_factory=Counter)

    @property
    def images(self) -> int:
        """Number of images counted so far."""
        return sum(self._maps.values())

    def add(self, images: Iterable[Image]) -> None:
        """Add images to the counts."""
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
        """Return the counts by pool and volume type, sorted by name."""
        counts: dict[tuple[str, str], dict[MapState, int]] = {}
        for (pool, volume_type, state), number in self._maps.items():
            row = counts.setdefault(
                (pool, volume_type), dict.fromkeys(MapState, 0)
            )
            row[state] = number
        return [MapRow(*key, counts[key]) for key in sorted(counts)]

    def layout_rows(self) -> list[LayoutRow]:
        """Return the counts by layout, the most frequent layout first."""
        ordered = sorted(self._layouts.items(), key=lambda i: (-i[1], i[0]))
        return [
            LayoutRow(
                layout.ImageLayout.of(object_size, unit, count), pool, number
            )
            for (object_size, unit, count, pool), number in ordered
        ]

    def plain(self) -> dict[str, Any]:
        """Return the census as plain values that can be serialized."""
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
        """Return the census for the result of :meth:`plain`.

        :raises LookupError, TypeError, ValueError: for other values
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
