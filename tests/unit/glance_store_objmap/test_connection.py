# SPDX-License-Identifier: Apache-2.0

"""Test connections that do not wait for free space."""

import ddt

from glance_store_objmap import connection
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base


@ddt.ddt
class ConnectionTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('images')
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.connection = connection.Connection(self.client)

    def test_contexts_do_not_wait(self) -> None:
        self.assertFalse(self.client.open_ioctx('images').full_try)
        ioctx = self.connection.open_ioctx('images')
        self.assertIsInstance(ioctx, fake_rados.Ioctx)
        self.assertTrue(ioctx.full_try)

    @ddt.data((None, 'false'), ('false', 'false'), ('true', 'true'))
    @ddt.unpack
    def test_data_is_copied_only_with_a_cache(
        self, pool: str | None, copied: str
    ) -> None:
        """Data is copied only if the pool has a cache, which keeps it."""
        if pool:
            self.cluster.pools['images'].config['rbd_cache'] = pool
        self.connection.prepare_upload(
            fake_librbd.Librbd(self.cluster).RBD(),
            self.connection.open_ioctx('images'),
        )
        self.assertEqual(
            {'rbd_cache': 'false', 'rbd_disable_zero_copy_writes': copied},
            self.client.settings,
        )

    def test_the_rest_is_the_client(self) -> None:
        self.assertEqual(fake_rados.FSID, self.connection.get_fsid())
        self.assertFalse(hasattr(self.connection, 'nothing'))
