#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.cluster.probe."""

import errno

import ddt

from cinder_rbd_ext.cluster import probe
from tests.fakes import fake_rados
from tests.unit import base


@ddt.ddt
class RespondsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.slept: list[float] = []

    def _responds(self, patience: float = 5.0) -> bool:
        with self.cluster.connected() as ioctx:
            return probe.responds(
                self.cluster.rados, ioctx, patience, self.slept.append
            )

    def test_usable(self) -> None:
        self.assertTrue(self._responds())
        self.assertEqual([], self.slept)

    @ddt.data(errno.EPERM, errno.ENOSPC)
    def test_refusal_is_a_response(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertTrue(self._responds())

    @ddt.data(errno.ESHUTDOWN, errno.ENOTCONN)
    def test_lost(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertFalse(self._responds())

    def test_no_response(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(errno.ETIMEDOUT))
        self.assertFalse(self._responds(2.0))
        self.assertAlmostEqual(2.0, sum(self.slept), delta=0.1)

    def test_not_sent(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.ObjectNotFound())
        self.assertFalse(self._responds())
