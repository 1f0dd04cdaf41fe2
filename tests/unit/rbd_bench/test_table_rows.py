# SPDX-License-Identifier: Apache-2.0

from rbd_bench import steady
from rbd_bench import table_rows
from tests.unit import base
from tests.unit.rbd_bench import samples


class TableRowsTest(base.TestCase):
    def test_row_is_relative_to_the_baseline(self) -> None:
        cell = samples.cell(cache_mode='writeback')
        taken = [
            samples.sample(10.0, cache_mode='writeback'),
            samples.sample(0.0, 1, 'failed', cache_mode='writeback'),
        ]
        baseline = steady.spread([5.0])
        row = table_rows.row(cell, taken, baseline, ['layout', 'cache_mode'])
        self.assertEqual('default layout, writeback', row.label)
        self.assertEqual((2.0, ''), (row.ratio, row.error))
        self.assertEqual(steady.spread([10.0]), row.spread)
        self.assertIsNone(table_rows.row(cell, taken, None, []).ratio)

    def test_failed_row_has_its_error(self) -> None:
        taken = [samples.sample(0.0, error='failed')]
        row = table_rows.row(samples.cell(), taken, None, [])
        self.assertEqual((None, 'failed'), (row.spread, row.error))
