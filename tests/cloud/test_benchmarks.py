#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
        self.assertEqual(['create', 'attach', 'detach', 'delete'], list(run))
        self.assertEqual(
            before, self.request('GET', '/volumes', cloud=self.operator)
        )
