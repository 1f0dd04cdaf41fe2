# SPDX-License-Identifier: Apache-2.0

"""Lookups of images in the driver's pool, and their removal."""

import errno
import time
from unittest import mock

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from tests import feature_bits
from tests.fakes import fake_rados
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


@ddt.ddt
class DataPoolTest(base.DriverTestCase):
    """Whether the user of the back end can write to a data pool."""

    def _check(self) -> None:
        self.driver.images.check_data_pool('data', errors.Origin.VOLUME_TYPE)

    def _refused(self) -> str:
        return str(self.assertRaises(errors.OptionError, self._check))

    def _objects(self) -> dict[str, bytes]:
        return self.cluster.pools['data'].objects

    @ddt.data('Ioctx.write', 'Ioctx.write part')
    def test_pool_without_permission_is_named(self, operation: str) -> None:
        self.cluster.fail(operation, fake_rados.OSError(errno.EPERM))
        text = self._refused()
        for part in (
            keys.DATA_POOL,
            "'data'",
            'volume type',
            'errno 1, EPERM',
        ):
            self.assertIn(part, text)
        self.assertIn("'profile rbd pool=data'", text)

    def test_no_overwrites(self) -> None:
        self.cluster.fail(
            'Ioctx.write part', fake_rados.OSError(errno.EOPNOTSUPP)
        )
        self.assertIn('allow_ec_overwrites', self._refused())
        self.assertEqual({}, self._objects())

    @ddt.data(errno.ETIMEDOUT, errno.ENOSPC, errno.EDQUOT)
    def test_pool_that_is_full_or_slow(self, number: int) -> None:
        """The error proves nothing about capabilities and is not cached."""
        self.cluster.fail('Ioctx.write', fake_rados.OSError(number))
        self._check()
        self.assertIn('without the check', self.log.output)
        self.cluster.fail('Ioctx.write', fake_rados.OSError(errno.EPERM))
        self._refused()

    def test_success_is_remembered(self) -> None:
        self._check()
        self.cluster.fail('Ioctx.write', fake_rados.OSError(errno.EPERM))
        self._check()
        self.driver.images._writable['data'] = time.monotonic()
        self._refused()

    def test_waits_no_longer_than_the_back_end(self) -> None:
        for limit, waits in ((-1, 10), (3, 3)):
            self.override_backend('rados_connect_timeout', limit)
            with mock.patch.object(
                self.driver,
                '_connect_to_rados',
                autospec=True,
                side_effect=fake_rados.OSError(errno.EPERM),
            ) as connect:
                self._refused()
            connect.assert_called_once_with(None, None, waits)
