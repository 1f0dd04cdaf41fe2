# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os
import pathlib

import fixtures

from rbd_bench import fio_plot
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import shipped
from tests.unit import base

# A program in place of fio-plot: its output is the names of the input files
# and the options.
_PROGRAM = """#!/bin/sh
folder=$2
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
ls "$folder" >"$out"
"""


class FioPlotTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.plots, self.raw = folder / 'plots', folder / 'fio'
        for each in (self.plots, self.raw):
            each.mkdir()
        self.path = folder / 'fio-plot'
        self.set_program(_PROGRAM)
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PATH', f'{folder}:{os.environ["PATH"]}'
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'sysconfig.get_path', lambda name: str(folder)
            )
        )
        whole_plan = shipped.load('ceph-2022')
        (self.run_,) = (x for x in whole_plan.runs if x.name == 'depth')
        self.samples = [
            self.sample(cell)
            for cell in matrix.cells(whole_plan)
            if cell.run.name == 'depth'
        ]
        self.said: list[str] = []

    def set_program(self, text: str) -> None:
        self.path.write_text(text)
        self.path.chmod(0o755)

    def sample(self, cell: matrix.Cell) -> results.Sample:
        raw = results.raw_name(0, cell.ident)
        reports = [json.dumps({'at': at}) for at in ('first', 'last')]
        (self.raw / raw).write_text('\n'.join(reports))
        return results.Sample(
            'depth',
            plan.LIBRBD,
            cell.ident,
            dict(cell.values),
            0,
            1.0,
            raw=raw,
        )

    def draw(self) -> list[str]:
        return fio_plot.draw(
            self.plots, self.raw, self.run_, self.samples, self.said.append
        )

    def test_plots_of_each_depth_are_drawn(self) -> None:
        self.assertEqual(
            [
                'depth-1-jobs-latency.png',
                'depth-2-jobs-latency.png',
                'depth-4-jobs-latency.png',
                'depth-3d.png',
            ],
            self.draw(),
        )
        # One file for each measurement, in the way of fio-plot.
        names = (self.plots / 'depth-3d.png').read_text().split()
        self.assertEqual(12, len(names))
        self.assertIn('randread-64-4.json', names)
        self.assertEqual([], self.said)

    def test_last_report(self) -> None:
        self.set_program('#!/bin/sh\ncat "$2"/randread-1-1.json\nexit 1\n')
        self.assertEqual([], self.draw())
        self.assertIn('{"at": "last"}', self.said[0])
        self.assertIn('drew no depth-1-jobs-latency.png', self.said[0])

    def test_not_installed(self) -> None:
        self.path.unlink()
        self.useFixture(
            fixtures.MonkeyPatch('shutil.which', lambda name, path='': None)
        )
        self.assertEqual([], self.draw())
        self.assertIn('fio-plot is not installed', self.said[0])

    def test_incomplete_depths_are_not_drawn(self) -> None:
        first, *others = self.samples
        for changed in (
            [],
            [dataclasses.replace(first, raw='')],
            [dataclasses.replace(first, error='no fio')],
            [dataclasses.replace(first, raw='missing.json')],
        ):
            self.samples = [*changed, *others]
            self.assertEqual([], self.draw())
            self.assertIn('no output of fio for depth 1.', self.said.pop())

    def test_repetition_that_failed(self) -> None:
        first, *others = self.samples
        failed = dataclasses.replace(first, error='no fio')
        again = dataclasses.replace(first, repetition=1)
        self.samples = [failed, again, *others]
        self.assertEqual(4, len(self.draw()))
