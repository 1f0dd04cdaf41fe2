# SPDX-License-Identifier: Apache-2.0

"""Sandboxes beside each other, and what ``down`` may remove."""

import os
import pathlib
import subprocess

import fixtures
import testtools

from sandbox_cloud import state
from tests.unit import base

_SANDBOX = str(state.CHECKOUT / 'tools' / 'sandbox')
_LISTEN = """
import os, socket
with socket.create_server(('127.0.0.1', 5000)):
    print(os.getpid(), flush=True)
    input()
"""


def _line(child: subprocess.Popen[str]) -> str:
    return child.stdout.readline() if child.stdout else ''


@testtools.skipIf(os.geteuid() != 0, 'namespaces need root')
class NamespacesTestCase(base.TestCase):
    def _sandbox(self, number: int, *words: str) -> subprocess.Popen[str]:
        # The variable is that of another sandbox.
        other = str(self.root / 'rbd-sandbox-test-0')
        environ = {
            'XDG_STATE_HOME': str(self.root),
            'RBD_SANDBOX_STATE': other,
        }
        child = subprocess.Popen(
            [_SANDBOX, '--name', f'test-{number}', *words],
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def test_two_sandboxes_use_the_same_port_and_end_separately(self) -> None:
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        listen = ('exec', '--', '/usr/bin/python3', '-c', _LISTEN)
        first, second = (self._sandbox(n, *listen) for n in (1, 2))
        for child in (first, second):
            # A process number of its own namespace.
            self.assertIn(int(_line(child)), range(2, 100))
        names = {'rbd-sandbox-test-1', 'rbd-sandbox-test-2'}
        self.assertEqual(names, {each.name for each in self.root.iterdir()})
        self.assertIn('is down', self._sandbox(1, 'down').communicate()[0])
        self.assertNotEqual(0, first.wait(20))
        self.assertIsNone(second.poll())
        second.communicate('end\n')
        self.assertEqual(0, second.returncode)
        self.assertIn('is down', self._sandbox(2, 'down').communicate()[0])
        self.assertEqual([], list(self.root.iterdir()))


class FolderTestCase(base.TestCase):
    def _refusal(self, root: pathlib.Path, *words: str) -> str:
        done = subprocess.run(
            [_SANDBOX, *words],
            env={**os.environ, 'RBD_SANDBOX_STATE': str(root)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(1, done.returncode, done.stdout)
        return done.stderr

    def test_folder_with_other_files_is_neither_used_nor_removed(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        root.chmod(0o755)
        (root / 'thesis').touch()
        self.assertIn('not empty', self._refusal(root, 'guest-image'))
        self.assertIn('is not removed', self._refusal(root, 'down'))
        self.assertEqual([root / 'thesis'], list(root.iterdir()))
        self.assertEqual(0o755, root.stat().st_mode & 0o777)
