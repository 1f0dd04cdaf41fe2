# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.fleet.alive.

The functional tests stop a client on a cluster.
"""

import contextlib
import threading
from typing import Any
from unittest import mock

from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import alive
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import stubs


class ClientsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image = stubs.Image(frozenset())
        self.ended = threading.Event()
        for name, value in (
            ('INTERVAL', 0.001),
            ('_end', mock.create_autospec(alive._end, side_effect=self.end)),
        ):
            patch = mock.patch.object(alive, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def answering(self) -> contextlib.AbstractContextManager[None]:
        cluster: Any = self.image
        return alive.answering(cluster, 'volumes', 'name', 'abc')

    def end(self, image: str) -> None:
        self.assertEqual('volumes/name', image)
        self.ended.set()

    def test_all_answer(self) -> None:
        with self.answering():
            while len(self.image.asked) < 3:
                self.assertFalse(self.ended.wait(0.001))
        self.assertEqual({'rbd_header.abc'}, set(self.image.asked))
        self.assertFalse(self.ended.is_set())

    def test_no_answer_before(self) -> None:
        self.image.answers = [stubs.Error('timed out')]
        error = self.assertRaises(outcomes.Refused, self.answering().__enter__)
        self.assertIs(alive.NO_ANSWER, error.reason)

    def test_no_answer_during_a_change(self) -> None:
        self.image.answers = [None, stubs.Error('timed out')]
        with self.answering():
            self.assertTrue(self.ended.wait(60))

    def test_image_that_was_deleted(self) -> None:
        self.image.answers = [stubs.ObjectNotFound()]
        with self.answering():
            pass


class EndTest(base.TestCase):
    def test_end_exits_with_status_3(self) -> None:
        with mock.patch('os._exit', autospec=True) as ended:
            alive._end('volumes/name')
        ended.assert_called_once_with(3)
