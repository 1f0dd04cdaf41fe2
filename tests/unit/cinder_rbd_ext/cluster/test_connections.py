# SPDX-License-Identifier: Apache-2.0

"""Connections that operations share, on a fake cluster."""

from collections.abc import Iterator
import contextlib
import errno
import functools
import os
import pathlib
import threading
import time
from typing import Any
from unittest import mock

from cinder import exception
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures

from cinder_rbd_ext import driver as driver_module
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import connections
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_OF_STOCK = stock.RBDDriver._connect_to_rados
_SHUT_DOWN = fake_rados.OSError(errno.ESHUTDOWN)
_TIMED_OUT = fake_rados.OSError(errno.ETIMEDOUT)
_ADDRESSES = (['192.0.2.1', '2001:db8::2'], ['6789', '6789'])


class ConnectionsTestCase(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        in_thread = releases.in_thread

        def shut_down(function: Any) -> None:
            """Shut a connection down at once; other threads go on."""
            is_end = function.__name__ == 'shutdown'
            (function if is_end else functools.partial(in_thread, function))()

        self._patch('cinder_rbd_ext.releases.in_thread', shut_down)
        self.connect = self.useFixture(
            fixtures.MockPatchObject(
                stock.RBDDriver,
                '_connect_to_rados',
                autospec=True,
                side_effect=_OF_STOCK,
            )
        ).mock
        self.connected: list[fake_rados.Rados] = []
        connect = fake_rados.Rados.connect

        def connecting(client: fake_rados.Rados) -> None:
            self.connected.append(client)
            connect(client)

        self._patch('tests.fakes.fake_rados.Rados.connect', connecting)
        # It has a connection already.
        self.driver = self.make_driver()

    def _set(self, **constants: float) -> None:
        for name, value in constants.items():
            self._patch(f'{connections.__name__}.{name}', value)

    @contextlib.contextmanager
    def _lent(self, pool: str | None = None) -> Iterator[Any]:
        with stock.RADOSClient(self.driver, pool) as client:
            yield client

    def _use(self, error: Exception | None = None) -> None:
        with (
            contextlib.suppress(fake_rados.Error),
            stock.RADOSClient(self.driver),
        ):
            if error:
                raise error

    def _states(self) -> list[str]:
        return [each.state for each in self.connected]

    def _fails_to_lend(self, error: type[BaseException]) -> None:
        self.assertRaises(error, stock.RADOSClient, self.driver)


@ddt.ddt
class LendingTest(ConnectionsTestCase):
    def test_lost_connection_is_shut_down_after_its_last_user(self) -> None:
        with self._lent():
            self._use(_SHUT_DOWN)
            self.assertEqual(['connected'], self._states())
            self._use()
            self.assertEqual(['connected'] * 2, self._states())
        self.assertEqual(['shutdown', 'connected'], self._states())

    @ddt.data(
        errno.ESHUTDOWN,
        errno.ENOTCONN,
        errno.ETIMEDOUT,
        # A new connection has capabilities that were added later.
        errno.EPERM,
        errno.EACCES,
    )
    def test_connection_is_replaced_after_an_error(self, number: int) -> None:
        self._use(fake_rados.OSError(number))
        self.assertEqual(['shutdown'], self._states())
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())

    def test_other_errors_are_none_of_the_connection(self) -> None:
        self._use(fake_rados.OSError(errno.ENOENT))
        self.assertEqual(['connected'], self._states())

    @ddt.data((-errno.EINVAL, 1), (-errno.ETIMEDOUT, 2), (-errno.ESHUTDOWN, 2))
    @ddt.unpack
    def test_connection_is_replaced_after_a_command(
        self, status: int, number: int
    ) -> None:
        self.cluster.mon_status = status
        with self._lent() as client:
            command = client.cluster.mon_command('{"prefix": "df"}', b'')
            self.assertEqual(status, command[0])
        self._use()
        self.assertEqual(number, len(self.connected))

    @ddt.data((None, '4'), ('0', '4'), ('0.0', '4'), ('60', None))
    @ddt.unpack
    def test_limit_of_monitors(
        self, configured: str | None, expected: str | None
    ) -> None:
        if configured:
            self.cluster.config['rados_mon_op_timeout'] = configured
        self._use(_SHUT_DOWN)
        self._use()
        settings = self.connected[-1].settings
        self.assertEqual(expected, settings.get('rados_mon_op_timeout'))

    def test_unknown_pool(self) -> None:
        """The stock driver reports the error."""
        self.assertRaises(
            exception.VolumeBackendAPIException,
            stock.RADOSClient,
            self.driver,
            'nowhere',
        )
        self._use()
        self.assertEqual('connected', self._states()[0])

    def test_cannot_connect(self) -> None:
        self._use(_SHUT_DOWN)
        self.cluster.fail('Rados.connect', fake_rados.Error('down'))
        self._fails_to_lend(exception.VolumeBackendAPIException)
        self._use()
        self.assertEqual('connected', self._states()[-1])

    def test_killed_while_it_opens_a_pool(self) -> None:
        """A thread of eventlet can be killed when it waits."""
        with mock.patch.object(
            self.connected[0],
            'open_ioctx',
            autospec=True,
            side_effect=RuntimeError,
        ):
            self._fails_to_lend(RuntimeError)
        self._check_unused()

    def test_context_that_cannot_be_closed(self) -> None:
        client = stock.RADOSClient(self.driver)
        with mock.patch.object(
            client.ioctx, 'close', autospec=True, side_effect=KeyboardInterrupt
        ):
            self.assertRaises(KeyboardInterrupt, client.__exit__, *[None] * 3)
        self._check_unused()

    def _check_unused(self) -> None:
        """Check that nothing uses the connection: its end is not delayed."""
        self._use(_SHUT_DOWN)
        self.assertEqual(['shutdown'], self._states())


class OpeningTest(ConnectionsTestCase):
    """Several operations need a connection that is not open yet."""

    def setUp(self) -> None:
        super().setUp()
        self._use(_SHUT_DOWN)
        self.connect.reset_mock()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def _at_once(self, number: int) -> list[str]:
        """Use a connection in threads; return their errors."""
        errors: list[str] = []

        def use() -> None:
            try:
                with stock.RADOSClient(self.driver):
                    pass
            except exception.VolumeBackendAPIException as error:
                errors.append(str(error))

        threads = [threading.Thread(target=use) for _ in range(number)]
        for each in threads:
            each.start()
        self.begun.wait(10)
        # They wait for the first one.
        time.sleep(0.1)
        self.go_on.set()
        for each in threads:
            each.join(10)
        return errors

    def _slowly(self, *args: Any) -> Any:
        self.begun.set()
        self.go_on.wait(10)
        return _OF_STOCK(*args)

    def test_one_of_them_opens_it(self) -> None:
        self.connect.side_effect = self._slowly
        self.assertEqual([], self._at_once(5))
        self.assertEqual(1, self.connect.call_count)

    def test_all_fail_with_it(self) -> None:
        """They do not wait for a timeout one after the other."""
        failed = exception.VolumeBackendAPIException(data='down')

        def fail(*_: Any) -> None:
            self.begun.set()
            self.go_on.wait(10)
            raise failed

        self.connect.side_effect = fail
        self.assertEqual([str(failed)] * 5, self._at_once(5))
        self.assertEqual(1, self.connect.call_count)

    def test_none_waits_for_long(self) -> None:
        """A client that began in an outage finds its end late.

        The same without its key: the stock driver recovers within half a
        second after the key is there again.
        """
        self.assertLessEqual(connections.OPENING, 1.0)
        self._set(OPENING=0.05)
        calls = []

        def connect(*args: Any) -> Any:
            calls.append(args)
            return self._slowly(*args) if len(calls) < 2 else _OF_STOCK(*args)

        self.connect.side_effect = connect
        first = threading.Thread(target=self._use)
        first.start()
        self.begun.wait(10)
        self._use()
        self.assertEqual(['connected'], self._states()[1:])
        self.go_on.set()
        first.join(10)
        self._use()
        self.assertEqual(2, len(calls))
        self.assertEqual(['connected', 'shutdown'], self._states()[1:])


class CheckTest(ConnectionsTestCase):
    """A connection that was not used for some time is checked."""

    def setUp(self) -> None:
        super().setUp()
        self._set(PATIENCE=0.05, VERIFIED_FOR=-1000.0)

    def test_blocklisted_one_is_replaced(self) -> None:
        self.cluster.fail('Ioctx.read', _SHUT_DOWN)
        with self._lent() as client:
            self.assertIs(self.connected[1], client.ioctx.client)
        self.assertEqual(['shutdown', 'connected'], self._states())
        self.assertIn('Replacing a connection', self.log.output)

    def test_any_response_will_do(self) -> None:
        self.cluster.fail('Ioctx.read', fake_rados.OSError(errno.EPERM))
        self._use()
        self.assertEqual(['connected'], self._states())

    def test_new_one_is_not_checked_for_some_time(self) -> None:
        """If the OSDs are slow, not each operation waits and connects."""
        self._set(VERIFIED_FOR=0.0)
        self.cluster.fail('Ioctx.read', _TIMED_OUT)
        self._use()
        self.cluster.fail('Ioctx.read', _TIMED_OUT)
        self._use()
        self.assertEqual(['shutdown', 'connected'], self._states())
        # Nor is there a third one, until an OSD has responded again.
        self._set(VERIFIED_FOR=-2 * connections.UNCHECKED_FOR)
        self._use()
        self.assertEqual(2, len(self.connected))
        self._use()
        self.cluster.fail('Ioctx.read', _TIMED_OUT)
        self._use()
        self.assertEqual(3, len(self.connected))

    def test_response_counts_for_some_time(self) -> None:
        self._set(VERIFIED_FOR=60.0)
        self.cluster.fail('Ioctx.read', _SHUT_DOWN)
        self._use()
        self.cluster.forgive()
        self.assertEqual(['connected'], self._states())

    def test_interrupted_check(self) -> None:
        self.cluster.fail('Ioctx.read', RuntimeError())
        self._fails_to_lend(RuntimeError)
        self._use(_SHUT_DOWN)
        self.assertEqual(['shutdown'], self._states())


class KeyTest(ConnectionsTestCase):
    """The files that a new connection would read."""

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf, self.keyring = folder / 'ceph.conf', folder / 'keyring'
        self.keyfile = folder / 'keyfile'
        for each in (self.conf, self.keyring, self.keyfile):
            each.write_text('A')
        self.cluster.config['keyring'] = f'/nowhere,{self.keyring}'
        self.cluster.config['keyfile'] = str(self.keyfile)
        self.driver = self.make_driver(rbd_ceph_conf=str(self.conf))
        self.connected.clear()

    def _replaces(self) -> bool:
        self._use()
        replaced = bool(self.connected)
        self.connected.clear()
        return replaced

    def test_key_of_the_same_size_and_time(self) -> None:
        at = self.keyring.stat()
        self.assertFalse(self._replaces())
        self.keyring.write_text('B')
        os.utime(self.keyring, ns=(at.st_atime_ns, at.st_mtime_ns))
        self.assertTrue(self._replaces())
        self.assertFalse(self._replaces())

    def test_other_files(self) -> None:
        for file in (self.conf, self.keyfile):
            file.write_text('B')
            self.assertTrue(self._replaces())
        self.conf.unlink()
        self.assertTrue(self._replaces())
        self.assertFalse(self._replaces())

    def test_key_that_changes_meanwhile(self) -> None:
        """Nobody knows which one was read, so it is read again."""

        def connect(*args: Any) -> Any:
            self.keyring.write_text('C')
            return _OF_STOCK(*args)

        self.keyring.write_text('B')
        self.connect.side_effect = connect
        self.assertTrue(self._replaces())
        self.connect.side_effect = _OF_STOCK
        self.assertTrue(self._replaces())

    def test_configuration_of_the_environment(self) -> None:
        self.useFixture(
            fixtures.EnvironmentVariable('CEPH_CONF', str(self.conf))
        )
        self.driver = self.make_driver(rbd_ceph_conf='')
        self.connected.clear()
        self.assertFalse(self._replaces())
        self.conf.write_text('B')
        self.assertTrue(self._replaces())


class AddressesTest(ConnectionsTestCase):
    def _asks(self) -> bool:
        """Return whether the next request for the addresses asks a monitor."""
        self.cluster.mon_status = -errno.EACCES
        try:
            self.assertEqual(_ADDRESSES, self.driver._get_mon_addrs())
        except exception.VolumeBackendAPIException:
            return True
        finally:
            self.cluster.mon_status = 0
        return False

    def test_addresses_are_cached_for_some_time(self) -> None:
        self.assertTrue(self._asks())
        self.assertEqual(_ADDRESSES, self.driver._get_mon_addrs())
        self.assertFalse(self._asks())
        self.driver._active_config = {'name': 'secondary'}
        self.assertTrue(self._asks())
        self._set(ADDRESSES_FOR=-1.0)
        self.driver._get_mon_addrs()
        self.assertTrue(self._asks())

    def test_failure_of_a_monitor_is_named(self) -> None:
        self.cluster.mon_status = -errno.EACCES
        error = self.assertRaises(
            exception.VolumeBackendAPIException, self.driver._get_mon_addrs
        )
        self.assertIn('status -13', str(error))

    def test_on_another_connection(self) -> None:
        command = fake_rados.Rados.mon_command

        def ask(client: fake_rados.Rados, *args: Any) -> Any:
            if client is self.connected[0]:
                return -errno.ETIMEDOUT, b'', 'none'
            return command(client, *args)

        self._patch('tests.fakes.fake_rados.Rados.mon_command', ask)
        self.assertEqual(_ADDRESSES, self.driver._get_mon_addrs())
        self.assertEqual(['shutdown', 'connected'], self._states())


@ddt.ddt
class ChoiceTest(ConnectionsTestCase):
    """Which operations share a connection."""

    def _connects(self, driver: driver_module.RBDExtDriver) -> int:
        before = self.connect.call_count
        with stock.RADOSClient(driver):
            pass
        return int(self.connect.call_count - before)

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

    def test_other_cluster_and_other_timeout(self) -> None:
        before = self.connect.call_count
        remote = {'name': 'other', 'conf': '', 'user': 'cinder'}
        for arguments in (
            (None, remote, None),
            (None, None, 5),
            (None, self.driver._active_config, None),
        ):
            connected = self.driver._connect_to_rados(*arguments)
            self.driver._disconnect_from_rados(*connected)
        # The shared one is that of the active cluster.
        self.assertEqual(2, self.connect.call_count - before)

    def test_long_operations_connect(self) -> None:
        with connections.own_connection():
            self.assertEqual(1, self._connects(self.driver))
        self.assertEqual(0, self._connects(self.driver))

    @ddt.data('_flatten', '_flatten_volume', 'revert_to_snapshot')
    def test_long_ones(self, name: str) -> None:
        seen = self._spied(name, runs=False)
        arguments: dict[str, tuple[Any, ...]] = {
            '_flatten': (None, None),
            '_flatten_volume': ('image', None),
            'revert_to_snapshot': (None, self.new_volume(), None),
        }
        getattr(self.driver, name)(*arguments[name])
        self.assertEqual([True], seen)

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

    def _spied(self, name: str, runs: bool = True) -> list[bool]:
        """Return where each call of a stock method notes its connection.

        :param runs: whether it runs, too
        """
        real = getattr(stock.RBDDriver, name)
        seen: list[bool] = []

        def run(*args: Any) -> Any:
            seen.append(connections._alone.get())
            return real(*args) if runs else (False, None)

        patcher = mock.patch.object(
            stock.RBDDriver, name, autospec=True, side_effect=run
        )
        patcher.start()
        self.addCleanup(patcher.stop)
        return seen
