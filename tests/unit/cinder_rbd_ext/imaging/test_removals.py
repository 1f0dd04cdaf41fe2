# SPDX-License-Identifier: Apache-2.0

"""Test removals of images, deferred ones and purges of the trash."""

from collections.abc import Iterator
import datetime
import errno
from typing import Any
from unittest import mock

from cinder import exception

from cinder_rbd_ext.imaging import removals
from tests.fakes import fake_images
from tests.unit import base

_IOCTX: Any = None
_NOW = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)


class _Rbd:
    """Records the calls for an image that has snapshots."""

    def __init__(self, until: datetime.datetime = _NOW) -> None:
        self.called: list[str] = []
        self._until = until

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.called.append(f'move for {delay}')

    def trash_get(self, ioctx: Any, image_id: str) -> dict[str, Any]:
        return {'id': image_id, 'deferment_end_time': self._until}


class DeferralTest(base.TestCase):
    def test_uninspected_image_is_moved_to_trash(self) -> None:
        """An image is moved, too, if it could not be inspected."""
        rbd: Any = _Rbd()
        deferral = removals.Deferral(fake_images, 7)
        deferral.remove(rbd, _IOCTX, 'volume')
        self.assertEqual(['move for 7'], rbd.called)

    def test_clones_are_flattened_first(self) -> None:
        rbd: Any = _Rbd()
        deferral = removals.Deferral(fake_images, 7)
        deferral.has_snapshots = True
        self.assertRaises(
            fake_images.ImageHasSnapshots,
            deferral.remove,
            rbd,
            _IOCTX,
            'volume',
        )
        deferral.remove(rbd, _IOCTX, 'volume')
        self.assertEqual(['move for 7'], rbd.called)


class PurgeTest(base.TestCase):
    def _open(self, image: Any) -> None:
        self.fail('opened')

    def test_image_whose_delay_has_passed_can_still_be_excluded(self) -> None:
        purge = removals.Purge(
            None, self._open, lambda entry: entry['id'] == '7'
        )
        rbd: Any = _Rbd()
        removal = purge.removing(rbd, _IOCTX, '7')
        self.assertRaises(PermissionError, removal.__enter__)

    def test_not_expired(self) -> None:
        """The stock driver expects this error."""
        purge = removals.Purge(None, self._open, lambda entry: None)
        rbd: Any = _Rbd(_NOW + datetime.timedelta(days=1))
        removal = purge.removing(rbd, _IOCTX, '')
        self.assertRaises(PermissionError, removal.__enter__)
        self.assertFalse(purge.is_lost)

    def test_lost_connection(self) -> None:
        purge = removals.Purge(fake_images, self._open, lambda entry: None)
        lost = fake_images.OSError('lost')
        lost.errno = errno.ESHUTDOWN
        rbd = mock.Mock(spec=['trash_get'])
        rbd.trash_get.side_effect = lost
        self.assertRaises(
            fake_images.OSError, purge.removing(rbd, _IOCTX, '').__enter__
        )
        self.assertTrue(purge.is_lost)


class TrashTest(base.TestCase):
    def test_entry_that_the_binding_does_not_know(self) -> None:
        """As with Ceph 16 while an image of the pool is migrated."""
        first = {'id': '1', 'source': 'USER'}

        def listed(ioctx: Any) -> Iterator[dict[str, Any]]:
            yield first
            yield {'id': '2', 'source': 'MIGRATION'}
            raise IndexError

        rbd = mock.Mock(spec=['trash_list'], trash_list=listed)
        ioctx = mock.Mock(spec=['get_pool_name'])
        self.assertEqual([first], removals.trash_of(rbd, ioctx))


class CheckedTest(base.TestCase):
    def _remove(self, is_there: bool) -> None:
        librbd = mock.Mock(spec=['ImageNotFound', 'is_there'])
        librbd.ImageNotFound = fake_images.ImageNotFound
        librbd.is_there.return_value = is_there
        with removals.checked(librbd, mock.sentinel.ioctx, 'volume-1'):
            raise fake_images.ImageNotFound('no such image')

    def test_image_that_is_gone(self) -> None:
        self.assertRaises(fake_images.ImageNotFound, self._remove, False)

    def test_image_of_a_full_pool(self) -> None:
        error = self.assertRaises(
            exception.VolumeBackendAPIException, self._remove, True
        )
        self.assertIn('RBD image volume-1 cannot be removed', str(error))
