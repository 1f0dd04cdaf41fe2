# SPDX-License-Identifier: Apache-2.0

"""Test the counts of RBD images."""

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import images
from rbd_volume_options import layout
from tests.unit import base

_PLAIN = layout.ImageLayout.from_numbers(4 << 20, 4 << 20, 1)
_STRIPED = layout.ImageLayout.from_numbers(1 << 20, 1 << 16, 8)
_VALID = images.MapState.VALID
_NONE = images.MapState.NONE

_IMAGES = [
    images.Image('b', 'x', _VALID, _STRIPED),
    images.Image('a', 'y', _NONE, _PLAIN),
    images.Image('a', 'y', _VALID, _STRIPED, 'ec'),
    images.Image('a', 'y', _NONE, _STRIPED),
    images.Image('a', '', images.MapState.UNKNOWN),
]


class CensusTestCase(base.TestCase):
    def test_maps_by_pool_and_type(self) -> None:
        shown = [
            (row.pool, row.volume_type, row.total, row.counts[_NONE])
            for row in census.map_rows(_IMAGES)
        ]
        self.assertEqual(
            [('a', '', 1, 0), ('a', 'y', 3, 2), ('b', 'x', 1, 0)], shown
        )

    def test_every_state_has_a_number(self) -> None:
        for row in census.map_rows(_IMAGES):
            self.assertEqual(set(images.MapState), set(row.counts))

    def test_layouts_by_use(self) -> None:
        shown = [
            (row.image_layout, row.data_pool, row.count)
            for row in census.layout_rows(_IMAGES)
        ]
        self.assertEqual(
            [(_STRIPED, '', 2), (_STRIPED, 'ec', 1), (_PLAIN, '', 1)], shown
        )
