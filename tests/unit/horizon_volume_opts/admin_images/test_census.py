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

"""Counting, in steps and through a cache."""

import json

from horizon_volume_opts.admin_images import census
from rbd_volume_options import layout
from tests.unit import base

_PLAIN = layout.ImageLayout.of(4 << 20, 4 << 20, 1)
_STRIPED = layout.ImageLayout.of(1 << 20, 1 << 16, 8)
_VALID = census.MapState.VALID
_NONE = census.MapState.NONE
_UNKNOWN = census.MapState.UNKNOWN


def _taken() -> census.Census:
    found = census.Census('2026-01-02T03:04:05+00:00')
    found.add(
        [
            census.Image('b', 'x', _VALID, _STRIPED),
            census.Image('a', 'y', _NONE, _PLAIN),
            census.Image('a', 'y', _VALID, _STRIPED, 'ec'),
        ]
    )
    found.add([census.Image('a', 'y', _NONE, _STRIPED)])
    found.add([census.Image('a', '', _UNKNOWN)])
    return found


class CensusTestCase(base.TestCase):
    def test_maps_by_pool_and_type(self) -> None:
        shown = [
            (row.pool, row.volume_type, row.total, row.counts[_NONE])
            for row in _taken().map_rows()
        ]
        self.assertEqual(
            [('a', '', 1, 0), ('a', 'y', 3, 2), ('b', 'x', 1, 0)], shown
        )

    def test_every_state_has_a_number(self) -> None:
        for row in _taken().map_rows():
            self.assertEqual(set(census.MapState), set(row.counts))

    def test_layouts_by_use(self) -> None:
        shown = [
            (row.image_layout, row.data_pool, row.count)
            for row in _taken().layout_rows()
        ]
        self.assertEqual(
            [(_STRIPED, '', 2), (_STRIPED, 'ec', 1), (_PLAIN, '', 1)], shown
        )

    def test_images_are_counted_with_and_without_a_record(self) -> None:
        self.assertEqual(5, _taken().images)

    def test_through_a_cache_and_on(self) -> None:
        before = _taken()
        before.marker, before.others = 'an id', 7
        after = census.Census.of_plain(json.loads(json.dumps(before.plain())))
        self.assertEqual(before, after)
        after.add([census.Image('b', 'x', _VALID, _STRIPED)])
        self.assertEqual(2, after.map_rows()[-1].total)
