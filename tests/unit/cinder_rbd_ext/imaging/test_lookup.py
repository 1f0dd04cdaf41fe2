# SPDX-License-Identifier: Apache-2.0

"""Lookups of images in the driver's pool, and their removal."""

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import layout
from tests import feature_bits
from tests.unit.cinder_rbd_ext import base


class LookupTest(base.DriverTestCase):
    """Lookups of images and pools."""

    def test_state_of_an_image(self) -> None:
        self.driver.rbd.RBD().create(
            self._ioctx(),
            'image',
            base.GIB,
            order=20,
            features=feature_bits.LAYERING | feature_bits.LOCK,
            stripe_unit=65536,
            stripe_count=8,
            data_pool='data',
        )
        state = self.driver.images.state_of('image')
        self.assertEqual(
            layout.ImageLayout(1 << 20, layout.Striping(65536, 8)),
            state.layout,
        )
        self.assertEqual('data', state.data_pool)
        self.assertLessEqual(
            {features.LAYERING, features.EXCLUSIVE_LOCK},
            state.image_features,
        )

    def test_whether_an_image_exists(self) -> None:
        self.assertFalse(self.driver.images.exists('image'))
        self.driver.rbd.RBD().create(self._ioctx(), 'image', base.GIB)
        self.assertTrue(self.driver.images.exists('image'))

    def test_a_pool_that_does_not_exist(self) -> None:
        self.driver.images.check_data_pool('data', errors.Origin.VOLUME_TYPE)
        error = self.assertRaises(
            errors.OptionError,
            self.driver.images.check_data_pool,
            'nowhere',
            errors.Origin.VOLUME_TYPE,
        )
        self.assertEqual("'nowhere'", errors.shown(error.value))
        self.assertIn('(volume type): the pool does not exist', str(error))

    def test_undoing_what_is_not_there(self) -> None:
        self.driver.images.discard('image')
        self.driver.rbd.RBD().create(self._ioctx(), 'image', base.GIB)
        self.driver.images.discard_clone_snapshot('image', 'clone')
        self.driver.images.discard('image')
        self.assertFalse(self.driver.images.exists('image'))

    def test_undoing_a_snapshot(self) -> None:
        self.driver.rbd.RBD().create(self._ioctx(), 'image', base.GIB)
        image = self.driver.rbd.Image(self._ioctx(), 'image')
        image.create_snap('clone.clone_snap')
        image.protect_snap('clone.clone_snap')
        image.create_snap('other')
        self.driver.images.discard_clone_snapshot('image', 'clone')
        self.assertEqual(
            ['other'], [snap['name'] for snap in image.list_snaps()]
        )
        image.close()

    def _ioctx(self) -> object:
        client, ioctx = self.driver._connect_to_rados()
        self.addCleanup(self.driver._disconnect_from_rados, client, ioctx)
        return ioctx
