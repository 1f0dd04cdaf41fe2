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

"""The programs in the user guide."""

import subprocess
import sys
import textwrap

from tests import tree
from tests.cloud import base

_PAGE = tree.ROOT / 'doc/source/user/programs.rst'
_BLOCK = '.. code-block:: python\n\n'


class ProgramsTest(base.CloudTestCase):
    def test_program_for_the_sdk_runs_as_written(self) -> None:
        text = _PAGE.read_text().split(_BLOCK)[1]
        lines = text.split('\n')
        end = next(n for n, x in enumerate(lines) if x and x[0] != ' ')
        program = textwrap.dedent('\n'.join(lines[:end]))
        done = subprocess.run(
            [sys.executable, '-c', program], capture_output=True, text=True
        )
        self.assertEqual(0, done.returncode, done.stderr)
        count, unit, refusal = done.stdout.splitlines()
        self.assertEqual('stripe count: at most 64', count)
        self.assertEqual('stripe unit: 65536', unit)
        self.assertIn('not a power of two', refusal)
