# SPDX-License-Identifier: Apache-2.0

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

from cinder_rbd_ext.retype import ending
from tests.unit import base

_PARENT = """
import os, subprocess, sys
child = subprocess.Popen(
    [sys.executable, sys.argv[1], str(os.getpid()), 'sleep', '60']
)
print(child.pid, flush=True)
child.wait()
"""


def _is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        text = pathlib.Path(f'/proc/{pid}/stat').read_text()
        return text.rpartition(')')[2].split()[0] != 'Z'
    return False


class EndingTest(base.TestCase):
    def test_program_ends_with_its_killed_parent(self) -> None:
        with subprocess.Popen(
            [sys.executable, '-c', _PARENT, str(ending.__file__)],
            stdout=subprocess.PIPE,
            text=True,
        ) as parent:
            output: Any = parent.stdout
            pid = int(output.readline())
            command = pathlib.Path(f'/proc/{pid}/cmdline')
            while 'sleep' not in command.read_text():
                time.sleep(0.05)
            parent.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while _is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(_is_running(pid))

    def test_program_does_not_start_without_its_parent(self) -> None:
        done = subprocess.run(
            [sys.executable, str(ending.__file__), '1', 'echo', 'started'],
            capture_output=True,
            text=True,
        )
        if os.getpid() == 1:
            self.skipTest('this process is the parent')
        self.assertIn('The parent has ended', done.stderr)
        self.assertEqual('', done.stdout)
