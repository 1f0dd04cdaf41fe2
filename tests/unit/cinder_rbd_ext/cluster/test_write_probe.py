# SPDX-License-Identifier: Apache-2.0

import errno
from unittest import mock

import ddt

from cinder_rbd_ext.cluster import write_probe
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base


@ddt.ddt
class PoolProbeTest(base.DriverTestCase):
    """The write probe on the fake cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.probe = write_probe.PoolProbe(self.driver, lambda: self.now)

    def _check(self) -> None:
        self.probe.check('data', errors.Origin.VOLUME_TYPE)

    def _refused(self) -> str:
        return str(self.assertRaises(errors.OptionError, self._check))

    def _objects(self) -> dict[str, bytes]:
        return self.cluster.pools['data'].objects

    def test_leaves_nothing(self) -> None:
        self._check()
        self.assertEqual({}, self._objects())

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
        self.now = write_probe.LIFETIME - 1
        self._check()
        self.now = write_probe.LIFETIME
        self._refused()

    def test_failure_is_not(self) -> None:
        self.cluster.fail('Ioctx.write', fake_rados.OSError(errno.EPERM))
        self._refused()
        self._check()

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
