# SPDX-License-Identifier: Apache-2.0

import time
from typing import Any
from unittest import mock

from rbd_volume_options import errors
from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import space
from tests.fakes import fake_rados
from tests.unit import base


class SpaceTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        cluster = fake_rados.Cluster('volumes', 'data')
        client = fake_rados.Rados(cluster)
        client.connect()
        self.ident = cluster.pools['data'].number
        self.there = {'volumes': 100, 'data': 10}
        patch = mock.patch.object(facts, 'free', autospec=True)
        patch.start().side_effect = lambda cluster, pool: self.there[pool]
        self.addCleanup(patch.stop)
        self.space = space.Space(client, 'volumes')

    def test_own_pool(self) -> None:
        self.space.check(50)
        error = self.assertRaises(errors.OptionError, self.space.check, 51)
        self.assertIn('100 are free in the pool volumes', str(error))
        self.space.require(100)

    def test_data_pool(self) -> None:
        self.space.use(self.ident)
        error = self.assertRaises(errors.OptionError, self.space.check, 6)
        self.assertIn('in the data pool data of the pool volumes', str(error))
        # The pool of the headers needs space too.
        self.there['volumes'] = 0
        self.assertRaises(errors.OptionError, self.space.check, 5)

    def test_space_that_is_used_meanwhile(self) -> None:
        error = self.assertRaises(
            processes.EngineError, self.space.require, 101, wait=0
        )
        self.assertIn('101 bytes of data are needed, and 100', str(error))

    def test_space_of_a_removed_image(self) -> None:
        def free(seconds: float) -> Any:
            self.there['volumes'] = 200

        with mock.patch.object(time, 'sleep', autospec=True) as sleep:
            sleep.side_effect = free
            self.space.require(101)
        self.assertEqual(1, sleep.call_count)
