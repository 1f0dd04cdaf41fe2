# SPDX-License-Identifier: Apache-2.0

"""Horizon's own volume tests, with and without the plug-in.

A test that passes with the plug-in proves all that it can. Only the others run
without the plug-in, too.
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import fixtures

from tests import runs
from tests.unit import base

_SETTINGS = 'tests.unit.horizon_volume_opts.{}_settings'
_ROOT = pathlib.Path(__file__).resolve().parents[3]


# Minutes; other tests open each form that is replaced.
@runs.tags(runs.NIGHTLY)
class StockSuiteTestCase(base.TestCase):
    timeout = 900

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path

    def _outcomes(self, settings: str, *names: str) -> dict[str, Any]:
        """Run tests, by default all, and return their outcomes."""
        outcomes = pathlib.Path(self.folder, f'{settings}.json')
        environ = {
            **os.environ,
            'DJANGO_SETTINGS_MODULE': _SETTINGS.format(settings),
            'PYTHONPATH': str(_ROOT),
            'PYTHONWARNINGS': 'ignore',
            'TMPDIR': self.folder,
        }
        process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'tests.unit.horizon_volume_opts.stock_suite',
                str(outcomes),
                *names,
            ],
            cwd=_ROOT,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.kill)
        self.assertEqual(0, process.wait())
        words: dict[str, Any] = json.loads(outcomes.read_text())
        return words

    def test_same_outcome_with_and_without_the_plug_in(self) -> None:
        ours = self._outcomes('django')
        self.assertGreater(ours['passed'], 50)
        others = sorted([*ours['failed'], *ours['skipped']])
        if others:
            stock = self._outcomes('stock', *others)
            self.assertEqual({**stock, 'passed': ours['passed']}, ours)
