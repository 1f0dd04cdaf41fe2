# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import threading
import time

from rbd_volume_tools.exporter import metrics
from rbd_volume_tools.exporter import refresher
from tests.unit import base


class RefresherTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.fault: Exception | None = None
        self.failures: list[str] = []
        self.refreshed = self.make(self.audit)

    def make(self, audit: Callable[[], metrics.Values]) -> refresher.Refresher:
        return refresher.Refresher(
            audit,
            100,
            lambda error: self.failures.append(str(error)),
            lambda: self.now,
        )

    def audit(self) -> metrics.Values:
        if self.fault:
            raise self.fault
        return metrics.Values({(metrics.DURATION, ()): 1})

    def test_a_failure_keeps_the_last_values(self) -> None:
        self.refreshed.refresh()
        before = self.refreshed.state
        self.assertTrue(before.up)
        self.assertEqual([1], list(before.values.values()))
        self.fault = OSError('no cluster')
        self.refreshed.refresh()
        after = self.refreshed.state
        self.assertFalse(after.up)
        self.assertEqual(before.values, after.values)
        self.assertEqual(['no cluster'], self.failures)
        self.fault = None
        self.refreshed.refresh()
        self.assertTrue(self.refreshed.state.up)

    def test_an_audit_that_hangs(self) -> None:
        self.refreshed.refresh()
        entered, go_on = threading.Event(), threading.Event()

        def hang() -> metrics.Values:
            entered.set()
            go_on.wait(10)
            return self.audit()

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

    def test_audit_is_repeated(self) -> None:
        began: list[float] = []
        ended = threading.Event()

        def audit() -> metrics.Values:
            began.append(time.monotonic())
            if len(began) == 3:
                ended.set()
                # Of the thread.
                raise SystemExit
            return self.audit()

        refresher.Refresher(audit, 0.1, print).start()
        self.assertTrue(ended.wait(10))
        self.assertGreaterEqual(began[2] - began[0], 0.2)
