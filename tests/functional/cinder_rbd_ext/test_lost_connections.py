# SPDX-License-Identifier: Apache-2.0

"""Operations survive a lost connection and restarts of the daemons."""

from collections.abc import Callable
import functools
import pathlib
import time
from typing import Any

from cinder.volume.drivers import rbd as stock_rbd
import fixtures
import rados
import rbd

from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.cluster import connections as shared
from sandbox_cloud import ceph_conf
from tests import runs
from tests.functional import filling
from tests.functional.cinder_rbd_ext import connections


class BlocklistTest(connections.ConnectionsTestCase):
    """A connection on the blocklist of the cluster."""

    def _blocklist(self, known: bool = False) -> None:
        """Make the OSDs refuse the driver's connection.

        :param known: whether the driver verifies it before the next use
        """
        client = self.client()
        filling.Monitor(self.cluster).blocklist(client.get_addrs())
        ioctx = client.open_ioctx('volumes')
        self.addCleanup(ioctx.close)
        self.wait_for(lambda: _is_refused(ioctx))
        self.assertEqual('connected', client.state)
        # If not known, the connection counts as verified.
        self.verify(-60.0 if known else 60.0)

    def test_each_operation_survives(self) -> None:
        """A probe detects the blocklisted connection."""
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name):
                self._blocklist(known=True)
                with self.connecting(1), self.recovering(name):
                    operation()

    def test_operations_are_repeated(self) -> None:
        """The operation itself detects the blocklisted connection."""
        self.warm_up()
        for name, operation in self.operations():
            with self.subTest(name):
                if name not in blocklisting.REPEATABLE:
                    operation()
                    continue
                self._blocklist()
                with self.connecting(1, name), self.recovering(name):
                    operation()

    def test_one_that_is_not_repeated(self) -> None:
        """The operation fails at once, and the next one succeeds."""
        volume = self.made_volume()
        self._blocklist()
        self.assertRaises(rados.ConnectionShutdown, self.new_snapshot, volume)
        self.new_snapshot(volume)

    def test_it_is_not_shut_down_in_use(self) -> None:
        volume = self.made_volume()
        before = connections.number()
        with stock_rbd.RBDVolumeProxy(self.driver, volume.name) as image:
            image.write(b'x' * 512, 0)
            self._blocklist(known=True)
            self.driver._get_fsid()
            self.assertEqual(before + 1, connections.number())
            self.assertRaises(
                rbd.ConnectionShutdown, image.write, b'y' * 512, 0
            )
        self.wait_for(lambda: connections.number() == before)


def _is_refused(ioctx: Any) -> bool:
    try:
        ioctx.stat('nothing')
    except rados.ConnectionShutdown:
        return True
    except rados.Error:
        return False
    return False


# A minute each; the part trust restarts daemons under load.
@runs.tags(runs.NIGHTLY)
class RestartTest(connections.ConnectionsTestCase):
    """Restarts of the daemons of the cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.daemons = self.cluster.daemons

    def _restart(self) -> None:
        """Restart the daemons; return when they serve other clients.

        After its restart, an OSD waits for the end of the read leases of its
        placement groups, which takes up to 16 seconds.
        """
        self.daemons.restart('mon', 'osd')
        ioctx = self.cluster.ioctx()
        rbd.RBD().create(ioctx, 'served', 1 << 20)
        rbd.RBD().remove(ioctx, 'served')

    def test_monitor_and_osd(self) -> None:
        self.warm_up()
        self._restart()
        for name, operation in self.operations():
            with self.subTest(name), self.recovering(name):
                operation()

    def test_key_was_rotated_before(self) -> None:
        """The old connection is replaced, because it would hang."""
        driver, rotate = self._driver_with_a_key()
        rotate()
        self._restart()
        with self.connecting(1):
            for name, operation in self.operations(driver):
                with self.subTest(name), self.recovering(name):
                    operation()

    def test_connection_that_hangs(self) -> None:
        """A check without a response replaces it."""
        self.useFixture(
            fixtures.MockPatchObject(
                shared, '_digest', autospec=True, return_value='same'
            )
        )
        driver, rotate = self._driver_with_a_key()
        rotate()
        self._restart()
        volume = self.new_volume()
        with self.connecting(1), self.recovering():
            driver.create_volume(volume)

    def test_osd_that_does_not_respond(self) -> None:
        """A new connection does not help, so there is only one."""
        self.warm_up()
        time.sleep(shared.VERIFIED_FOR)
        with self.daemons.paused('osd'), self.connecting(1):
            for _attempt in range(2):
                with self.recovering():
                    lent = self.driver._connect_to_rados()
                self.driver._disconnect_from_rados(*lent)
                time.sleep(shared.VERIFIED_FOR)
        with self.recovering():
            self.made_volume()

    def _driver_with_a_key(self) -> tuple[Any, Callable[[], None]]:
        """Return a driver with a separate key, and what rotates the key."""
        user = 'client.rotated'
        keyring = self.tmp / 'keyring'
        conf = self.tmp / 'ceph.conf'
        text = pathlib.Path(self.cluster.conf).read_text()
        conf.write_text(f'{text}\n[{user}]\nkeyring = {keyring}\n')
        self._set_key(user, keyring)
        driver = self.make_driver(rbd_user='rotated', rbd_ceph_conf=str(conf))
        driver._get_fsid()
        return driver, functools.partial(self._set_key, user, keyring)

    def _set_key(self, user: str, keyring: pathlib.Path) -> None:
        caps = dict.fromkeys(('mon', 'mgr', 'osd'), 'profile rbd')
        keyring.write_text(
            ceph_conf.keyring_section(user, ceph_conf.new_key(), caps)
        )
        self.daemons.command('auth', 'import', '-i', str(keyring))
