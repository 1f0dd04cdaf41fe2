# SPDX-License-Identifier: Apache-2.0

"""Test a connection that several operations share."""

import errno

import ddt

from cinder_rbd_ext.cluster import shared_clients
from tests.fakes import fake_rados
from tests.unit import base


@ddt.ddt
class SharedClientTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.rados = fake_rados.Rados(self.cluster)
        self.rados.connect()

    @ddt.data(
        (None, {'rados_mon_op_timeout': '4'}),
        ('0', {'rados_mon_op_timeout': '4'}),
        ('0.0', {'rados_mon_op_timeout': '4'}),
        ('60', {}),
    )
    @ddt.unpack
    def test_limit_of_monitors(
        self, configured: str | None, expected: dict[str, str]
    ) -> None:
        if configured:
            self.cluster.config['rados_mon_op_timeout'] = configured
        shared_clients.SharedClient(self.rados, 0.0)
        self.assertEqual(expected, self.rados.settings)

    @ddt.data(
        (0, False),
        (-errno.EINVAL, False),
        (-errno.ETIMEDOUT, True),
        (-errno.ESHUTDOWN, True),
    )
    @ddt.unpack
    def test_failed_command_retires(self, status: int, retired: bool) -> None:
        client = shared_clients.SharedClient(self.rados, 0.0)
        self.cluster.mon_status = status
        leased = shared_clients.LeasedClient(client)
        result = leased.mon_command('{"prefix": "df"}', b'')
        self.assertEqual(status, result[0])
        self.assertIs(retired, client.retired)

    def test_all_else_is_passed_through(self) -> None:
        client = shared_clients.SharedClient(self.rados, 0.0)
        leased = shared_clients.LeasedClient(client)
        self.assertEqual(fake_rados.FSID, leased.get_fsid())
