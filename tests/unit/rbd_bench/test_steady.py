# SPDX-License-Identifier: Apache-2.0

import random

import ddt

from rbd_bench import steady
from tests.unit import base


@ddt.ddt
class SteadyTest(base.TestCase):
    @ddt.data(
        ([], None),
        ([0, 0, 0, 0, 0], None),
        ([100, 100], None),
        ([100, 101, 99, 100, 100], True),
        # The range is more than a fifth of the average.
        ([100, 100, 130, 100, 100], False),
        # A slope of more than a tenth, within the range.
        ([92, 96, 100, 104, 108], False),
    )
    @ddt.unpack
    def test_series_is_steady_within_its_limit(
        self, series: list[float], expected: bool | None
    ) -> None:
        self.assertIs(expected, steady.is_steady(series))

    @ddt.data(60, 300, 3600)
    def test_noise_of_single_seconds(self, seconds: int) -> None:
        noise = random.Random(1)
        series = [noise.gauss(100, 5) for _ in range(seconds)]
        self.assertTrue(steady.is_steady(series))
        falling = [x - 15 * at / seconds for at, x in enumerate(series)]
        self.assertFalse(steady.is_steady(falling))

    @ddt.data(
        ([110, 111, 112], [100, 101, 102], False),
        ([120, 121, 122], [100, 101, 102], True),
        ([120, 121], [100, 101, 102], False),
        ([120, 121, 122], [100, 101], False),
        ([120, 121, 122], [100, 101, 121], False),
    )
    @ddt.unpack
    def test_clearly_faster(
        self, one: list[float], other: list[float], expected: bool
    ) -> None:
        faster, slower = steady.spread(one), steady.spread(other)
        self.assertIs(expected, faster.is_clearly_faster(slower, 1.1))
        self.assertFalse(slower.is_clearly_faster(faster, 1.1))

    def test_spreads_overlap_or_do_not(self) -> None:
        spread = steady.spread([3.0, 1.0, 2.0])
        self.assertEqual(
            (2.0, 1.0, 3.0, 3),
            (spread.median, spread.low, spread.high, spread.count),
        )
        self.assertEqual(1.0, spread.part)
        self.assertTrue(spread.overlaps(steady.spread([3.0, 4.0])))
        self.assertFalse(spread.overlaps(steady.spread([3.1])))
