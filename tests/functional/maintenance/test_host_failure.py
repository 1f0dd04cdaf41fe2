# SPDX-License-Identifier: Apache-2.0

"""Functional tests of the page about a compute host that lost power.

qemu-io has the RBD driver of QEMU, without a guest.
"""

import subprocess
import sys
import time
import uuid

import rados
import rbd
import testtools

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from tests import runs
from tests.functional import ceph

_MIB = 2**20
_FEATURES = (
    rbd.RBD_FEATURE_LAYERING
    | rbd.RBD_FEATURE_EXCLUSIVE_LOCK
    | rbd.RBD_FEATURE_OBJECT_MAP
    | rbd.RBD_FEATURE_FAST_DIFF
)
_WATCH_TIMEOUT = ('osd', 'osd_client_watch_timeout')
#: What the server does after it was evacuated: it reads and writes its disk.
_WRITE = """
import sys
import rados, rbd
conf, user, name = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id=user) as client:
    with client.open_ioctx('volumes') as ioctx:
        with rbd.Image(ioctx, name) as image:
            if image.read(0, 4) != bytes([7] * 4):
                sys.exit('the data is lost')
            image.write(b'new', 2**20)
            image.flush()
"""


class HostFailureTest(testtools.TestCase):
    """QEMU is killed while it holds the exclusive lock of a volume."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        command = self.cluster.daemons.command
        # The default is 30 seconds.
        command('config', 'set', *_WATCH_TIMEOUT, '3')
        self.addCleanup(command, 'config', 'rm', *_WATCH_TIMEOUT)
        self.name = f'volume-{uuid.uuid4()}'
        rbd.RBD().create(
            self.cluster.ioctx(),
            self.name,
            8 * _MIB,
            old_format=False,
            features=_FEATURES,
        )
        self.qemu = self._started()

    def _started(self) -> 'subprocess.Popen[bytes]':
        """Start QEMU; return when it has written and holds the lock."""
        where = f'rbd:volumes/{self.name}:conf={self.cluster.conf}:id=admin'
        qemu = subprocess.Popen(
            [
                *('qemu-io', '-f', 'raw', '-n', where),
                *('-c', 'write -P 7 0 1M', '-c', 'flush'),
                *('-c', 'sleep 600000'),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(qemu.wait)
        self.addCleanup(qemu.kill)
        # The lock is acquired before the first write.
        while not (self.owner() and self._is_written()):
            self.assertIsNone(qemu.poll())
            time.sleep(0.05)
        return qemu

    def _is_written(self) -> bool:
        with self.cluster.image(self.name, read_only=True) as image:
            return bool(image.read(_MIB - 4, 4) == bytes([7] * 4))

    def owner(self) -> str:
        """Return the address of the client that holds the lock, or empty."""
        with self.cluster.image(self.name, read_only=True) as image:
            locks = image.list_lockers()
        return str(locks['lockers'][0][2]) if locks else ''

    def stale_locks(self) -> list[tuple[str, str]]:
        """Return the images with stale locks, and what the audit says."""
        cluster = scan.Cluster(rados, rbd, self.cluster.conf, 'admin')
        reported = run.run(cluster, ['volumes'], lambda: None).found
        return [
            (each.image, each.detail)
            for each in reported
            if each.kind is findings.STALE_LOCK
        ]

    def kill(self) -> str:
        """Kill QEMU and wait for the end of its watch; return its address."""
        address = self.owner()
        self.qemu.kill()
        self.qemu.wait()
        while self._is_watched():
            time.sleep(0.1)
        return address

    def _is_watched(self) -> bool:
        with self.cluster.image(self.name, read_only=True) as image:
            return bool(list(image.watchers_list()))

    def write_as(self, *caps: str) -> str:
        """Use the volume on another host; return the error, if any."""
        with self.cluster.user('nova', *caps) as conf:
            done = subprocess.run(
                [sys.executable, '-c', _WRITE, conf, 'nova', self.name],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=300,
            )
        self.assertEqual(bool(done.stderr), bool(done.returncode))
        return done.stderr

    @runs.tags(runs.NIGHTLY)
    def test_next_host_takes_over_the_lock_of_a_dead_one(self) -> None:
        self.assertEqual([], self.stale_locks())
        address = self.kill()
        ((image, detail),) = self.stale_locks()
        self.assertEqual(self.name, image)
        self.assertIn(address, detail)
        error = self.write_as(
            *('mon', 'profile rbd', 'osd', 'profile rbd pool=volumes')
        )
        self.assertEqual('', error)
        self.assertEqual([], self.stale_locks())
        listed = self.cluster.daemons.command('osd', 'blocklist', 'ls')
        self.assertIn(address, listed)
        with self.cluster.image(self.name) as volume:
            self.assertEqual(b'new', volume.read(_MIB, 3))
            self.assertEqual(0, volume.flags())

    @runs.tags(runs.NIGHTLY)
    def test_user_without_the_capability_cannot_take_over(self) -> None:
        address = self.kill()
        error = self.write_as(
            *('mon', 'allow r', 'osd', 'profile rbd pool=volumes')
        )
        self.assertIn('errno 13', error)
        self.assertEqual(address, self.owner())
        ((image, detail),) = self.stale_locks()
        self.assertEqual((self.name, address), (image, detail))
        self.cluster.daemons.command('osd', 'blocklist', 'add', address, '600')
        ((_, detail),) = self.stale_locks()
        self.assertRegex(detail, f'{address}, blocked until 20..-')
