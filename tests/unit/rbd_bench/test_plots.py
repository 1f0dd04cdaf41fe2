# SPDX-License-Identifier: Apache-2.0

import dataclasses
import logging
import pathlib

import fixtures

from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import plots
from rbd_bench import results
from rbd_bench import shipped
from rbd_bench import summary
from tests.unit import base
from tests.unit.rbd_bench import samples


class PlotsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # matplotlib logs each font that it checks.
        logging.getLogger('matplotlib').setLevel(logging.WARNING)
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.raw = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def draw(
        self, whole_plan: plan.Plan, measured: results.Results
    ) -> dict[str, list[str]]:
        tables = summary.tables(whole_plan, measured)
        drawn = plots.draw(self.folder, whole_plan, measured, tables, self.raw)
        names = {name for each in drawn.values() for name in each}
        self.assertEqual(names, {each.name for each in self.folder.iterdir()})
        return drawn

    def test_plots_are_drawn_for_measured_runs(self) -> None:
        steady = dataclasses.replace(
            samples.sample(100.0), series=(99.0, 100.0, 101.0)
        )
        measured = samples.found(
            steady,
            samples.sample(2000.0, cache_mode='writeback'),
            samples.sample(0, error='no QEMU', cache_mode='unsafe'),
            samples.sample(1.0, features='without'),
        )
        self.assertEqual(
            {
                'disks': ['disks-ratios.svg', 'disks-time.svg'],
                'deletion': [],
            },
            self.draw(samples.parsed(), measured),
        )
        text = (self.folder / 'disks-ratios.svg').read_text()
        for part in ('20.00', 'not measured', 'writeback', 'small'):
            self.assertIn(part, text)
        # The same figures produce the same file.
        self.draw(samples.parsed(), measured)
        self.assertEqual(text, (self.folder / 'disks-ratios.svg').read_text())

    def test_depths_are_drawn_as_lines(self) -> None:
        whole_plan = shipped.load('ceph-2022')
        samples_of = [
            results.Sample(
                'depth', 'librbd', cell.ident, dict(cell.values), 0, 100.0
            )
            for cell in matrix.cells(whole_plan)
            if cell.run.name == 'depth'
        ]
        measured = results.Results(
            'ceph-2022', whole_plan.settings, whole_plan, 'cluster', 'volumes'
        )
        measured.samples = samples_of
        drawn = self.draw(whole_plan, measured)
        self.assertEqual(['depth-depth.svg'], drawn['depth'])
        text = (self.folder / 'depth-depth.svg').read_text()
        for part in ('1 job', '2 jobs', '4 jobs', '256'):
            self.assertIn(f'>{part}<', text)
