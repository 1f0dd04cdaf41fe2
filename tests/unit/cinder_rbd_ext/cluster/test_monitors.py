# SPDX-License-Identifier: Apache-2.0

"""The addresses of the monitors."""

import concurrent.futures
import errno
import threading
from typing import Any
from unittest import mock

from cinder import exception

from cinder_rbd_ext.cluster import monitors
from cinder_rbd_ext.cluster import shared_clients
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

    def test_addresses_are_remembered_for_their_lifetime(self) -> None:
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

    def test_failure_of_a_monitor_is_named(self) -> None:
        self.cluster.mon_status = -errno.EACCES
        error = self.assertRaises(
            exception.VolumeBackendAPIException, self.monitors.addresses
        )
        self.assertIn('status -13', str(error))

    def test_on_another_connection(self) -> None:
        before: Any = next(iter(self.driver.sharing._clients._open))
        self.cluster.mon_status = -errno.ETIMEDOUT
        self.assertRaises(
            exception.VolumeBackendAPIException, self.monitors.addresses
        )
        self.assertTrue(before.retired)
        self.cluster.mon_status = 0
        self.assertEqual(_FOUND, self.monitors.addresses())

    def _at_once(self, answer: Any) -> list[Any]:
        """Request the addresses in many threads while a query is running."""
        self.queries = 0
        waiting = threading.Semaphore(0)
        wait = shared_clients.Attempt.wait

        def waits(attempt: shared_clients.Attempt) -> None:
            waiting.release()
            wait(attempt)

        def dump(instance: monitors.Monitors) -> Any:
            self.queries += 1
            for _ in range(19):
                waiting.acquire(timeout=10)
            return answer(instance)

        with (
            mock.patch.object(
                monitors.Monitors, '_dump', autospec=True, side_effect=dump
            ),
            mock.patch.object(
                shared_clients.Attempt,
                'wait',
                autospec=True,
                side_effect=waits,
            ),
            concurrent.futures.ThreadPoolExecutor(20) as pool,
        ):
            done = [pool.submit(self.monitors.addresses) for _ in range(20)]
            concurrent.futures.wait(done, 60)
        return done

    def test_one_query_at_a_time(self) -> None:
        done = self._at_once(monitors.Monitors._dump)
        self.assertEqual([_FOUND] * 20, [each.result() for each in done])
        self.assertEqual(1, self.queries)

    def test_all_fail_with_the_query(self) -> None:
        """They do not wait for a timeout one after the other."""
        failed = exception.VolumeBackendAPIException(data='no monitor')
        done = self._at_once(mock.Mock(side_effect=failed))
        self.assertEqual(
            {str(failed)}, {str(each.exception()) for each in done}
        )
        self.assertEqual(1, self.queries)
        self.assertEqual(_FOUND, self.monitors.addresses())
