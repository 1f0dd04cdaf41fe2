# SPDX-License-Identifier: Apache-2.0

import pathlib

import fixtures

from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import report
from rbd_volume_tools.bench import results
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


class ReportTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.measured = samples.measured(
            *samples.thrice(100.0),
            *samples.thrice(300.0, cache_mode='writeback'),
            samples.sample(0, error='<b>a|b', cache_mode='unsafe'),
        )

    def write(self) -> str:
        report.write(self.folder, self.measured)
        return (self.folder / report.REPORT).read_text()

    def test_report_has_figures_facts_and_published_ratios(self) -> None:
        text = self.write()
        for line in (
            '| none | 1 | 101 | 101 | 1 | 100 | 102 | 3 | 1 | 2 | - |',
            '| writeback | 2.98 | 301 | 301 | 1 | 300 | 302 | 3 | 1 | 2 | - |',
            '| cache: twice as fast | unknown, here qemu | 2 | 2.98 | '
            '2.94 to 3.02 |',
            '| client.cpus | 2 |',
            '![run-0.svg](run-0.svg)',
            '| before | 0.1 |',
        ):
            self.assertIn(line, text)
        self.assertIn('| unsafe | <b>a\\|b |', text)

    def test_loads_of_one_variant_are_one_table_and_lines(self) -> None:
        shipped = plan.load('ceph-2022')
        self.measured = results.Results(shipped.document, 'f', 'volumes')
        self.measured.samples = [
            results.Sample(cell.ident, 0, 100.0)
            for cell in matrix.cells(shipped)
            if cell.run.name == 'depth'
        ]
        self.assertIn('| depth 4 x 2 jobs | 1 |', self.write())
        text = (self.folder / 'run-0.svg').read_text()
        self.assertIn('requests in flight', text)

    def test_report_without_measurements(self) -> None:
        self.measured.samples = []
        self.assertIn('Published and measured', self.write())
