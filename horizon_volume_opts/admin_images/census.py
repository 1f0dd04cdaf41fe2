# SPDX-License-Identifier: Apache-2.0

"""Counts of RBD images by object map and layout."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from horizon_volume_opts.admin_images import images
from rbd_volume_options import layout


@dataclasses.dataclass(frozen=True)
class MapRow:
    """Number of images of a pool and volume type, by state of the map."""

    pool: str
    volume_type: str
    counts: Mapping[images.MapState, int]

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


def map_rows(rbd_images: Iterable[images.Image]) -> list[MapRow]:
    """Return counts by pool and volume type, sorted by name."""
    counts: dict[tuple[str, str], dict[images.MapState, int]] = {}
    for each in rbd_images:
        row = counts.setdefault(
            (each.pool, each.volume_type), dict.fromkeys(images.MapState, 0)
        )
        row[each.map_state] += 1
    return [MapRow(*key, counts[key]) for key in sorted(counts)]


def layout_rows(rbd_images: Iterable[images.Image]) -> list[LayoutRow]:
    """Return counts by layout, the most frequent layout first."""
    counts = Counter(
        (
            made.object_size,
            made.stripe_unit,
            made.stripe_count,
            each.data_pool,
        )
        for each in rbd_images
        if (made := each.image_layout)
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        LayoutRow(
            layout.ImageLayout.from_numbers(object_size, unit, count),
            pool,
            number,
        )
        for (object_size, unit, count, pool), number in ordered
    ]
