# SPDX-License-Identifier: Apache-2.0

"""The driver while the monitors of the cluster are replaced."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from unittest import mock

from cinder_rbd_ext.cluster import connections as shared
from sandbox_cloud import ceph as ceph_daemons
from sandbox_cloud import ceph_files
from tests import runs
from tests.functional import ceph
from tests.functional.cinder_rbd_ext import connections


@runs.tags(runs.NIGHTLY)
class ReplacedMonitorsTest(connections.ConnectionsTestCase):
    """All monitors are replaced one after the other, as on new hosts."""

    def setUp(self) -> None:
        # The cluster of the other tests keeps its monitor.
        root = pathlib.Path(tempfile.mkdtemp(prefix='ceph-', dir='/var/tmp'))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        self.daemons = ceph_daemons.CephCluster(root, pools=ceph.POOLS)
        self.daemons.start()
        self.addCleanup(self.daemons.stop)
        # The cluster is emptied before its new monitor ends.
        self._started: list[subprocess.Popen[bytes]] = []
        self.addCleanup(self._end)
        own = ceph.SharedCluster(str(self.daemons.conf), self.daemons)
        # Without its monitors, it could not end.
        self.addCleanup(own.rados.shutdown)
        patcher = mock.patch.object(ceph, 'shared_cluster', lambda: own)
        patcher.start()
        self.addCleanup(patcher.stop)
        super().setUp()

    def _end(self) -> None:
        for child in self._started:
            child.kill()
            child.wait()

    def _quorum(self, *monitor: str) -> list[str]:
        status = json.loads(
            self.daemons.command('quorum_status', '--format', 'json', *monitor)
        )
        names: list[str] = status['quorum_names']
        return names

    def _add_monitor(self, name: str, v2: int, v1: int) -> None:
        """Start a monitor, which joins the others."""
        work = self.tmp / name
        work.mkdir()
        monmap, keyring = str(work / 'monmap'), str(work / 'keyring')
        self.daemons.command('mon', 'getmap', '-o', monmap)
        self.daemons.command('auth', 'get', 'mon.', '-o', keyring)
        address = f'[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]'
        program = ['ceph-mon', '--conf', str(self.daemons.conf), '-i', name]
        for command in (
            ['monmaptool', '--addv', name, address, monmap],
            [*program, '--mkfs', '--monmap', monmap, '--keyring', keyring],
        ):
            subprocess.run(command, check=True, capture_output=True)
        child = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'KILL', *program, '--foreground'],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(child)
        self.wait_for(lambda: name in self._quorum())

    def _point_to(self, v2: int, v1: int) -> None:
        """Name the new monitor in ceph.conf, as an operator does."""
        conf = self.daemons.conf
        address = f'mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]'
        conf.write_text(re.sub('mon host = .*', address, conf.read_text()))

    def test_all_replaced(self) -> None:
        self.warm_up()
        client = self.client()
        old = self.driver._get_mon_addrs()
        v2, v1 = ceph_files.free_ports(2)
        self._add_monitor('b', v2, v1)
        self.daemons.command('mon', 'remove', 'a')
        # The answer comes before the removal is committed. Without the old
        # monitor, the new one would then wait for it forever.
        new = ('-m', f'[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]')
        self.wait_for(lambda: self._quorum(*new) == ['b'])
        self.daemons.stop_daemon('mon')
        began = time.monotonic()
        # The old connection knows the new monitor from the cluster.
        with self.connecting(0):
            self.driver.create_volume(self.new_volume())
        self.assertIs(client, self.client())
        self.wait_for(lambda: self.driver._get_mon_addrs() != old)
        self.assertEqual(
            (['127.0.0.1'], [str(v1)]), self.driver._get_mon_addrs()
        )
        self.assertLess(
            time.monotonic() - began,
            shared.ADDRESSES_FOR + connections.RECOVERED,
        )
        # A new configuration replaces the connection.
        self._point_to(v2, v1)
        with self.connecting(1):
            for name, operation in self.operations():
                with self.subTest(name):
                    operation()
