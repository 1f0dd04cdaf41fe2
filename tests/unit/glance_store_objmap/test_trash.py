# SPDX-License-Identifier: Apache-2.0

"""Test the trash of a pool."""

from glance_store import exceptions

from glance_store_objmap import trash
from tests.fakes import fake_images
from tests.unit.glance_store_objmap import fakes


class TrashTest(fakes.FakeStoreTestCase):
    def test_is_there_after_the_first_upload(self) -> None:
        """The trash is created while there is space: removals require it."""
        ioctx = self.client.open_ioctx('images')
        self.assertFalse(trash.exists(ioctx))
        place = self.add(b'data', 4)
        self.assertTrue(trash.exists(ioctx))
        self.assertEqual([place.store_location.image], self.images())

    def test_interrupted_deletion_is_completed(self) -> None:
        place = self.add(b'data', 4, ident='i')
        self.cluster.fail('RBD.remove half-way', fake_images.OSError())
        self.assertRaises(fake_images.OSError, self.store.delete, place)
        librbd, ioctx = self.librbd.RBD(), self.client.open_ioctx('images')
        self.assertEqual(['i'], librbd.list(ioctx))
        self.store.delete(place)
        self.assertEqual([], librbd.list(ioctx))
        self.assertRaises(exceptions.NotFound, self.store.delete, place)

    def test_interrupted_client_that_is_not_forgotten(self) -> None:
        librbd = self.librbd.RBD()
        self.cluster.fail('RBD.remove', fake_images.ImageBusy())
        self.assertRaises(
            exceptions.InUseByStore,
            trash.complete_removal,
            librbd,
            self.client.open_ioctx('images'),
            'i',
        )

    def test_image_that_is_still_there(self) -> None:
        ioctx = self.client.open_ioctx('images')
        librbd = self.librbd.RBD()
        librbd.create(ioctx, 'i', 4, old_format=False)
        trash.check_gone(librbd, ioctx, 'other')
        error = self.assertRaises(
            exceptions.BackendException, trash.check_gone, librbd, ioctx, 'i'
        )
        self.assertIn('its pool is full', str(error))

    def test_image_that_is_being_removed(self) -> None:
        """With a trash, the removal of an image is completed later."""
        ioctx = self.client.open_ioctx('images')
        self.add(b'data', 4, ident='i')
        trash.check_gone(self.librbd.RBD(), ioctx, 'i')
