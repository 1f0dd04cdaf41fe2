# SPDX-License-Identifier: Apache-2.0

import contextlib
import threading
from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd
from oslo_utils import units

from cinder_rbd_ext import turns
from cinder_rbd_ext.retype import places
from tests.unit import base


class PlaceTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.free = 100.0
        stats = mock.patch.object(
            rbd.RBDDriver,
            '_get_pool_stats',
            autospec=True,
            side_effect=lambda driver: (self.free, 100.0),
        )
        stats.start()
        self.addCleanup(stats.stop)
        self.places = places.Places(mock.MagicMock())
        self.beats = 0

    def beat(self) -> None:
        self.beats += 1

    def place(self, project: str = 'a', used: float = 1.0, **of: Any) -> Any:
        """Return the place of a copy."""
        image = mock.Mock(images=mock.Mock(pool='volumes'))
        image.obstacle.return_value = of.get('obstacle')
        image.used.return_value = int(used * units.Gi)
        target = mock.Mock(data_pool=of.get('data_pool'))
        return self.places.place(project, image, target, self.beat)

    def test_obstacle_of_the_image_comes_first(self) -> None:
        with self.place(used=1000, obstacle='the image is open') as reason:
            self.assertEqual('the image is open', reason)

    def test_share_of_the_pool_stays_free(self) -> None:
        with self.place(used=90) as reason:
            self.assertIsNone(reason)
        with self.place(used=90.1) as reason:
            self.assertIn('no room for a second copy', reason)
        self.assertIn('10 % of the pool must stay free', self.log.output)

    def test_room_of_copies_that_run_is_taken(self) -> None:
        """Each alone would fit."""
        with self.place(used=50):
            with self.place(used=50) as reason:
                self.assertIn('no room', reason)
            with self.place(used=50, data_pool='other') as reason:
                self.assertIsNone(reason)
            with self.place(used=40) as reason:
                self.assertIsNone(reason)
        with self.place(used=90) as reason:
            self.assertIsNone(reason)

    def test_room_that_nobody_knows_refuses_nothing(self) -> None:
        self.free = 'unknown'  # type: ignore[assignment]
        with self.place(used=1000) as reason:
            self.assertIsNone(reason)

    def _running(self, stack: contextlib.ExitStack, *projects: str) -> None:
        for project in projects:
            self.assertIsNone(stack.enter_context(self.place(project)))

    def test_further_copies_wait_and_show_that_they_live(self) -> None:
        self.patch(turns, 'INTERVAL', 0.01)
        beaten = threading.Event()
        reasons = []

        def wait() -> None:
            with self.place('d') as reason:
                reasons.append(reason)

        self.beat = beaten.set  # type: ignore[method-assign]
        with contextlib.ExitStack() as stack:
            self._running(stack, 'a', 'a', 'b', 'c')
            thread = threading.Thread(target=wait)
            thread.start()
            self.assertTrue(beaten.wait(30))
            self.assertEqual([], reasons)
        thread.join(30)
        self.assertEqual([None], reasons)

    def test_request_that_is_given_up_stops_waiting(self) -> None:
        self.patch(turns, 'INTERVAL', 0.01)

        class GivenUp(Exception):
            pass

        def give_up() -> None:
            raise GivenUp

        self.beat = give_up  # type: ignore[method-assign]
        with contextlib.ExitStack() as stack:
            self._running(stack, 'a', 'a', 'b', 'c')
            with self.assertRaises(GivenUp), self.place('d'):
                pass
        self.assertEqual((0, 0), self.places._line.counts())
        self.assertFalse(self.places._admission._requested)

    def test_no_project_has_all_places(self) -> None:
        self.patch(turns, 'INTERVAL', 0.01)
        ended = threading.Event()

        def wait(project: str) -> None:
            with self.place(project):
                ended.wait(30)

        most = places.MOST - places.FOR_OTHERS_WAITING
        threads = [
            threading.Thread(target=wait, args=('a',)) for _ in range(most)
        ]
        for thread in threads:
            thread.start()
        running = places.MOST_AT_ONCE - places.FOR_OTHERS
        while self.places._line.counts() != (running, most - running):
            threads[0].join(0.01)
        with self.place('a') as reason:
            self.assertIn('too many volumes are being copied', reason)
        with self.place('b') as reason:
            self.assertIsNone(reason)
        ended.set()
        for thread in threads:
            thread.join(30)
        with self.place('a') as reason:
            self.assertIsNone(reason)
