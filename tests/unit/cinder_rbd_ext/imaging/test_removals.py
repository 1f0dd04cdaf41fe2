# SPDX-License-Identifier: Apache-2.0

"""Test the replacement of the removal of an image."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

from cinder import exception

from cinder_rbd_ext.imaging import removals
from tests.fakes import fake_images
from tests.unit import base


class RemovalsTest(base.TestCase):
    def test_replaced_for_a_while(self) -> None:
        found = removals.Removals()

        def remove(rbd: Any, ioctx: Any, name: str) -> None:
            self.fail('not called')

        with found.replaced('volume', remove):
            self.assertIs(remove, found.of('volume'))
            self.assertIsNone(found.of('other'))
        self.assertIsNone(found.of('volume'))


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

    def test_purge_that_must_end(self) -> None:
        found = removals.Removals()
        trash = [{'id': '1'}, {'id': '2'}, {'id': '3'}]
        self.assertEqual(trash, [*found.until_lost(trash)])
        purge = mock.Mock(spec=['is_lost', 'removing'], is_lost=False)
        seen = []
        with found.purging(purge):
            for entry in found.until_lost(trash):
                seen.append(entry['id'])
                purge.is_lost = entry['id'] == '2'
        self.assertEqual(['1', '2'], seen)


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
