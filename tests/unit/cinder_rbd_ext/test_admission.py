# SPDX-License-Identifier: Apache-2.0

"""Places for copies and uploads."""

import contextlib
import threading
from typing import Any
from unittest import mock

from oslo_utils import units

from cinder_rbd_ext import admission
from cinder_rbd_ext import exceptions
from cinder_rbd_ext.cluster import capacity
from tests.unit.cinder_rbd_ext import base

# Cinder's default number of threads for requests.
_THREADS = 64


class PlacesTest(base.DriverTestCase):
    def test_request_without_a_place_is_refused_after_a_while(self) -> None:
        places = admission.Places(1, 1)
        beat = mock.Mock()
        self._patch(f'{admission.__name__}._INTERVAL', 0.01)
        with (
            places.place('a') as first,
            places.place('a', beat, 0.05) as second,
        ):
            self.assertTrue(first)
            self.assertFalse(second)
        beat.assert_called()
        with places.place('a') as third:
            self.assertTrue(third)

    def test_request_waits_for_a_place(self) -> None:
        places = admission.Places(1, 1)
        with contextlib.ExitStack() as held:
            held.enter_context(places.place('a'))
            timer = threading.Timer(0.05, held.pop_all().close)
            timer.start()
            with places.place('a', longest=10) as taken:
                self.assertTrue(taken)

    def test_only_some_requests_wait(self) -> None:
        places = admission.Places(1, 0 + 1)
        places._waiting.take('b')
        with places.place('a'), places.place('a', longest=10) as taken:
            self.assertFalse(taken)
        with places.place('a'), places.place('', longest=0) as late:
            self.assertFalse(late)

    def test_project_never_has_the_last_places(self) -> None:
        """Its owner's limits can make each upload of a volume take days."""
        places = admission.Places(8, 4)
        with contextlib.ExitStack() as held:
            taken = [
                held.enter_context(places.place('a', longest=0))
                for _ in range(8)
            ]
            self.assertEqual(6, sum(taken))
            self.assertEqual(
                [True] * 3, [places._waiting.take('a') for _ in range(3)]
            )
            self.assertFalse(places._waiting.take('a'))
            self.assertTrue(places._waiting.take('b'))
            for project in ('b', ''):
                other = places.place(project, longest=0)
                self.assertTrue(held.enter_context(other))

    def test_exception_while_it_waits_gives_the_place_of_nobody_back(
        self,
    ) -> None:
        places = admission.Places(1, 1)
        self._patch(f'{admission.__name__}._INTERVAL', 0.01)
        with places.place('a'):
            late = places.place('a', mock.Mock(side_effect=ValueError), 1)
            self.assertRaises(ValueError, late.__enter__)
        with places.place('a') as taken:
            self.assertTrue(taken)

    def test_threads_are_left_for_other_requests(self) -> None:
        held = (
            admission.TRANSFERS
            + admission.TRANSFERS_WAITING
            + admission.COPIES
            + admission.COPIES_WAITING
        )
        self.assertLessEqual(held, _THREADS * 3 / 4)

    def test_upload_or_full_copy_without_a_place_is_refused(self) -> None:
        places = self.driver._transfers = admission.Places(1, 1)
        places._free.take('b')
        places._waiting.take('b')
        self.override_backend('rbd_max_clone_depth', 0)
        source = self.made_volume()
        copy = self.new_volume(status='creating')
        for transfer, *arguments in (
            (self.driver.copy_volume_to_image, self.context, source, None, {}),
            (self.driver.create_cloned_volume, copy, source),
        ):
            self.assertRaises(
                exceptions.TooManyTransfers, transfer, *arguments
            )
        self.assertEqual([source.name], self.cluster.names())
        self.assertIn('Too many volumes', self.told(copy))


class CopiesTest(base.DriverTestCase):
    """A pool of 100 GiB, of which 30 are free, and copies of 15 GiB."""

    def setUp(self) -> None:
        super().setUp()
        self.copies = admission.Copies(self.driver)
        self.free: Any = 30.0
        self._patch(
            f'{capacity.__name__}.looking_at', lambda driver, pool: None
        )
        self._patch(
            'cinder.volume.drivers.rbd.RBDDriver._get_pool_stats',
            lambda view: (self.free, 100.0),
        )
        self.copy = mock.Mock()
        self.copy.obstacle.return_value = None
        self.copy.used.return_value = 15 * units.Gi

    def _place(self) -> Any:
        target = mock.Mock(data_pool='data')
        return self.copies.place(self.copy, target, 'a', mock.Mock())

    def test_room_of_copies_that_run_counts(self) -> None:
        with self._place() as first, self._place() as second:
            self.assertIsNone(first)
            self.assertEqual(admission.NO_ROOM, second)
        with self._place() as third:
            self.assertIsNone(third)

    def test_copy_is_not_refused_without_statistics(self) -> None:
        self.free = 'unknown'
        with self._place() as reason:
            self.assertIsNone(reason)

    def test_image_that_cannot_be_copied_needs_no_place(self) -> None:
        self.copy.obstacle.return_value = 'clones'
        self.copies._places = admission.Places(1, 1)
        with self._place() as first, self._place() as second:
            self.assertEqual(['clones'] * 2, [first, second])

    def test_too_many_copies(self) -> None:
        self.copies._places = places = admission.Places(1, 1)
        places._free.take('b')
        places._waiting.take('b')
        with self._place() as reason:
            self.assertEqual(admission.TOO_MANY, reason)
