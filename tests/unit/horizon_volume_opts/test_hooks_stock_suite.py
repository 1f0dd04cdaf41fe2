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

"""Horizon's own volume tests, with and without the plug-in.

The run without the plug-in is repeated only if the installed distributions
change. Its outcomes are stored in the virtual environment.
"""

import hashlib
from importlib import metadata
import json
import os
import pathlib
import subprocess
import sys

import fixtures

from tests.unit import base

_SETTINGS = 'tests.unit.horizon_volume_opts.{}_settings'
_ROOT = pathlib.Path(__file__).resolve().parents[3]
#: The distribution of the suite, which the run without the plug-in skips.
_OURS = 'rbd-volume-options'


def _kept() -> pathlib.Path:
    """Return the file with the outcomes without the plug-in."""
    found = {
        f'{each.name}=={each.version}'
        for each in metadata.distributions()
        if each.name != _OURS
    }
    texts = [sys.version, *sorted(found)]
    for name in ('stock_suite.py', 'stock_settings.py'):
        texts.append(pathlib.Path(__file__).with_name(name).read_text())
    digest = hashlib.sha256('\n'.join(texts).encode()).hexdigest()
    return pathlib.Path(sys.prefix, f'horizon-stock-{digest[:16]}.json')


class StockSuiteTestCase(base.TestCase):
    timeout = 900

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path

    def _outcomes(self, settings: str) -> dict[str, str]:
        """Run the tests and return their outcomes."""
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
            ],
            cwd=_ROOT,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.kill)
        self.assertEqual(0, process.wait())
        found: dict[str, str] = json.loads(outcomes.read_text())
        return found

    def _without(self) -> dict[str, str]:
        """Run the tests without the plug-in and store their outcomes."""
        found = self._outcomes('stock')
        # Replace the file atomically, as another run may read it.
        new = _kept().with_suffix(f'.{os.getpid()}')
        new.write_text(json.dumps(found))
        new.replace(_kept())
        return found

    def test_same_outcome_with_and_without_the_plug_in(self) -> None:
        ours = self._outcomes('django')
        kept = _kept()
        stock = json.loads(kept.read_text()) if kept.exists() else {}
        if stock != ours or os.environ.get('RBD_TEST_ALL') == '1':
            # The stored outcomes may be from a disturbed run.
            stock = self._without()
        self.assertGreater(len(stock), 50)
        passed = [name for name, word in stock.items() if word == 'passed']
        self.assertGreater(len(passed), 50)
        self.assertEqual(stock, ours)
