# SPDX-License-Identifier: Apache-2.0

import datetime
import threading
import time

from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import run
from rbd_volume_tools.exporter import refresher
from tests.unit import base

_TAKEN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class RefresherTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.fault: Exception | None = None
        self.failures: list[str] = []
        self.refreshed = self.make(self.audit)

    def make(self, audit: refresher.Audit) -> refresher.Refresher:
        return refresher.Refresher(
            audit,
            100,
            lambda error: self.failures.append(str(error)),
            lambda: self.now,
        )

    def audit(self, progress: run.Progress) -> report.Report:
        if self.fault:
            raise self.fault
        return report.make(_TAKEN, 1, [], [], None)

    def test_nothing_is_known_before_the_first_audit(self) -> None:
        self.assertEqual(refresher.AuditState(), self.refreshed.state)

    def test_a_failure_keeps_the_last_values(self) -> None:
        self.refreshed.refresh()
        before = self.refreshed.state
        self.assertTrue(before.up)
        self.assertEqual(_TAKEN.timestamp(), before.succeeded)
        self.fault = OSError('no cluster')
        self.refreshed.refresh()
        after = self.refreshed.state
        self.assertFalse(after.up)
        self.assertEqual(before.samples, after.samples)
        self.assertEqual(['no cluster'], self.failures)
        self.fault = None
        self.refreshed.refresh()
        self.assertTrue(self.refreshed.state.up)

    def test_an_audit_that_hangs(self) -> None:
        self.refreshed.refresh()
        entered, go_on = threading.Event(), threading.Event()

        def hang(progress: run.Progress) -> report.Report:
            entered.set()
            go_on.wait(10)
            return self.audit(progress)

        hanging = self.make(hang)
        thread = threading.Thread(target=hanging.refresh)
        thread.start()
        self.assertTrue(entered.wait(10))
        hanging._state = self.refreshed.state
        self.assertTrue(hanging.state.up)
        self.now = 201
        self.assertFalse(hanging.state.up)
        go_on.set()
        thread.join()
        self.assertTrue(hanging.state.up)

    def test_stop_ends_the_audit(self) -> None:
        entered = threading.Event()
        ended: list[str] = []

        def scan_pool(progress: run.Progress) -> report.Report:
            entered.set()
            try:
                while True:
                    progress('volumes', 0, 1)
                    time.sleep(0.01)
            finally:
                ended.append('cancelled')

        refreshed = self.make(scan_pool)
        refreshed.start()
        self.assertTrue(entered.wait(10))
        refreshed.stop(10)
        self.assertEqual(['cancelled'], ended)
        self.assertEqual([], self.failures)

    def test_audit_is_repeated(self) -> None:
        number = threading.Semaphore(0)

        def audit(progress: run.Progress) -> report.Report:
            number.release()
            return self.audit(progress)

        refreshed = refresher.Refresher(audit, 0.001, lambda error: None)
        refreshed.start()
        for _ in range(3):
            self.assertTrue(number.acquire(timeout=10))
        refreshed.stop(10)
