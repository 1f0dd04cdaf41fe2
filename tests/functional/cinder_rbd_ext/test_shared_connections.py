# SPDX-License-Identifier: Apache-2.0

"""Operations share connections."""

import concurrent.futures
import threading
import time
from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd as stock_rbd

from cinder_rbd_ext.cluster import connections as shared
from tests.functional.cinder_rbd_ext import connections


class CountTest(connections.ConnectionsTestCase):
    """The number of connections that operations open."""

    def test_none_if_one_is_open(self) -> None:
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name), self.connecting(0):
                operation()

    def test_option_turns_it_off(self) -> None:
        before = connections.number()
        driver = self.make_driver(rbd_share_connections=False)
        self.assertEqual(before, connections.number())
        for name, operation in self.operations(driver):
            with self.subTest(name):
                if name == 'initialize_connection':
                    # That of the lock: it runs a program for the rest.
                    with self.connecting(1):
                        operation()
                else:
                    operation()
        with self.connecting(1):
            driver._get_fsid()
        self.assertEqual(before, connections.number())

    def test_old_one_is_replaced_and_shut_down(self) -> None:
        self.warm_up()
        before = self.steady()
        with (
            mock.patch.object(shared, 'LONGEST_LIFE', -1),
            self.connecting(1),
        ):
            self.driver._get_fsid()
        self.wait_for(
            lambda: (
                connections.number() <= before[0]
                and connections.descriptors() <= before[1]
            )
        )

    def test_many_deletions_at_once(self) -> None:
        self.warm_up()
        volumes = [self.made_volume() for _ in range(40)]
        names = self.cluster.names()
        before = connections.number()
        descriptors = connections.descriptors()
        most = []
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                most.append((connections.number(), connections.descriptors()))

        with concurrent.futures.ThreadPoolExecutor(41) as pool:
            watching = pool.submit(watch)
            done = [pool.submit(_delete, self.driver, n) for n in names]
            concurrent.futures.wait(done)
            ended.set()
            watching.result()
        self.assertEqual([None] * 40, [each.result() for each in done])
        self.assertEqual([], self.cluster.names())
        self.assertEqual(before, max(c for c, _ in most))
        self.assertLess(max(d for _, d in most), descriptors + 10)
        self.assertEqual(40, len(volumes))

    def test_flattening_has_its_own(self) -> None:
        source = self.made_volume()
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, source)
        # The lock has another one.
        with self.connecting(2):
            self.driver._flatten('volumes', clone.name)


def _delete(driver: Any, name: str) -> None:
    """Delete an image as the stock driver does, without the database."""
    with stock_rbd.RADOSClient(driver) as client:
        with stock_rbd.RBDVolumeProxy(
            driver, name, client=client.cluster, ioctx=client.ioctx
        ) as image:
            list(image.list_snaps())
        driver.RBDProxy().remove(client.ioctx, name)


class AddressesTest(connections.ConnectionsTestCase):
    """The addresses of the monitors."""

    def test_as_stock(self) -> None:
        stock = self.make_driver(stock_rbd.RBDDriver)
        self.assertEqual(stock._get_mon_addrs(), self.driver._get_mon_addrs())

    def test_no_program(self) -> None:
        volume = self.made_volume()
        with mock.patch.object(
            self.driver, '_execute', autospec=True, side_effect=AssertionError
        ):
            info = self.driver.initialize_connection(
                volume, connections.CONNECTOR
            )
        self.assertEqual(['127.0.0.1'], info['data']['hosts'])

    def test_monitor_that_does_not_respond(self) -> None:
        """The driver tries another connection, which fails as well."""
        daemons = self.cluster.daemons
        with mock.patch.object(shared, '_MONITOR_PATIENCE', 2):
            driver = self.make_driver()
        with daemons.paused('mon'):
            started = time.monotonic()
            old = self.client(driver)
            with stock_rbd.RADOSClient(driver) as client:
                status, _, _ = client.cluster.mon_command(
                    '{"prefix": "mon dump"}', b''
                )
            # librados would wait for five minutes.
            self.assertLess(time.monotonic() - started, 60)
        self.assertEqual(-110, status)
        self.assertEqual(['127.0.0.1'], driver._get_mon_addrs()[0])
        self.assertIsNot(old, self.client(driver))
