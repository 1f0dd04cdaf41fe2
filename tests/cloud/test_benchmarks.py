# SPDX-License-Identifier: Apache-2.0

"""The benchmark of Cinder's API. Its figures are not checked."""

import json
import os
import subprocess
import sys

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
