# SPDX-License-Identifier: Apache-2.0

import itertools

import ddt

from rbd_volume_options import errors
from rbd_volume_tools.bench import matrix
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


@ddt.ddt
class MatrixTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.plan = samples.parsed()
        self.cells = matrix.cells(self.plan)

    def select(self, *words: str) -> list[matrix.Cell]:
        selection = matrix.parse_selection(self.plan, words)
        return matrix.select(self.cells, selection)

    def test_cells_are_all_combinations(self) -> None:
        self.assertEqual(2 * 3 * 2 + 2, len(self.cells))
        self.assertEqual(14, len({each.ident for each in self.cells}))

    def test_cells_of_an_image_are_together(self) -> None:
        order = [each.image for each in self.cells]
        self.assertEqual(len(set(order)), len(list(dict.fromkeys(order))))
        changes = sum(x != y for x, y in itertools.pairwise(order))
        self.assertEqual(len(set(order)) - 1, changes)

    def test_selection_without_combinations(self) -> None:
        words = ('run=deletion', 'cache_mode=none')
        error = self.assertRaises(errors.OptionError, self.select, *words)
        self.assertIn('run=deletion cache_mode=none', str(error))

    @ddt.data(
        ([], 14),
        (['cache_mode=none'], 4),
        (['cache_mode=none', 'cache_mode=unsafe'], 8),
        (['cache_mode=none', 'workload=small'], 2),
        (['path=deletion'], 2),
        (['run=disks', 'layout=striped'], 6),
    )
    @ddt.unpack
    def test_selection_limits_the_cells(
        self, words: list[str], number: int
    ) -> None:
        self.assertEqual(number, len(self.select(*words)))

    @ddt.data('mode=none', 'cache_mode=fast', 'cache_mode')
    def test_selection_that_is_unknown(self, word: str) -> None:
        error = self.assertRaises(errors.OptionError, self.select, word)
        self.assertIn('allowed', str(error))

    def test_cell_knows_keys_and_size_of_its_data(self) -> None:
        cell = samples.cell(layout='striped', workload='mixed')
        self.assertEqual(80, cell.work.read_percent)
        self.assertEqual(
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}, cell.keys
        )
        settings = self.plan.settings
        self.assertEqual(2**30, matrix.data_bytes(cell, settings))
        deletion = samples.cell(size='1024G')
        self.assertEqual(0, matrix.data_bytes(deletion, settings))
        self.assertLess(1, matrix.seconds(cell, settings))
        self.assertEqual('1024G', deletion.load)
