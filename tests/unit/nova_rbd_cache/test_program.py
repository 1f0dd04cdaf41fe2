# SPDX-License-Identifier: Apache-2.0

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
