# SPDX-License-Identifier: Apache-2.0

import dataclasses

from rbd_bench import matrix
from rbd_bench import report
from rbd_bench import results
from rbd_bench import shipped
from rbd_bench import summary
from tests.unit import base
from tests.unit.rbd_bench import samples


class SummaryTest(base.TestCase):
    def tables(self, *taken: results.Sample) -> list[summary.Table]:
        return summary.tables(samples.parsed(), samples.found(*taken))

    def thrice(self, rate: float, **values: str) -> list[results.Sample]:
        return [
            samples.sample(rate + place, place, **values) for place in range(3)
        ]

    def test_ratio_and_winner(self) -> None:
        (table,) = self.tables(
            *self.thrice(100.0),
            *self.thrice(200.0, cache_mode='writeback'),
            *self.thrice(900.0, cache_mode='unsafe'),
        )
        self.assertEqual('small', table.load)
        self.assertEqual(
            ['none', 'writeback', 'unsafe'], [x.label for x in table.rows]
        )
        self.assertAlmostEqual(2.0, table.rows[1].ratio or 0.0, delta=0.01)
        # `unsafe` is never the best mode: it can lose data.
        self.assertEqual('writeback', table.best.label)

    def test_winner_needs_more_than_chance(self) -> None:
        for slow, fast in (
            # The ranges overlap.
            ((100, 300, 310), (200, 250, 260)),
            # Too few measurements.
            ((100, 101), (300, 301)),
            # The difference is too small.
            ((100, 101, 102), (105, 106, 107)),
        ):
            taken = [
                samples.sample(rate, place, cache_mode=mode)
                for mode, rates in (('none', slow), ('writeback', fast))
                for place, rate in enumerate(rates)
            ]
            (table,) = self.tables(*taken)
            self.assertIsNone(table.winner)
            self.assertEqual('none', table.best.label)
            self.assertEqual([], report.volume_types([table]))

    def test_unsteady_measurements_are_counted(self) -> None:
        for series, expected in (
            ((100.0,) * 5, 0),
            ((100.0, 50.0, 100.0, 150.0, 100.0), 1),
            ((100.0, 50.0), None),
        ):
            sample = dataclasses.replace(samples.sample(1.0), series=series)
            (table,) = self.tables(sample)
            self.assertIs(expected, table.rows[0].unsteady)

    def test_scaling_is_relative_to_the_first_depth(self) -> None:
        whole_plan = shipped.load('ceph-2022')
        measured = results.Results(
            'ceph-2022', whole_plan.settings, whole_plan, 'cluster', 'volumes'
        )
        cells = [x for x in matrix.cells(whole_plan) if x.run.name == 'depth']
        measured.samples = [
            results.Sample(
                'depth', 'librbd', cell.ident, dict(cell.values), place, rate
            )
            for cell, rate in zip(cells, range(100, 1300, 100), strict=True)
            for place in range(3)
        ]
        (table,) = summary.tables(whole_plan, measured)
        # Loads are no variants: none of them wins, or becomes a volume type.
        self.assertTrue(table.scaling)
        self.assertIsNone(table.winner)
        self.assertEqual([], report.volume_types([table]))
        self.assertEqual(
            ('depth 64 x 4 jobs', 12.0),
            (table.rows[-1].label, table.rows[-1].ratio),
        )

    def test_failed_cell_has_no_ratio(self) -> None:
        (table,) = self.tables(
            *self.thrice(100.0),
            samples.sample(0, error='no such program', cache_mode='unsafe'),
        )
        row = table.rows[-1]
        self.assertIsNone(row.spread)
        self.assertIsNone(row.ratio)
        self.assertEqual('no such program', row.error)

    def test_failed_baseline(self) -> None:
        (table,) = self.tables(
            samples.sample(0, error='down'),
            *self.thrice(100.0, cache_mode='unsafe'),
        )
        self.assertIsNone(table.rows[1].ratio)
        self.assertIsNone(table.winner)
