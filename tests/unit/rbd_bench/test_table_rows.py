#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Unit tests of rbd_bench.table_rows."""

from rbd_bench import steady
from rbd_bench import table_rows
from tests.unit import base
from tests.unit.rbd_bench import samples


class TableRowsTest(base.TestCase):
    def test_row_is_relative_to_the_baseline(self) -> None:
        cell = samples.cell(cache_mode='writeback')
        found = [
            samples.sample(10.0, cache_mode='writeback'),
            samples.sample(0.0, 1, 'failed', cache_mode='writeback'),
        ]
        baseline = steady.spread([5.0])
        row = table_rows.row(cell, found, baseline, ['layout', 'cache_mode'])
        self.assertEqual('default layout, writeback', row.label)
        self.assertEqual((2.0, ''), (row.ratio, row.error))
        self.assertEqual(steady.spread([10.0]), row.spread)
        self.assertIsNone(table_rows.row(cell, found, None, []).ratio)

    def test_failed_row_has_its_error(self) -> None:
        found = [samples.sample(0.0, error='failed')]
        row = table_rows.row(samples.cell(), found, None, [])
        self.assertEqual((None, 'failed'), (row.spread, row.error))
