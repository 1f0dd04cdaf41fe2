# SPDX-License-Identifier: Apache-2.0

"""Connections that operations share."""

from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd as stock
import ddt

from cinder_rbd_ext import driver as driver_module
from cinder_rbd_ext.cluster import connection_choice
from tests.unit.cinder_rbd_ext import base

_OF_STOCK = stock.RBDDriver._connect_to_rados


@ddt.ddt
class SharingTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.connect = self._patched()

    def _patched(self) -> mock.Mock:
        patcher = mock.patch.object(
            stock.RBDDriver,
            '_connect_to_rados',
            autospec=True,
            side_effect=_OF_STOCK,
        )
        self.addCleanup(patcher.stop)
        return patcher.start()

    def _connects(self, driver: driver_module.RBDExtDriver) -> int:
        before = self.connect.call_count
        with stock.RADOSClient(driver):
            pass
        return int(self.connect.call_count - before)

    def test_shared_connection_is_used(self) -> None:
        self.assertEqual(0, self._connects(self.driver))

    def test_turned_off(self) -> None:
        self.override_backend('rbd_share_connections', False)
        self.assertEqual(1, self._connects(self.driver))
        self.driver._get_mon_addrs()
        self.assertEqual(('ceph', 'mon', 'dump'), self.commands.ran[-1][:3])

    @ddt.data(True, False)
    def test_full_osds_delete(self, shares: bool) -> None:
        self.override_backend('rbd_share_connections', shares)
        with stock.RADOSClient(self.driver) as client:
            self.assertTrue(client.ioctx.full_try)

    def test_monitors_without_a_program(self) -> None:
        ran = len(self.commands.ran)
        self.assertEqual(
            ['192.0.2.1', '2001:db8::2'], self.driver._get_mon_addrs()[0]
        )
        self.assertEqual(ran, len(self.commands.ran))

    def test_other_cluster_and_other_timeout(self) -> None:
        remote = {'name': 'other', 'conf': '', 'user': 'cinder'}
        for arguments in (
            (None, remote, None),
            (None, None, 5),
            (None, self.driver._active_config, None),
        ):
            connected = self.driver._connect_to_rados(*arguments)
            self.driver._disconnect_from_rados(*connected)
        self.assertEqual(2, self.connect.call_count)

    def test_long_operations_connect(self) -> None:
        with connection_choice.own_connection():
            self.assertEqual(1, self._connects(self.driver))
        self.assertEqual(0, self._connects(self.driver))

    @ddt.data('_flatten', 'revert_to_snapshot')
    def test_long_ones(self, name: str) -> None:
        seen = self._spied(name, runs=False)
        arguments: dict[str, tuple[Any, ...]] = {
            '_flatten': (None, None),
            'revert_to_snapshot': (None, self.new_volume(), None),
        }
        getattr(self.driver, name)(*arguments[name])
        self.assertEqual([True], seen)

    @ddt.data((0, True), (5, False))
    @ddt.unpack
    def test_copy_or_clone(self, depth: int, alone: bool) -> None:
        self.override_backend('rbd_max_clone_depth', depth)
        with self.driver.sharing.of_clone():
            self.assertIs(alone, connection_choice._alone.get())
        self.assertIs(False, connection_choice._alone.get())

    @ddt.data((0, True), (5, False))
    @ddt.unpack
    def test_clone_that_flattens_has_its_own_connection(
        self, depth: int, alone: bool
    ) -> None:
        self.override_backend('rbd_max_clone_depth', depth)
        source = self.made_volume({})
        seen = self._spied('create_cloned_volume')
        self.driver.create_cloned_volume(self.new_volume({}), source)
        self.assertEqual([alone], seen)

    def test_flatten_of_a_clone(self) -> None:
        seen = self._spied('_flatten_volume', runs=False)
        self.driver._flatten_volume('image', None)
        self.assertEqual([True], seen)

    def _spied(self, name: str, runs: bool = True) -> list[bool]:
        """Return where each call of a stock method notes its connection.

        :param runs: whether it runs, too
        """
        real = getattr(stock.RBDDriver, name)
        seen: list[bool] = []

        def run(*args: Any) -> Any:
            seen.append(connection_choice._alone.get())
            return real(*args) if runs else (False, None)

        patcher = mock.patch.object(
            stock.RBDDriver, name, autospec=True, side_effect=run
        )
        patcher.start()
        self.addCleanup(patcher.stop)
        return seen
