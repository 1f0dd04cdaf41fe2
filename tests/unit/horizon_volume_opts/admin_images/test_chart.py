# SPDX-License-Identifier: Apache-2.0

"""Content of the charts."""

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import images
from tests.unit import base


def _row(name: str, **numbers: int) -> census.MapRow:
    counts = dict.fromkeys(images.MapState, 0)
    counts |= {images.MapState[key.upper()]: n for key, n in numbers.items()}
    return census.MapRow('pool', name, counts)


class ChartTestCase(base.TestCase):
    def test_no_images_draw_no_bars(self) -> None:
        drawn = chart.draw([])
        self.assertEqual(0, len(drawn.bars))

    def test_the_largest_first_and_as_long_as_there_is_room(self) -> None:
        drawn = chart.draw([_row('small', none=10), _row('large', valid=40)])
        large, small = drawn.bars
        self.assertEqual('large', large.row.volume_type)
        self.assertAlmostEqual(chart.WIDTH, large.pieces[0].width)
        self.assertAlmostEqual(chart.WIDTH / 4, small.pieces[0].width)

    def test_pieces_follow_each_other(self) -> None:
        (bar,) = chart.draw([_row('x', valid=5, none=3, unknown=2)]).bars
        self.assertEqual([5, 3, 2], [piece.count for piece in bar.pieces])
        ends = [piece.x + piece.width for piece in bar.pieces]
        starts = [piece.x for piece in bar.pieces]
        for end, start in zip(ends, starts[1:], strict=False):
            self.assertAlmostEqual(end, start)

    def test_no_more_bars_than_fit(self) -> None:
        rows = [_row(f'{n}', valid=n) for n in range(1, 31)]
        drawn = chart.draw(rows)
        self.assertEqual(chart.MOST_BARS, len(drawn.bars))
        self.assertEqual(30 - chart.MOST_BARS, drawn.left_out)
        self.assertEqual(30, drawn.bars[0].row.total)

    def test_every_state_can_be_told_from_the_others(self) -> None:
        self.assertEqual(set(images.MapState), set(chart.STATES))
        fills = {fill for _, fill in chart.STATES.values()}
        self.assertEqual(len(images.MapState), len(fills))
