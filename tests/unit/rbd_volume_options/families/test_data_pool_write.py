# SPDX-License-Identifier: Apache-2.0

import errno
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options.families import data_pool
from tests.fakes import fake_rados
from tests.unit import base


@ddt.ddt
class PoolProbeTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('data')
        client = self.cluster.rados.Rados()
        client.connect()
        self.ioctx: Any = client.open_ioctx('data')
        self.logged: list[str] = []

    def _try_out(self) -> dict[str, bytes]:
        """Probe the pool; return the objects that are left."""

        def log(text: str, *values: object) -> None:
            self.logged.append(text % values)

        data_pool.try_write(self.cluster.rados, self.ioctx, 'host', log)
        return self.cluster.pools['data'].objects

    def test_leaves_nothing(self) -> None:
        self.assertEqual({}, self._try_out())
        self.assertEqual([], self.logged)

    def test_name_is_that_of_a_data_object(self) -> None:
        """Capabilities may be limited to the prefix of data objects."""
        self.cluster.fail('Ioctx.remove', fake_rados.OSError(5))
        (name,) = self._try_out()
        self.assertTrue(name.startswith('rbd_data.'))
        (text,) = self.logged
        self.assertIn(f'Could not remove object {name}', text)

    def test_next_probe_removes_what_a_killed_service_left(self) -> None:
        self.cluster.fail('Ioctx.remove', fake_rados.OSError(5))
        self.assertNotEqual({}, self._try_out())
        self.assertEqual({}, self._try_out())

    @ddt.data('Ioctx.write', 'Ioctx.write part')
    def test_failed_write_is_raised_and_leaves_nothing(
        self, operation: str
    ) -> None:
        self.cluster.fail(operation, fake_rados.OSError(errno.EPERM))
        self.assertRaises(fake_rados.OSError, self._try_out)
        self.assertEqual({}, self.cluster.pools['data'].objects)

    @ddt.data(
        (errno.ENOENT, 'does not exist', 'of the Ceph cluster'),
        (errno.EOPNOTSUPP, 'overwrites', 'allow_ec_overwrites'),
        (errno.EPERM, '(errno 1, EPERM)', "'profile rbd pool=data'"),
        (12345, '(errno 12345, unknown)', "'profile rbd pool=data'"),
    )
    @ddt.unpack
    def test_refusal_has_the_cause_and_what_is_allowed(
        self, number: int, reason: str, allowed: str
    ) -> None:
        error = data_pool.write_refusal('data', errors.Origin.BACKEND, number)
        self.assertIn("rbd:data_pool = 'data' (backend", str(error))
        self.assertIn(reason, error.reason)
        self.assertIn(allowed, error.allowed)
