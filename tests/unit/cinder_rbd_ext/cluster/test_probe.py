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
from unittest import mock

import ddt

from cinder_rbd_ext.cluster import probe
from tests.fakes import fake_rados
from tests.unit import base


@ddt.ddt
class AskTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.slept: list[float] = []

    def _ask(self, patience: float = 5.0) -> probe.Answer:
        with self.cluster.connected() as ioctx:
            return probe.ask(
                self.cluster.rados, ioctx, patience, self.slept.append
            )

    def test_usable_connection_responds(self) -> None:
        self.assertIs(probe.Answer.RESPONDED, self._ask())
        self.assertEqual([], self.slept)

    @ddt.data(errno.EPERM, errno.ENOSPC)
    def test_refusal_is_a_response(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertIs(probe.Answer.RESPONDED, self._ask())

    @ddt.data(errno.ESHUTDOWN, errno.ENOTCONN)
    def test_lost_connection_is_refused(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertIs(probe.Answer.REFUSED, self._ask())

    def test_no_response(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(errno.ETIMEDOUT))
        self.assertIs(probe.Answer.SILENT, self._ask(2.0))
        self.assertAlmostEqual(2.0, sum(self.slept), delta=0.1)

    def test_timeout_of_the_connection(self) -> None:
        """``rados_osd_op_timeout`` may be shorter."""
        completion = mock.Mock(spec=['is_complete', 'get_return_value'])
        completion.get_return_value.return_value = -errno.ETIMEDOUT
        with (
            self.cluster.connected() as ioctx,
            mock.patch.object(
                ioctx,
                'operate_aio_read_op',
                autospec=True,
                return_value=completion,
            ),
        ):
            answer = probe.ask(self.cluster.rados, ioctx)
        self.assertIs(probe.Answer.SILENT, answer)

    def test_not_sent(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.ObjectNotFound())
        self.assertIs(probe.Answer.REFUSED, self._ask())
