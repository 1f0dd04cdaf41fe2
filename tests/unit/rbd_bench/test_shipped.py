# SPDX-License-Identifier: Apache-2.0

import pathlib

import ddt
import fixtures

from rbd_bench import matrix
from rbd_bench import shipped
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.rbd_bench import samples


@ddt.ddt
class ShippedTest(base.TestCase):
    @ddt.data(*shipped.names())
    def test_shipped_plans_are_valid(self, name: str) -> None:
        for short in (False, True):
            whole_plan = shipped.load(name, short)
            self.assertEqual(name, whole_plan.name)
            self.assertTrue(matrix.cells(whole_plan))
            self.assertTrue(whole_plan.published)
        self.assertEqual(1, whole_plan.settings.repetitions)

    def test_the_published_plans_are_shipped(self) -> None:
        self.assertLessEqual(
            {'ceph-2022', 'cern-2013', 'switch-object-map'},
            set(shipped.names()),
        )

    @ddt.data(*shipped.names())
    def test_published_figures_name_one_combination(self, name: str) -> None:
        whole_plan = shipped.load(name)
        for each in whole_plan.published:
            self.assertTrue(each.path or each.ratio is None, each.name)
            for side in (each.of, each.to):
                # It names one combination, whatever the order of the plan.
                cells = [
                    cell
                    for cell in matrix.cells(whole_plan)
                    if cell.run.name == each.run
                    and side.items() <= cell.values.items()
                ]
                self.assertEqual(1, len(cells), f'{each.name}: {side}')

    def test_ratios_are_published_ones(self) -> None:
        self.assertEqual(
            {
                'cache none': 2.06,
                'cache none in a guest': 2.06,
                'allocator': 1.5,
                'iothread': 1.04,
                'secure messenger': 0.71,
            },
            {
                each.name: each.ratio
                for name in shipped.names()
                for each in shipped.load(name).published
                if each.ratio is not None
            },
        )

    def test_sides_of_ceph(self) -> None:
        by_name = {
            each.name: each for each in shipped.load('ceph-2022').published
        }
        for name, of, to in (
            (
                'cache none',
                ('none', 'on', 'libc'),
                ('writeback', 'on', 'libc'),
            ),
            (
                'iothread',
                ('writeback', 'on', 'libc'),
                ('writeback', 'off', 'libc'),
            ),
            ('allocator', ('none', 'off', 'tcmalloc'), ('none', 'on', 'libc')),
        ):
            each = by_name[name]
            for side, expected in ((each.of, of), (each.to, to)):
                self.assertEqual(
                    expected,
                    tuple(
                        side[axis]
                        for axis in ('cache_mode', 'io_thread', 'allocator')
                    ),
                )
                self.assertEqual('16K random read', side['workload'])
            self.assertEqual('guest', each.path)

    def test_plan_is_loaded_from_a_path(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'mine.yaml'
        path.write_text(samples.PLAN)
        self.assertEqual('mine', shipped.load(str(path)).name)

    @ddt.data('none-such', 'none-such.yaml', '/tmp')
    def test_no_such_plan(self, name: str) -> None:
        error = self.assertRaises(errors.OptionError, shipped.load, name)
        self.assertIn('cern-2013', str(error))

    def test_of_results(self) -> None:
        measured = samples.found()
        self.assertIs(measured.whole_plan, shipped.of_results(measured))
        whole_plan = shipped.of_results(
            measured, self.path('ratio: 2', 'ratio: 3')
        )
        self.assertEqual(3, whole_plan.published[0].ratio)
        error = self.assertRaises(
            errors.OptionError,
            shipped.of_results,
            measured,
            self.path('queue_depth: 16', 'queue_depth: 8'),
        )
        self.assertIn('workloads[small].queue_depth: 16, not 8', str(error))

    def path(self, old: str = '', new: str = '') -> str:
        """Return the path of a changed plan."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'mine.yaml'
        path.write_text(samples.PLAN.replace(old, new, 1))
        return str(path)
