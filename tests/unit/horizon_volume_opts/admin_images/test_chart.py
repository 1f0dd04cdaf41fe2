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

"""What is drawn."""

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from tests.unit import base


def _row(name: str, **numbers: int) -> census.MapRow:
    counts = dict.fromkeys(census.MapState, 0)
    counts |= {census.MapState[key.upper()]: n for key, n in numbers.items()}
    return census.MapRow('pool', name, counts)


class ChartTestCase(base.TestCase):
    def test_nothing(self) -> None:
        drawn = chart.draw([])
        self.assertEqual(0, len(drawn.bars))

    def test_the_largest_first_and_as_long_as_there_is_room(self) -> None:
        drawn = chart.draw([_row('small', none=10), _row('large', valid=40)])
        large, small = drawn.bars
        self.assertEqual('large', large.row.volume_type)
        lengths = [bar.end - bar.pieces[0].x for bar in drawn.bars]
        self.assertAlmostEqual(4.0, lengths[0] / lengths[1])
        self.assertLess(large.end, chart.WIDTH)
        self.assertLess(large.y + large.height, small.y)
        self.assertLessEqual(small.y + small.height, drawn.height)

    def test_pieces_follow_each_other(self) -> None:
        (bar,) = chart.draw([_row('x', valid=5, none=3, unknown=2)]).bars
        self.assertEqual([5, 3, 2], [piece.count for piece in bar.pieces])
        ends = [piece.x + piece.width for piece in bar.pieces]
        starts = [piece.x for piece in bar.pieces]
        for end, start in zip(ends, starts[1:], strict=False):
            self.assertAlmostEqual(end, start)
        self.assertAlmostEqual(bar.end, ends[-1])

    def test_a_number_only_where_it_fits(self) -> None:
        (bar,) = chart.draw([_row('x', valid=5000, none=1)]).bars
        self.assertEqual([True, False], [p.has_room for p in bar.pieces])

    def test_legend_names_what_is_drawn(self) -> None:
        drawn = chart.draw([_row('x', valid=1), _row('y', unknown=1)])
        labels = [str(piece.label) for piece in drawn.legend]
        self.assertEqual(['with object map', 'not recorded'], labels)

    def test_no_more_bars_than_fit(self) -> None:
        rows = [_row(f'{n}', valid=n) for n in range(1, 31)]
        drawn = chart.draw(rows)
        self.assertEqual(chart.MOST_BARS, len(drawn.bars))
        self.assertEqual(30 - chart.MOST_BARS, drawn.left_out)
        self.assertEqual(30, drawn.bars[0].row.total)

    def test_every_state_can_be_told_from_the_others(self) -> None:
        self.assertEqual(set(census.MapState), set(chart.STATES))
        fills = {fill for _, fill, _ in chart.STATES.values()}
        self.assertEqual(len(census.MapState), len(fills))
        for _, fill, ink in chart.STATES.values():
            self.assertGreaterEqual(_contrast(fill, ink), 4.5, fill)


def _contrast(one: str, other: str) -> float:
    """Return the contrast as WCAG 2 defines it."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    def linear(part: str) -> float:
        value: float = int(part, 16) / 255
        if value <= 0.04045:
            return value / 12.92
        return float(((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(colour[n : n + 2]) for n in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
