# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import socket
import subprocess
import sys
import time

from sandbox_cloud import processes
from tests.unit import base

_RUN = pathlib.Path('/nowhere/run')


class OursTestCase(base.TestCase):
    def _start(self, run: pathlib.Path) -> subprocess.Popen[str]:
        # Its child process, which outlives it, also belongs to the sandbox.
        code = (
            'import subprocess, sys;'
            'child = subprocess.Popen(["sleep", "60"]);'
            'print(child.pid, flush=True);'
            'child.wait()'
        )
        started = subprocess.Popen(
            [sys.executable, '-c', code],
            env={**os.environ, processes.MARK: str(run)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(started.wait)
        self.addCleanup(processes.end, run)
        with started.stdout or self.fail('no pipe') as out:
            self.child = int(out.readline())
        # Popen returns when exec has closed its pipe; Linux shows the new
        # environment a moment later.
        deadline = time.monotonic() + 5
        while not processes.is_ours(self.child, run):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return started

    def test_found_by_their_mark_and_ended(self) -> None:
        run = pathlib.Path(f'{_RUN}-{os.getpid()}')
        other = pathlib.Path(f'{run}-other')
        started = self._start(run)
        expected = {started.pid, self.child}
        self.assertEqual(expected, set(processes.ours(run)))
        self.assertEqual([], processes.ours(other))
        self.assertEqual(0, processes.end(other))
        self.assertEqual(2, processes.end(run))
        self.assertEqual([], processes.ours(run))

    def test_family_includes_children(self) -> None:
        started = self._start(pathlib.Path(f'{_RUN}-family-{os.getpid()}'))
        expected = [started.pid, self.child]
        self.assertEqual(expected, processes.family(started.pid))


class ListenersTestCase(base.TestCase):
    def test_who_holds_a_port(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = server.getsockname()[1]
            (owner,) = processes.listeners([port])
            self.assertEqual((port, os.getpid()), (owner.port, owner.pid))
            self.assertIn(port, processes.ports_of([os.getpid()]))
        self.assertEqual([], processes.listeners([port]))
