# SPDX-License-Identifier: Apache-2.0

import signal
import subprocess
import sys

from rbd_volume_tools.command_line import running
from tests import tree
from tests.unit import base

#: Blocks as a call of librados does: Python calls no handler meanwhile.
_BLOCKED = """
import ctypes, sys
from rbd_volume_tools.command_line import running

class Cleaning(running.Cleaning):
    def begun(self):
        print('begun', flush=True)

    def abandoned(self):
        print('abandoned', flush=True)

with running.ended_by_signals(Cleaning(), float(sys.argv[1])):
    mutex = ctypes.create_string_buffer(64)
    lock = ctypes.CDLL(None).pthread_mutex_lock
    lock(mutex)
    try:
        print('started', flush=True)
        lock(mutex)
    except KeyboardInterrupt:
        # The signal came before the call.
        lock(mutex)
"""


class RunningTest(base.TestCase):
    def test_only_the_first_signal_ends_a_run(self) -> None:
        before = signal.getsignal(signal.SIGTERM)

        def interrupted() -> None:
            with running.ended_by_signals():
                try:
                    signal.raise_signal(signal.SIGTERM)
                finally:
                    signal.raise_signal(signal.SIGINT)

        self.assertRaises(KeyboardInterrupt, interrupted)
        self.assertIs(before, signal.getsignal(signal.SIGTERM))

    def test_inherited_handlers(self) -> None:
        """As by ``nohup``."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        with running.ended_by_signals():
            self.assertIs(signal.SIG_IGN, signal.getsignal(signal.SIGHUP))
            self.assertIsNot(signal.SIG_IGN, signal.getsignal(signal.SIGTERM))
        self.assertIs(signal.SIG_IGN, signal.getsignal(signal.SIGHUP))

    def start(self, limit: float) -> 'subprocess.Popen[str]':
        """Start a process whose calls block."""
        child = subprocess.Popen(
            [sys.executable, '-c', _BLOCKED, str(limit)],
            cwd=tree.ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.__exit__, None, None, None)
        self.addCleanup(child.kill)
        self.wait_for(child, 'started')
        return child

    def wait_for(self, child: 'subprocess.Popen[str]', line: str) -> None:
        shown = child.stdout.readline() if child.stdout else ''
        self.assertEqual(f'{line}\n', shown)

    def test_second_interrupt_ends_a_call_that_blocks(self) -> None:
        child = self.start(600)
        child.send_signal(signal.SIGTERM)
        self.wait_for(child, 'begun')
        # Only Ctrl-C is a decision of the operator.
        child.send_signal(signal.SIGHUP)
        child.send_signal(signal.SIGINT)
        self.wait_for(child, 'abandoned')
        self.assertEqual(1, child.wait())

    def test_limit_of_the_removal(self) -> None:
        child = self.start(0.1)
        child.send_signal(signal.SIGINT)
        self.wait_for(child, 'begun')
        self.wait_for(child, 'abandoned')
        self.assertEqual(1, child.wait())

    def test_removal_that_ends(self) -> None:
        def interrupted() -> None:
            with running.ended_by_signals(running.Cleaning(), 0.1):
                signal.raise_signal(signal.SIGINT)

        before = signal.set_wakeup_fd(-1)
        self.assertRaises(KeyboardInterrupt, interrupted)
        self.assertEqual(-1, signal.set_wakeup_fd(before))
