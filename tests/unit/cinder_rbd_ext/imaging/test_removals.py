# SPDX-License-Identifier: Apache-2.0

"""Test removals of images and purges of the trash."""

from collections.abc import Iterator
import errno
from typing import Any
from unittest import mock

from cinder import exception

from cinder_rbd_ext.imaging import removals
from tests.fakes import fake_images
from tests.unit import base

_IOCTX: Any = None


class PurgeTest(base.TestCase):
    def _open(self, image: Any) -> None:
        self.fail('opened')

    def test_image_that_is_not_removable_is_kept(self) -> None:
        """The stock driver expects this error."""
        purge = removals.Purge(fake_images, self._open, {'8'})
        removal = purge.removing(_IOCTX, '7')
        self.assertRaises(PermissionError, removal.__enter__)
        self.assertFalse(purge.is_lost)

    def test_lost_connection(self) -> None:
        lost = fake_images.OSError('lost')
        lost.errno = errno.ESHUTDOWN
        librbd = mock.Mock(spec=['Image', 'ImageNotFound'])
        librbd.ImageNotFound = fake_images.ImageNotFound
        librbd.Image.side_effect = lost
        purge = removals.Purge(librbd, self._open, {'7'})
        self.assertRaises(
            fake_images.OSError, purge.removing(_IOCTX, '7').__enter__
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
