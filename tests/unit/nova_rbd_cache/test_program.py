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

"""Unit tests of nova_rbd_cache.program."""

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from nova_rbd_cache import program
from tests import tree
from tests.unit import base

_WITHOUT = (
    'import sys; sys.modules["cliff"] = None; '
    'from nova_rbd_cache import program; sys.exit(program.main([]))'
)


class ProgramTest(base.TestCase):
    def test_without_the_libraries(self) -> None:
        """No traceback; a new process has not imported the libraries."""
        done = subprocess.run(
            [sys.executable, '-c', _WITHOUT],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            capture_output=True,
            text=True,
        )
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        (line,) = done.stderr.splitlines()
        self.assertIn('cliff', line)
        self.assertIn('Install cliff in', line)
        self.assertIn(sys.prefix, line)
        self.assertIn('with the extra nova.', line)

    def test_runs_the_command_line(self) -> None:
        shown = io.StringIO()
        with (
            mock.patch(
                'importlib.metadata.version', autospec=True, return_value='1'
            ),
            contextlib.redirect_stdout(shown),
        ):
            status = self.assertRaises(SystemExit, program.main, [])
        self.assertEqual(2, status.code)
        self.assertIn('Commands:', shown.getvalue())
