# SPDX-License-Identifier: Apache-2.0

"""The fake librbd behaves as the real one."""

from typing import Any

from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.functional import librbd_clones
from tests.unit import base


class FakeBehaviourTest(librbd_clones.Clones, base.TestCase):
    """What ``tests/functional/test_librbd_behaviour.py`` runs on Ceph."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes', 'other')
        self.other_pool = 'other'
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.pool_lookup = self.client.pool_lookup
        self.module = fake_librbd.Librbd(self.cluster)
        self.ioctx = self.second_ioctx()

    def second_ioctx(self) -> Any:
        return self.client.open_ioctx('volumes')

    def set_pool_option(self, name: str, value: str) -> None:
        self.cluster.pools['volumes'].config[name] = value
