# SPDX-License-Identifier: Apache-2.0

"""Checks of shared connections."""

import errno
import threading
from typing import Any
from unittest import mock

import ddt
import fixtures

from cinder_rbd_ext.cluster import identity
from cinder_rbd_ext.cluster import shared_clients
from tests.fakes import fake_rados
from tests.unit import base

_PLACE = identity.Place('ceph', '/nowhere', 'cinder', -1)
_RESPONDED = shared_clients.Answer.RESPONDED
_SILENT = shared_clients.Answer.SILENT


class ChecksTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cluster = fake_rados.Cluster('volumes')
        self.rados = self.cluster.rados
        self.now = 1000.0
        self.asked: list[fake_rados.Rados] = []
        #: The answer of each connection; of others, the last one.
        self.answers: dict[fake_rados.Rados, shared_clients.Answer] = {}
        self.answer = _RESPONDED
        self.connected: list[fake_rados.Rados] = []
        self.probe = self.useFixture(
            fixtures.MockPatchObject(
                shared_clients, 'ask', autospec=True, side_effect=self._ask
            )
        ).mock
        driver: Any = self
        self.clients = shared_clients.SharedClients(
            driver, lambda: self.now, lambda function: function()
        )

    def _ask(self, rados: Any, ioctx: Any) -> shared_clients.Answer:
        self.asked.append(ioctx.client)
        answer = self.answers.get(ioctx.client, self.answer)
        if answer is _SILENT:
            self.now += shared_clients.PATIENCE
        return answer

    def _connect(self) -> Any:
        client = fake_rados.Rados(self.cluster)
        client.connect()
        self.connected.append(client)
        return client, client.open_ioctx('volumes')

    def _lend(self) -> Any:
        return self.clients.lend(_PLACE, 'volumes', self._connect)[1]

    def _crowd(self) -> list[Any]:
        """Have operations open all connections, and check each of them."""
        lent = [self._lend() for _ in range(64)]
        self.assertEqual(shared_clients.MOST, len(self.connected))
        self.now += shared_clients.VERIFIED_FOR
        lent += [self._lend() for _ in range(shared_clients.MOST)]
        self.assertEqual(shared_clients.MOST, len(set(self.asked)))
        self.asked.clear()
        return lent

    def test_no_response_to_an_old_one(self) -> None:
        """All old ones are replaced, so that only one check takes long."""
        self._crowd()
        self.now += 60
        self.answer = _SILENT
        before = self.now
        ioctx = self._lend()
        self.assertEqual(before + shared_clients.PATIENCE, self.now)
        self.assertIs(self.connected[-1], ioctx.client)
        self.assertEqual(5, len(self.connected))
        self.assertEqual(1, len(self.asked))
        self.assertIn('Replacing 4 connections', self.log.output)

    def test_response_to_another_one(self) -> None:
        self._crowd()
        self.now += 60
        group = self.clients._groups[_PLACE]
        good, bad = group.clients[0], group.clients[1]
        self.answers[bad.rados] = _SILENT

        def ask(rados: Any, ioctx: Any) -> shared_clients.Answer:
            # Another operation checks a connection at the same time.
            good.verified_at = self.now + 1
            return self._ask(rados, ioctx)

        self.probe.side_effect = ask
        usable = self.clients._is_usable(
            group, bad, bad.rados.open_ioctx('volumes')
        )
        self.assertFalse(usable)
        self.assertFalse(good.retired)
        self.assertTrue(bad.retired)

    def test_no_response_to_a_new_one_either(self) -> None:
        """The OSDs are slow. A new connection does not change that."""
        self.answer = _SILENT
        self._lend()
        self.now += 60
        self._lend()
        self.assertEqual(2, len(self.connected))
        self.now += shared_clients.VERIFIED_FOR
        new = self._lend()
        self.assertIs(self.connected[1], new.client)
        self.assertEqual(2, len(self.connected))
        self.assertIn('it is used unchecked', self.log.output)
        # It is not checked again for some time.
        self.asked.clear()
        self.now += shared_clients.SILENT_FOR - 1
        self._lend()
        self.assertEqual([], self.asked)
        self.now += 2
        self._lend()
        self.assertEqual([new.client], self.asked)
        self.assertEqual(2, len(self.connected))

    def test_new_one_after_a_response(self) -> None:
        """A later failure is again one of the connection."""
        self.answer = _SILENT
        self._lend()
        self.now += 60
        self._lend()
        self.now += 60
        self.answer = _RESPONDED
        self._lend()
        self.now += 60
        self.answer = _SILENT
        self._lend()
        self.assertEqual(3, len(self.connected))

    def test_blocklisted_client_alone_is_replaced(self) -> None:
        """A client on the blocklist says nothing about the others."""
        self._crowd()
        self.now += 60
        bad = min(
            self.clients._groups[_PLACE].clients, key=lambda c: c.users
        ).rados
        self.answers[bad] = shared_clients.Answer.REFUSED
        ioctx = self._lend()
        self.assertIsNot(bad, ioctx.client)
        self.assertIn('Replacing 1 connections', self.log.output)

    def test_one_check_at_a_time(self) -> None:
        self._lend()
        self.now += 60
        begun, go_on = threading.Event(), threading.Event()
        checked = []

        def ask(rados: Any, ioctx: Any) -> shared_clients.Answer:
            checked.append(ioctx)
            begun.set()
            go_on.wait(10)
            return _RESPONDED

        self.probe.side_effect = ask
        threads = [threading.Thread(target=self._lend) for _ in range(5)]
        for each in threads:
            each.start()
        begun.wait(10)
        go_on.set()
        for each in threads:
            each.join(10)
        self.assertEqual(1, len(checked))
        self.assertEqual(1, len(self.connected))

    def test_interrupted_check_is_repeated(self) -> None:
        """The next operation checks the connection again."""
        self._lend()
        self.now += 60
        self.probe.side_effect = KeyboardInterrupt
        self.assertRaises(KeyboardInterrupt, self._lend)
        self.probe.side_effect = self._ask
        self._lend()
        self.assertEqual(1, len(self.asked))
        self.assertEqual(1, len(self.connected))


@ddt.ddt
class AskTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.slept: list[float] = []

    def _ask(self, patience: float = 5.0) -> shared_clients.Answer:
        with self.cluster.connected() as ioctx:
            return shared_clients.ask(
                self.cluster.rados, ioctx, patience, self.slept.append
            )

    def test_usable_connection_responds(self) -> None:
        self.assertIs(shared_clients.Answer.RESPONDED, self._ask())
        self.assertEqual([], self.slept)

    @ddt.data(errno.EPERM, errno.ENOSPC)
    def test_refusal_is_a_response(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertIs(shared_clients.Answer.RESPONDED, self._ask())

    @ddt.data(errno.ESHUTDOWN, errno.ENOTCONN)
    def test_lost_connection_is_refused(self, number: int) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(number))
        self.assertIs(shared_clients.Answer.REFUSED, self._ask())

    def test_no_response(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(errno.ETIMEDOUT))
        self.assertIs(shared_clients.Answer.SILENT, self._ask(2.0))
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
            answer = shared_clients.ask(self.cluster.rados, ioctx)
        self.assertIs(shared_clients.Answer.SILENT, answer)

    def test_not_sent(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.ObjectNotFound())
        self.assertIs(shared_clients.Answer.REFUSED, self._ask())
