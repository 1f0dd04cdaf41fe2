# SPDX-License-Identifier: Apache-2.0

"""The programs in the user guide."""

import subprocess
import sys

from tests import tree
from tests.cloud import base
from tests.cloud import documented

_PAGE = tree.ROOT / 'doc/source/user/programs.rst'


class ProgramsTest(base.CloudTestCase):
    def test_program_for_the_sdk_runs_as_written(self) -> None:
        (program,) = documented.blocks(_PAGE, 'python')
        done = subprocess.run(
            [sys.executable, '-c', program], capture_output=True, text=True
        )
        self.assertEqual(0, done.returncode, done.stderr)
        count, unit, refusal = done.stdout.splitlines()
        self.assertEqual('stripe count: at most 64', count)
        self.assertEqual('stripe unit: 65536', unit)
        self.assertIn('not a power of two', refusal)
