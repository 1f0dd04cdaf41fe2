# SPDX-License-Identifier: Apache-2.0

import threading
from unittest import mock

from rbd_volume_tools.command_line import pace
from tests.unit import base


class PaceTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.stop = mock.create_autospec(threading.Event, instance=True)
        self.stop.is_set.return_value = False
        self.now = 100.0

    def waited(self, kept: pace.Pace, size: int) -> list[float]:
        """Return the waits of three images, each of which takes a second."""
        for _ in range(3):
            self.assertTrue(kept.wait())
            kept.begun(size)
            self.now += 1
        return [call.args[0] for call in self.stop.wait.call_args_list]

    def make(
        self, number: int | None = None, rate: int | None = None
    ) -> pace.Pace:
        return pace.Pace(self.stop, number, rate, now=lambda: self.now)

    def test_no_limit(self) -> None:
        self.assertEqual([], self.waited(self.make(), 2**40))

    def test_images_per_minute(self) -> None:
        self.assertEqual([4, 4], self.waited(self.make(12), 2**40))
        self.assertEqual([4, 4], self.waited(self.make(120), 1))

    def test_bytes_per_second(self) -> None:
        self.assertEqual([9, 9], self.waited(self.make(None, 100), 1000))

    def test_pace_obeys_both_limits(self) -> None:
        self.assertEqual([4, 4], self.waited(self.make(12, 1000), 1000))

    def test_stopped_pace_does_not_wait(self) -> None:
        self.stop.is_set.return_value = True
        self.assertFalse(self.make().wait())
