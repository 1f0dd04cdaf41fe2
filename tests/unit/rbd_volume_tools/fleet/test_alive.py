# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.fleet.alive.

The functional tests stop a client on a cluster.
"""

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
        cluster: Any = self.image
        self.clients = alive.LiveClients(cluster, 'volumes')
        self.ended = threading.Event()
        for name, value in (
            ('INTERVAL', 0.001),
            ('_end', mock.create_autospec(alive._end, side_effect=self.end)),
        ):
            patch = mock.patch.object(alive, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def end(self, image: str) -> None:
        self.assertEqual('volumes/name', image)
        self.ended.set()

    def test_all_answer(self) -> None:
        with self.clients.answering('name', 'abc'):
            while len(self.image.asked) < 3:
                self.assertFalse(self.ended.wait(0.001))
        self.assertEqual({'rbd_header.abc'}, set(self.image.asked))
        self.assertFalse(self.ended.is_set())

    def test_no_answer_before(self) -> None:
        self.image.answers = [stubs.Error('timed out')]
        error = self.assertRaises(
            outcomes.Refused, self.clients.answering('name', 'abc').__enter__
        )
        self.assertIs(alive.NO_ANSWER, error.reason)

    def test_no_answer_during_a_change(self) -> None:
        self.image.answers = [None, stubs.Error('timed out')]
        with self.clients.answering('name', 'abc'):
            self.assertTrue(self.ended.wait(60))

    def test_image_that_was_deleted(self) -> None:
        self.image.answers = [stubs.ObjectNotFound()]
        with self.clients.answering('name', 'abc'):
            pass


class EndTest(base.TestCase):
    def test_end_exits_with_status_3(self) -> None:
        with mock.patch('os._exit', autospec=True) as ended:
            alive._end('volumes/name')
        ended.assert_called_once_with(3)
