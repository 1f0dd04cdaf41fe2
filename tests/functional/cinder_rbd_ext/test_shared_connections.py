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


"""Operations share connections, and outlive a connection that fails."""

from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys
import threading
import time
from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd as stock_rbd
import fixtures
import rados
import rbd

from cinder_rbd_ext.cluster import lost_connection
from cinder_rbd_ext.cluster import shared_client
from cinder_rbd_ext.cluster import shared_clients
from sandbox_cloud import ceph_conf
from tests.functional.cinder_rbd_ext import base

_CONNECTOR = {'host': 'compute-1'}
_OF_STOCK = stock_rbd.RBDDriver._connect_to_rados


def _connections() -> int:
    """Return the number of connections that the process has open."""
    names = []
    for task in pathlib.Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            names.append((task / 'comm').read_text().strip())
    return names.count('msgr-worker-0')


def _descriptors() -> int:
    return len(os.listdir('/proc/self/fd'))


class ConnectionsTestCase(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        # Not gentle: librbd waits where no signal handler of Python's runs.
        self.useFixture(fixtures.Timeout(120, gentle=False))
        self.made = 0

    @contextlib.contextmanager
    def connecting(self, times: int) -> Iterator[None]:
        """Check how often the body connects to the cluster."""
        with mock.patch.object(
            stock_rbd.RBDDriver,
            '_connect_to_rados',
            autospec=True,
            side_effect=_OF_STOCK,
        ) as connect:
            yield
        self.assertEqual(times, connect.call_count)

    def operations(
        self, driver: Any = None
    ) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the operations of a volume's life, each with its name."""
        driver = driver or self.driver
        volume = self.new_volume()
        clone = self.new_volume()
        snapshot: list[Any] = []
        yield from (
            ('create_volume', lambda: driver.create_volume(volume)),
            (
                'create_snapshot',
                lambda: snapshot.append(self.new_snapshot(volume, driver)),
            ),
            ('extend_volume', lambda: driver.extend_volume(volume, 2)),
            (
                'initialize_connection',
                lambda: driver.initialize_connection(volume, _CONNECTOR),
            ),
            (
                'create_volume_from_snapshot',
                lambda: driver.create_volume_from_snapshot(clone, snapshot[0]),
            ),
            ('_update_volume_stats', driver._update_volume_stats),
            ('delete_volume', lambda: driver.delete_volume(clone)),
            (
                'delete_snapshot',
                lambda: driver.delete_snapshot(snapshot[0]),
            ),
            (
                'create_cloned_volume',
                lambda: driver.create_cloned_volume(clone, volume),
            ),
        )

    def warm_up(self) -> None:
        """Have the driver make its connection."""
        self.driver._get_fsid()

    def client(self) -> shared_client.SharedClient:
        """Return the driver's connection."""
        client: shared_client.SharedClient
        (client,) = self.driver._clients._open
        return client

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is met."""
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


class CountTest(ConnectionsTestCase):
    """How many connections operations make."""

    def test_none_if_one_is_open(self) -> None:
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name), self.connecting(0):
                operation()

    def test_option_turns_it_off(self) -> None:
        before = _connections()
        driver = self.make_driver(rbd_share_connections=False)
        self.assertEqual(before, _connections())
        for name, operation in self.operations(driver):
            with self.subTest(name):
                if name == 'initialize_connection':
                    # It runs a program.
                    with self.connecting(0):
                        operation()
                else:
                    operation()
        with self.connecting(1):
            driver._get_fsid()
        self.assertEqual(before, _connections())

    def test_unused_ones_are_shut_down(self) -> None:
        before = _connections(), _descriptors()
        driver = self.make_driver()
        self.assertLess(before[0], _connections())
        with mock.patch.object(shared_clients, 'LONGEST_IDLE', -1):
            driver._get_fsid()
        self.wait_for(lambda: (_connections(), _descriptors()) == before)

    def test_old_ones_are_replaced(self) -> None:
        self.warm_up()
        old = self.client()
        with mock.patch.object(shared_clients, 'LONGEST_LIFE', -1):
            self.driver._get_fsid()
        self.assertIsNot(old, self.client())

    def test_many_deletions_at_once(self) -> None:
        self.warm_up()
        volumes = [self.made_volume() for _ in range(40)]
        names = self.cluster.names()
        before = _connections()
        descriptors = _descriptors()
        most = []
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                most.append((_connections(), _descriptors()))

        with concurrent.futures.ThreadPoolExecutor(41) as pool:
            watching = pool.submit(watch)
            done = [pool.submit(_delete, self.driver, n) for n in names]
            concurrent.futures.wait(done)
            ended.set()
            watching.result()
        self.assertEqual([None] * 40, [each.result() for each in done])
        self.assertEqual([], self.cluster.names())
        more = shared_clients.MOST - 1
        self.assertLessEqual(max(c for c, _ in most), before + more)
        self.assertLess(max(d for _, d in most), descriptors + more * 25)
        self.assertEqual(40, len(volumes))

    def test_flattening_has_its_own(self) -> None:
        source = self.made_volume()
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, source)
        with self.connecting(1):
            self.driver._flatten('volumes', clone.name)


def _delete(driver: Any, name: str) -> None:
    """Delete an image as the stock driver does, without the database."""
    with stock_rbd.RADOSClient(driver) as client:
        with stock_rbd.RBDVolumeProxy(
            driver, name, client=client.cluster, ioctx=client.ioctx
        ) as image:
            list(image.list_snaps())
        driver.RBDProxy().remove(client.ioctx, name)


class AddressesTest(ConnectionsTestCase):
    """The addresses of the monitors."""

    def test_as_stock(self) -> None:
        stock = self.make_driver(stock_rbd.RBDDriver)
        self.assertEqual(stock._get_mon_addrs(), self.driver._get_mon_addrs())

    def test_no_program(self) -> None:
        volume = self.made_volume()
        with mock.patch.object(
            self.driver, '_execute', autospec=True, side_effect=AssertionError
        ):
            info = self.driver.initialize_connection(volume, _CONNECTOR)
        self.assertEqual(['127.0.0.1'], info['data']['hosts'])

    def test_monitor_that_does_not_respond(self) -> None:
        """Another connection is tried, and is refused too."""
        daemons = self.cluster.daemons
        with mock.patch.object(shared_client, '_MONITOR_PATIENCE', 2):
            driver = self.make_driver()
        with daemons.paused('mon'):
            started = time.monotonic()
            old = next(iter(driver._clients._open))
            with stock_rbd.RADOSClient(driver) as client:
                status, _, _ = client.cluster.mon_command(
                    '{"prefix": "mon dump"}', b''
                )
            self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(-110, status)
        self.assertEqual(['127.0.0.1'], driver._get_mon_addrs()[0])
        self.assertNotIn(old, driver._clients._open)


class BlocklistTest(ConnectionsTestCase):
    """A connection that the cluster has put on its blocklist."""

    def _blocklist(self, known: bool = False) -> None:
        """Have the OSDs refuse the driver's connection.

        :param known: whether the driver finds out before it is used
        """
        client = self.client()
        address = client.rados.get_addrs().removeprefix('v1:')
        command = {'prefix': 'osd blocklist', 'blocklistop': 'add'}
        status, _, text = self.cluster.rados.mon_command(
            json.dumps({**command, 'addr': address}), b''
        )
        self.assertEqual(0, status, text)
        ioctx = client.rados.open_ioctx('volumes')
        self.addCleanup(ioctx.close)
        self.wait_for(lambda: _is_refused(ioctx))
        self.assertEqual('connected', client.rados.state)
        # Otherwise it counts as verified.
        client.verified_at = time.monotonic() + (-60 if known else 60)

    def test_each_operation_survives(self) -> None:
        """Found out by a probe."""
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name):
                self._blocklist(known=True)
                with self.connecting(1):
                    operation()

    def test_operations_are_repeated(self) -> None:
        """Found out by the operation itself."""
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name):
                if name not in lost_connection.REPEATABLE:
                    operation()
                    continue
                self._blocklist()
                replaced = name != 'initialize_connection'
                with self.connecting(1 if replaced else 0):
                    operation()
                if not replaced:
                    # It asked a monitor only.
                    self._replace()

    def _replace(self) -> None:
        self.client().retired = True
        self.warm_up()

    def test_one_that_is_not_repeated(self) -> None:
        """It fails at once, and the next operation works."""
        volume = self.made_volume()
        self._blocklist()
        self.assertRaises(rbd.ConnectionShutdown, self.new_snapshot, volume)
        self.new_snapshot(volume)

    def test_it_is_not_shut_down_in_use(self) -> None:
        volume = self.made_volume()
        before = _connections()
        with stock_rbd.RBDVolumeProxy(self.driver, volume.name) as image:
            image.write(b'x' * 512, 0)
            self._blocklist(known=True)
            self.driver._get_fsid()
            self.assertEqual(before + 1, _connections())
            self.assertRaises(
                rbd.ConnectionShutdown, image.write, b'y' * 512, 0
            )
        self.wait_for(lambda: _connections() == before)


def _is_refused(ioctx: Any) -> bool:
    try:
        ioctx.stat('nothing')
    except rados.ConnectionShutdown:
        return True
    except rados.Error:
        return False
    return False


def _directly(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


class RestartTest(ConnectionsTestCase):
    """Daemons of the cluster that restart."""

    def setUp(self) -> None:
        super().setUp()
        self.daemons = self.cluster.daemons

    def test_monitor_and_osd(self) -> None:
        self.warm_up()
        self.daemons.restart('mon', 'osd')
        for name, operation in self.operations():
            with self.subTest(name):
                operation()

    def test_key_was_rotated_before(self) -> None:
        """The old connection would hang from then on."""
        user = 'client.rotated'
        keyring = self.tmp / 'keyring'
        conf = self.tmp / 'ceph.conf'
        text = pathlib.Path(self.cluster.conf).read_text()
        conf.write_text(f'{text}\n[{user}]\nkeyring = {keyring}\n')
        self._set_key(user, keyring)
        driver = self.make_driver(rbd_user='rotated', rbd_ceph_conf=str(conf))
        driver._get_fsid()
        self._set_key(user, keyring)
        self.daemons.restart('mon', 'osd')
        with self.connecting(1):
            for name, operation in self.operations(driver):
                with self.subTest(name):
                    operation()

    def _set_key(self, user: str, keyring: pathlib.Path) -> None:
        caps = dict.fromkeys(('mon', 'mgr', 'osd'), 'profile rbd')
        keyring.write_text(
            ceph_conf.keyring_section(user, ceph_conf.new_key(), caps)
        )
        self.daemons.command('auth', 'import', '-i', str(keyring))


class ForkTest(ConnectionsTestCase):
    """A process that was forked while connections were open."""

    def test_child_makes_its_own(self) -> None:
        volume = self.made_volume()
        child = os.fork()
        if child == 0:
            # Nothing of the test's may run in it.
            status = 1
            with (
                contextlib.suppress(BaseException),
                # eventlet's own threads are not there either.
                mock.patch('eventlet.tpool.execute', _directly),
                self.driver.images.opened(
                    volume.name, read_only=True
                ) as image,
            ):
                status = 0 if image.size() else 2
            sys.stdout.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        self.assertEqual(0, os.waitstatus_to_exitcode(status))
        with self.connecting(0):
            self.driver.delete_volume(volume)
