# SPDX-License-Identifier: Apache-2.0

"""Shared connections on an in-memory cluster."""

from collections.abc import Iterator
import contextlib
import errno
import threading
from typing import Any
from unittest import mock

from cinder import exception
import fixtures

from cinder_rbd_ext.cluster import identity
from cinder_rbd_ext.cluster import shared_clients
from tests.fakes import fake_rados
from tests.unit import base

_PLACE = identity.Place('ceph', '/nowhere', 'cinder', -1)
_SHUT_DOWN = fake_rados.OSError(errno.ESHUTDOWN)
_TIMED_OUT = fake_rados.OSError(errno.ETIMEDOUT)


class SharedClientsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cluster = fake_rados.Cluster('volumes', 'data')
        self.rados = self.cluster.rados
        self.now = 1000.0
        self.connected: list[fake_rados.Rados] = []
        driver: Any = self
        self.clients = shared_clients.SharedClients(
            driver, lambda: self.now, lambda function: function()
        )

    def _connect(self) -> Any:
        client = fake_rados.Rados(self.cluster)
        client.connect()
        self.connected.append(client)
        return client, client.open_ioctx('volumes')

    def _lend(
        self, place: identity.Place = _PLACE, pool: str = 'volumes'
    ) -> Any:
        return self.clients.lend(place, pool, self._connect)[1]

    def _back(self, ioctx: Any, error: Exception | None = None) -> None:
        self.assertTrue(self.clients.give_back(ioctx, error))

    @contextlib.contextmanager
    def _lent(self, **how: Any) -> Iterator[Any]:
        ioctx = self._lend(**how)
        yield ioctx
        self._back(ioctx)

    def _use(self, error: Exception | None = None) -> None:
        self._back(self._lend(), error)

    def _states(self) -> list[str]:
        return [each.state for each in self.connected]

    def test_one_for_all(self) -> None:
        with self._lent() as first, self._lent(pool='data') as second:
            self.assertIs(first.client, second.client)
            self.assertEqual('data', second.get_pool_name())
        self.assertEqual(['closed', 'closed'], [first.state, second.state])
        self._use()
        self.assertEqual(['connected'], self._states())

    def test_one_for_each_place(self) -> None:
        other = identity.Place('ceph', '/nowhere', 'cinder', 5)
        with self._lent() as first, self._lent(place=other) as second:
            self.assertIsNot(first.client, second.client)

    def test_context_of_somebody_else(self) -> None:
        _, ioctx = self._connect()
        self.assertFalse(self.clients.give_back(ioctx, None))
        self.assertEqual('open', ioctx.state)

    def test_limited_number_of_connections_serves_a_crowd(self) -> None:
        """A limited number of connections serves any number of operations."""
        most = shared_clients.MOST * shared_clients.CROWD
        lent = [self._lend() for _ in range(most + 10)]
        self.assertEqual(shared_clients.MOST, len(self.connected))
        used = [sum(i.client is c for i in lent) for c in self.connected]
        self.assertLessEqual(max(used) - min(used), 1)
        for each in lent:
            self._back(each)

    def test_idle_connection_is_shut_down(self) -> None:
        other = identity.Place('ceph', '/nowhere', 'other', -1)
        self._use()
        self.now += shared_clients.LONGEST_IDLE
        with self._lent(place=other):
            self.assertEqual(['connected'] * 2, self._states())
            self.now += 1
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_old_one_in_use(self) -> None:
        with self._lent() as first:
            self.now += shared_clients.LONGEST_LIFE + 1
            with self._lent() as second:
                self.assertIsNot(first.client, second.client)
            self.assertEqual(['connected'] * 2, self._states())
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_lost_connection_is_shut_down_after_its_last_user(self) -> None:
        """A lost connection is shut down when its last user is done."""
        with self._lent():
            self._use(_SHUT_DOWN)
            self.assertEqual(['connected'], self._states())
            self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())
        self.assertEqual(1, self.clients.replaced)

    def test_clean_up_after_a_failure(self) -> None:
        """A failure from before the operation says nothing about it."""
        try:
            raise _SHUT_DOWN
        except fake_rados.Error as earlier:
            ioctx = self._lend()
            try:
                raise ValueError
            except ValueError as error:
                self.assertIs(earlier, error.__context__)
                self._back(ioctx, error)
            self._use(earlier)
        self._use()
        self.assertEqual(['connected'], self._states())
        self.assertEqual(0, self.clients.replaced)

    def test_capabilities_that_are_missing(self) -> None:
        """A new connection has capabilities that were added later."""
        self._use(fake_rados.OSError(errno.EPERM))
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_probe_before_the_next_use(self) -> None:
        self._use()
        self.cluster.fail('Ioctx.read', _SHUT_DOWN)
        self.now += shared_clients.VERIFIED_FOR - 0.1
        self._use()
        self.now += 0.1
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())
        self.assertIn('Replacing 1 connections', self.log.output)

    def test_timeout_is_doubtful(self) -> None:
        """A timeout can be a problem of the cluster; probe the connection."""
        self._use(_TIMED_OUT)
        self._use()
        self.assertEqual(['connected'], self._states())
        self._use(_TIMED_OUT)
        self.cluster.fail('Ioctx.read', _SHUT_DOWN)
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_interrupted_probe(self) -> None:
        self._use()
        self.now += shared_clients.VERIFIED_FOR
        self.cluster.fail('Ioctx.read', RuntimeError())
        self.assertRaises(RuntimeError, self._lend)
        self.now += shared_clients.LONGEST_IDLE + 1
        self._use()
        self.now += shared_clients.LONGEST_LIFE + 1
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_killed_while_it_opens_a_pool(self) -> None:
        """A thread of eventlet can be killed when it waits."""
        self._use()
        with mock.patch.object(
            self.connected[0],
            'open_ioctx',
            autospec=True,
            side_effect=KeyboardInterrupt,
        ):
            self.assertRaises(KeyboardInterrupt, self._lend)
        self._check_unused()

    def _check_unused(self) -> None:
        (client,) = self.clients._open
        self.assertEqual(0, client.users)

    def test_context_that_cannot_be_closed(self) -> None:
        ioctx = self._lend()
        with mock.patch.object(
            ioctx, 'close', autospec=True, side_effect=KeyboardInterrupt
        ):
            self.assertRaises(
                KeyboardInterrupt, self.clients.give_back, ioctx, None
            )
        self._check_unused()

    def test_no_thread_for_a_shutdown(self) -> None:
        """No operation fails, and a later one shuts the connection down."""
        failing = mock.patch.object(
            self.clients,
            '_in_thread',
            autospec=True,
            side_effect=RuntimeError("can't start new thread"),
        )
        with failing:
            self._use(_SHUT_DOWN)
            # This one opens another connection.
            self._use()
            self._use()
        self.assertEqual(['connected'] * 2, self._states())
        self.assertIn('trying again later', self.log.output)
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_key_has_changed(self) -> None:
        with (
            self._lent() as first,
            mock.patch.object(
                identity.Digests, 'digest', autospec=True, return_value='other'
            ),
        ):
            with self._lent() as second:
                self.assertIsNot(first.client, second.client)
            self.assertEqual(['connected'] * 2, self._states())
        self.assertEqual('shutdown', self._states()[0])

    def test_unknown_pool(self) -> None:
        """The stock driver's own method reports the error."""
        self._use()
        failed = exception.VolumeBackendAPIException(data='no pool')
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.clients.lend,
            _PLACE,
            'nowhere',
            mock.Mock(side_effect=failed),
        )
        self._use()
        self.assertEqual(['connected'], self._states())

    def test_cannot_connect(self) -> None:
        self.cluster.fail('Rados.connect', fake_rados.Error('down'))
        self.assertRaises(fake_rados.Error, self._lend)
        self._use()
        self.assertEqual(['connected'], self._states())

    def test_waiting_for_one_that_fails(self) -> None:
        """All waiting operations fail with the same error."""
        failed = exception.VolumeBackendAPIException(data='down')
        attempts = []
        waiting = threading.Event()

        def connect() -> Any:
            attempts.append(1)
            waiting.wait(10)
            raise failed

        errors: list[str] = []

        def lend() -> None:
            try:
                self.clients.lend(_PLACE, 'volumes', connect)
            except exception.VolumeBackendAPIException as error:
                errors.append(str(error))

        threads = [threading.Thread(target=lend) for _ in range(5)]
        for each in threads:
            each.start()
        while len(attempts) < 1:
            pass
        waiting.set()
        for each in threads:
            each.join(10)
        self.assertEqual([str(failed)] * 5, errors)

    def test_child_process_forgets_connections(self) -> None:
        """A child process forgets the parent's connections."""
        ioctx = self._lend()
        self.clients._abandon()
        self.assertEqual('shutdown', self.connected[0].state)
        self.assertFalse(self.clients.give_back(ioctx, None))
        self._use()
        self.assertEqual(2, len(self.connected))
