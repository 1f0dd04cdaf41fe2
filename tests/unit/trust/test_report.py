# SPDX-License-Identifier: Apache-2.0


import json
import pathlib

import fixtures

from tests.trust import report
from tests.unit import base


class ReportTestCase(base.TestCase):
    def _report(self) -> report.Report:
        made = report.Report()
        made.add('kill cinder-volume', 'ours', faults=1, ok=3, recovery=[2.0])
        made.add('kill cinder-volume', 'ours', faults=1, ok=1, recovery=[4.0])
        made.add('kill cinder-volume', 'stock', faults=2, wrong=1)
        made.add('paused', 'ours', faults=1, hung=2, recovery=[9.0])
        return made

    def test_the_table_adds_up_and_shows_recovery_as_median_and_maximum(
        self,
    ) -> None:
        lines = [line.split() for line in self._report().table().splitlines()]
        ours = ['kill', 'cinder-volume', 'ours', '2', '0', '4']
        self.assertEqual(ours, lines[1][:6])
        self.assertEqual(['3.0', '/', '4.0'], lines[1][-3:])
        everything = ['all', 'ours', '3', '0', '4', '0', '0', '0', '2']
        self.assertEqual(everything, lines[-2][:9])
        self.assertEqual(['4.0', '/', '9.0'], lines[-2][-3:])

    def test_saved_reports_are_merged(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        paths = [folder / 'a', folder / 'b']
        for path in paths:
            self._report().save(path)
        merged = report.Report.merged(paths)
        self.assertEqual(8, merged.total('ours')['ok'])
        self.assertEqual(2, merged.total('stock')['wrong'])
        self.assertEqual(
            [2.0, 4.0],
            json.loads(paths[0].read_text())['kill cinder-volume']['ours'][
                'recovery'
            ],
        )
