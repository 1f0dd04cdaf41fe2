# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from rbd_volume_tools import program
from tests import tree
from tests.unit import base

_WITHOUT = (
    'import sys; sys.modules["cliff"] = None; '
    'from rbd_volume_tools import program; sys.exit(program.main([]))'
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
        self.assertEqual((3, ''), (done.returncode, done.stdout))
        (line,) = done.stderr.splitlines()
        self.assertIn('cliff', line)
        self.assertIn('Install python-openstackclient in', line)
        self.assertIn(sys.prefix, line)
        self.assertIn('with the extra operator.', line)

    def test_runs_the_command_line(self) -> None:
        shown = io.StringIO()
        with (
            mock.patch(
                'importlib.metadata.version', autospec=True, return_value='1'
            ),
            contextlib.redirect_stdout(shown),
        ):
            status = program.main([])
        self.assertEqual(3, status)
        self.assertIn('Commands:', shown.getvalue())

    def test_names_that_the_locale_cannot_encode_are_escaped(self) -> None:
        stream = io.TextIOWrapper(io.BytesIO(), 'latin-1')
        with (
            mock.patch(
                'importlib.metadata.version', autospec=True, return_value='1'
            ),
            contextlib.redirect_stdout(stream),
        ):
            program.main([])
            print('größer 日')
        stream.seek(0)
        self.assertIn('größer \\u65e5', stream.read())
