# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import fixtures

from rbd_bench import steady
from rbd_bench.control_plane import plan
from rbd_bench.control_plane import ratios
from rbd_bench.control_plane import report
from rbd_bench.control_plane import tasks
from tests import tree
from tests.unit import base
from tests.unit.rbd_bench.control_plane import stand_in

#: Writes a report on the plan of a file.
_WRITE = (
    'import pathlib, sys; '
    'from rbd_bench.control_plane import plan, report, tasks; '
    'path = pathlib.Path(sys.argv[1]); '
    'choices = tasks.Choices(("a", "b")); '
    'report.write(path.parent, plan.load(path), choices, {}, [])'
)
_CHOICES = tasks.Choices(('stock', 'our `rbd`'))


class ReportTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def test_cells_are_rounded_by_their_size(self) -> None:
        def side(low: float, high: float) -> ratios.Side:
            return ratios.Side(
                low, steady.spread([low, high]), iterations=4, failed=0
            )

        row = ratios.Row(
            *('create-and-delete', 'create', 2, side(3.0, 3.1)),
            *(side(1.1114, 2.0), 2.6993, 'faster', 1),
        )
        self.assertEqual(
            (
                *('create-and-delete', 'create', 2, 3.0, '3.00 to 3.10'),
                *(1.111, '1.11 to 2.00', 2.7, 'faster', 1),
            ),
            report.cells(row),
        )
        nothing = dataclasses.replace(row, first=None, ratio=None)
        self.assertEqual((None, ''), report.cells(nothing)[3:5])
        self.assertIsNone(report.cells(nothing)[7])

    def test_names_are_utf_8_in_a_locale_with_another_encoding(self) -> None:
        path = self.folder / plan.FILE
        text = (tree.ROOT / 'rbd_bench/control_plane' / plan.FILE).read_text()
        path.write_text(text.replace('title:', 'title: Größe,'), 'utf-8')
        subprocess.run(
            [sys.executable, '-c', _WRITE, path],
            cwd=tree.ROOT,
            # Without Python's exception for this locale.
            env={**os.environ, 'LC_ALL': 'C', 'PYTHONUTF8': '0'},
            check=True,
        )
        text = (self.folder / report.REPORT).read_text('utf-8')
        self.assertIn('# Größe, Volumes', text)

    def test_report_shows_failures_with_escaped_text(self) -> None:
        whole_plan = plan.load()
        settings = dataclasses.replace(
            whole_plan.settings, rounds=2, at_once=(2, 64)
        )
        whole_plan = dataclasses.replace(whole_plan, settings=settings)
        samples = list(ratios.samples(stand_in.results()))
        samples.append(ratios.Sample('x/1/first/0', {}, 1, 1, 'Bad: a\n`b`'))
        paths = report.write(
            self.folder, whole_plan, _CHOICES, {'rally': '5.1.1'}, samples
        )
        self.assertEqual(
            ['control-plane.md', 'control-plane.json'],
            [path.name for path in paths],
        )
        text = paths[0].read_text()
        self.assertIn('| create-and-delete | create | 2 | ', text)
        self.assertIn('| create-and-delete | create | 64 |  |  |  |', text)
        self.assertIn('- rally: `5.1.1`', text)
        self.assertIn("- Second: volume type `our 'rbd'`", text)
        self.assertIn('- 64 at once: 2.13 s', text)
        self.assertIn("- `Bad: a 'b'`", text)
        content = json.loads(paths[1].read_text())
        self.assertEqual(12 + 1, len(content['samples']))
        self.assertEqual('5.1.1', content['facts']['rally'])
        self.assertEqual(6 * 2, len(content['rows']))
