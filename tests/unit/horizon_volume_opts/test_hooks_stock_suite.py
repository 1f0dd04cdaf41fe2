# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Horizon's own tests of volumes, with the plug-in and without it."""

import json
import os
import pathlib
import subprocess
import sys

import fixtures

from tests.unit import base

_SETTINGS = 'tests.unit.horizon_volume_opts.{}_settings'
_ROOT = pathlib.Path(__file__).resolve().parents[3]


class StockSuiteTestCase(base.TestCase):
    timeout = 900

    def _start(
        self, settings: str, folder: str
    ) -> tuple[subprocess.Popen[bytes], pathlib.Path]:
        outcomes = pathlib.Path(folder, f'{settings}.json')
        environ = {
            **os.environ,
            'DJANGO_SETTINGS_MODULE': _SETTINGS.format(settings),
            'PYTHONPATH': str(_ROOT),
            'PYTHONWARNINGS': 'ignore',
            'TMPDIR': folder,
        }
        process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'tests.unit.horizon_volume_opts.stock_suite',
                str(outcomes),
            ],
            cwd=_ROOT,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.kill)
        return process, outcomes

    def test_same_outcome_with_and_without_the_plug_in(self) -> None:
        folder = self.useFixture(fixtures.TempDir()).path
        runs = [
            self._start(settings, folder) for settings in ('stock', 'django')
        ]
        found = []
        for process, outcomes in runs:
            self.assertEqual(0, process.wait())
            found.append(json.loads(outcomes.read_text()))
        stock, ours = found
        self.assertGreater(len(stock), 50)
        passed = [name for name, word in stock.items() if word == 'passed']
        self.assertGreater(len(passed), 50)
        self.assertEqual(stock, ours)
