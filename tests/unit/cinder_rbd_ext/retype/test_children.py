# SPDX-License-Identifier: Apache-2.0

import os
import signal
import sys
import time
from unittest import mock

from cinder_rbd_ext.retype import children
from tests.unit import base


def _python(text: str) -> list[str]:
    return [sys.executable, '-c', text]


class ChildrenTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        interval = mock.patch.object(children, 'INTERVAL', 0.0)
        interval.start()
        self.addCleanup(interval.stop)
        self.percents: list[int] = []

    def test_failure_has_the_status_and_the_last_line(self) -> None:
        error = self.assertRaises(
            children.ChildFailed,
            children.run,
            _python('import sys; print("first"); sys.exit("no space")'),
            self.percents.append,
        )
        self.assertIn('exit status 1: no space', str(error))

    def test_crash_of_the_child_is_a_failure(self) -> None:
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL):
            error = self.assertRaises(
                children.ChildFailed,
                children.run,
                _python(f'import os; os.kill(os.getpid(), {int(number)})'),
                self.percents.append,
            )
            self.assertIn(number.name, str(error))

    def test_child_is_killed_if_the_report_fails(self) -> None:
        seen: list[int] = []

        def fail(percent: int) -> None:
            with open('/proc/thread-self/children') as file:
                seen.extend(map(int, file.read().split()))
            raise KeyError

        began = time.monotonic()
        self.assertRaises(
            KeyError,
            children.run,
            _python('import time; time.sleep(60)'),
            fail,
        )
        self.assertLess(time.monotonic() - began, 30)
        for pid in seen:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)
