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

"""The addresses of the monitors."""

import errno
from typing import Any

from cinder import exception

from cinder_rbd_ext.cluster import monitors
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_FOUND = (['192.0.2.1', '2001:db8::2'], ['6789', '6789'])


class MonitorsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.replaced = 0
        self.monitors = monitors.Monitors(
            self.driver, lambda: self.replaced, lambda: self.now
        )

    def _no_further_command(self) -> None:
        self.cluster.fail('Rados.mon_command', fake_rados.Error('not now'))
        self.assertEqual(_FOUND, self.monitors.addresses())
        self.cluster.forgive()

    def test_order_and_ipv6(self) -> None:
        self.assertEqual(_FOUND, self.monitors.addresses())

    def test_remembered(self) -> None:
        self.monitors.addresses()
        self.now = monitors.LIFETIME - 1
        self._no_further_command()

    def _asks_again(self) -> None:
        self.cluster.fail('Rados.mon_command', fake_rados.Error('not now'))
        self.assertRaises(fake_rados.Error, self.monitors.addresses)

    def test_not_for_long(self) -> None:
        self.monitors.addresses()
        self.now = monitors.LIFETIME
        self._asks_again()

    def test_not_after_a_lost_connection(self) -> None:
        self.monitors.addresses()
        self.replaced += 1
        self._asks_again()

    def test_not_after_a_failover(self) -> None:
        self.monitors.addresses()
        self.driver._active_config = {'name': 'secondary'}
        self._asks_again()

    def test_list_is_a_copy(self) -> None:
        self.monitors.addresses()[0].clear()
        self.assertEqual(_FOUND, self.monitors.addresses())

    def test_failure(self) -> None:
        self.cluster.mon_status = -errno.EACCES
        error = self.assertRaises(
            exception.VolumeBackendAPIException, self.monitors.addresses
        )
        self.assertIn('status -13', str(error))

    def test_on_another_connection(self) -> None:
        before: Any = next(iter(self.driver._clients._open))
        self.cluster.mon_status = -errno.ETIMEDOUT
        self.assertRaises(
            exception.VolumeBackendAPIException, self.monitors.addresses
        )
        self.assertTrue(before.retired)
        self.cluster.mon_status = 0
        self.assertEqual(_FOUND, self.monitors.addresses())
