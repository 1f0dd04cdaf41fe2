# SPDX-License-Identifier: Apache-2.0

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
