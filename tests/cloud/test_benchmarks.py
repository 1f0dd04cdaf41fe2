# SPDX-License-Identifier: Apache-2.0

"""The benchmarks that need a cloud. Few of their figures are checked."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import fixtures

from tests import tree
from tests.cloud import base


class ApiBenchmarkTest(base.CloudTestCase):
    def test_each_step(self) -> None:
        before = self.request('GET', '/volumes', cloud=self.operator)
        done = subprocess.run(
            [
                *(sys.executable, tree.ROOT / 'benchmarks/api.py', '--json'),
                *('--types', 'rbd', '--volumes', '3', '--repetitions', '1'),
            ],
            env={**os.environ, 'OS_CLOUD': 'admin'},
            stdout=subprocess.PIPE,
            check=True,
        )
        (run,) = json.loads(done.stdout)['runs']['rbd']
        self.assertEqual(
            ['create', 'attach', 'detach', 'clone', 'delete'], list(run)
        )
        self.assertEqual(
            before, self.request('GET', '/volumes', cloud=self.operator)
        )


class GuestBenchmarksTest(base.CloudTestCase):
    timeout = 900

    def measured(self, program: str, *words: str) -> Any:
        """Run a benchmark; return its results."""
        folder = self.useFixture(fixtures.TempDir()).path
        results = pathlib.Path(folder, 'results')
        subprocess.run(
            [
                *(sys.executable, str(tree.ROOT / f'benchmarks/{program}.py')),
                *('--json', str(results), *words),
            ],
            env={**os.environ, 'OS_CLOUD': 'admin'},
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(results.read_text())

    def test_limits_in_a_guest(self) -> None:
        """A guest on a busy machine can be slower than a limit."""
        results = self.measured(
            'guest_limits', *('--runtime', '4', '--changes', '1')
        )
        for name, difference in results['differences'].items():
            self.assertLess(difference, 0.1, name)
        for name, seconds in results['seconds'].items():
            self.assertLess(max(seconds), 30, name)
