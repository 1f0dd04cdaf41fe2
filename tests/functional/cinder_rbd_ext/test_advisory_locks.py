# SPDX-License-Identifier: Apache-2.0

"""Advisory locks of several processes on a Ceph cluster."""

import contextlib
import errno
import signal
import subprocess
import sys
import time
from typing import Any
import uuid

import ddt
import rados
import rbd

from cinder_rbd_ext.cluster import advisory_locks
from tests import runs
from tests.functional import advisory_lock_behaviour
from tests.functional import ceph
from tests.unit import base

# Takes a lock, says so, and tells whether it was lost when its input ends.
_HOLDER = """
import os, sys, time
threads, conf, header, kind, duration, busy = sys.argv[1:]
try:
    from cinder import monkey_patch
    monkey_patch.patch(threads)
except ImportError:
    import eventlet
    eventlet.monkey_patch()
from cinder_rbd_ext.cluster import advisory_locks
import rados
advisory_locks.DURATION, advisory_locks.INTERVAL = int(duration), 0.5
client = rados.Rados(conffile=conf, rados_id='admin')
client.connect()
lock = advisory_locks.Lock(
    rados, client.open_ioctx('volumes'), header, 'name',
    advisory_locks.Kind[kind],
)
print(lock.take(), flush=True)
# The hub of eventlet does not run meanwhile.
until = time.monotonic() + float(busy)
while time.monotonic() < until:
    pass
sys.stdin.read()
print(lock.release(), flush=True)
os._exit(0)
"""

# Before Cinder 29, both are eventlet.
_THREADS = ('threading', 'eventlet')


class _Holder:
    """Another process that holds a lock."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', _HOLDER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        out = self.process.stdout
        line = out.readline() if out else ''
        if line != '0\n':
            raise AssertionError(line + self.process.communicate()[1])

    def release(self) -> bool:
        """Have the process release the lock; return whether it had it."""
        out, err = self.process.communicate(timeout=60)
        if out not in ('True\n', 'False\n'):
            raise AssertionError(err)
        return out == 'True\n'

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()


@runs.tags(runs.DEBIAN)
@ddt.ddt
class AdvisoryLocksTest(advisory_lock_behaviour.Behaviour, base.TestCase):
    rados = rados

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.one, self.two = self._connected(), self._connected()
        self.image = f'image-{uuid.uuid4()}'
        rbd.RBD().create(self.one, self.image, 1 << 20)
        self.addCleanup(self._remove_if_there)
        with rbd.Image(self.one, self.image, read_only=True) as image:
            self.header = advisory_locks.HEADER + image.id()

    def _connected(self) -> Any:
        client = rados.Rados(conffile=self.cluster.conf, rados_id='admin')
        client.connect()
        self.addCleanup(client.shutdown)
        ioctx = client.open_ioctx('volumes')
        self.addCleanup(ioctx.close)
        return ioctx

    def _remove_if_there(self) -> None:
        with contextlib.suppress(rbd.ImageNotFound):
            rbd.RBD().remove(self.cluster.ioctx(), self.image)

    def remove_image(self) -> None:
        rbd.RBD().remove(self.two, self.image)

    def pass_time(self) -> None:
        time.sleep(2.2)

    def header_exists(self) -> bool:
        try:
            self.one.stat(self.header)
        except rados.ObjectNotFound:
            return False
        return True

    def holder(
        self, threads: str, kind: str, duration: int = 30, busy: float = 0
    ) -> _Holder:
        holder = _Holder(
            *(threads, self.cluster.conf, self.header, kind),
            *(str(duration), str(busy)),
        )
        self.addCleanup(holder.end)
        return holder

    def is_free(
        self, kind: advisory_locks.Kind = advisory_locks.Kind.EXCLUSIVE
    ) -> bool:
        lock = self.lock(self.one, kind)
        number = lock.take()
        self.assertIn(number, (0, errno.EBUSY))
        return number == 0 and lock.release()

    @ddt.data(*_THREADS)
    def test_process_excludes_others(self, threads: str) -> None:
        holder = self.holder(threads, 'SHARED')
        self.assertTrue(self.is_free(advisory_locks.Kind.SHARED))
        self.assertFalse(self.is_free())
        self.assertTrue(holder.release())
        holder = self.holder(threads, 'EXCLUSIVE')
        self.assertFalse(self.is_free(advisory_locks.Kind.SHARED))
        self.assertTrue(holder.release())
        self.assertTrue(self.is_free())

    @ddt.data(*_THREADS)
    def test_lock_of_a_busy_process_is_renewed(self, threads: str) -> None:
        holder = self.holder(threads, 'EXCLUSIVE', duration=3, busy=6)
        until = time.monotonic() + 6
        while time.monotonic() < until:
            self.assertFalse(self.is_free())
            time.sleep(0.2)
        self.assertTrue(holder.release())

    @ddt.data(*_THREADS)
    def test_lock_of_a_stopped_process_ends(self, threads: str) -> None:
        for kind in ('SHARED', 'EXCLUSIVE'):
            holder = self.holder(threads, kind, duration=2)
            holder.process.send_signal(signal.SIGSTOP)
            self.assertFalse(self.is_free())
            self.wait_until_free()
            holder.process.send_signal(signal.SIGCONT)
            # Its renewals do not take the lock again.
            time.sleep(1)
            self.assertTrue(self.is_free())
            self.assertFalse(holder.release())

    def test_lock_of_a_killed_process_ends(self) -> None:
        holder = self.holder('threading', 'EXCLUSIVE', duration=3)
        holder.end()
        self.assertFalse(self.is_free())
        self.wait_until_free()

    def wait_until_free(self) -> None:
        """Wait until a lock has ended, although nobody released it."""
        began = time.monotonic()
        while not self.is_free():
            self.assertLess(time.monotonic() - began, 20)
            time.sleep(0.1)

    def test_image_can_be_used_while_it_is_locked(self) -> None:
        lock = self.lock(self.one)
        self.assertEqual(0, lock.take())
        with rbd.Image(self.two, self.image) as image:
            image.write(b'x', 0)
            image.create_snap('snapshot')
            image.remove_snap('snapshot')
            ident = image.id()
        rbd.RBD().trash_move(self.two, self.image, 0)
        self.assertTrue(lock.is_held())
        rbd.RBD().trash_remove(self.two, ident)
        self.assertFalse(lock.release())
        self.assertFalse(self.header_exists())

    def test_nothing_is_left_of_an_exclusive_lock(self) -> None:
        for key in (self.header, 'rbd_directory'):
            lock = advisory_locks.Lock(
                *(rados, self.one, key, 'cinder_rbd_ext'),
                advisory_locks.Kind.EXCLUSIVE,
            )
            self.assertEqual(0, lock.take())
            self.assertIn('lock.cinder_rbd_ext', self._attributes(key))
            self.assertTrue(lock.release())
            self.assertNotIn('lock.cinder_rbd_ext', self._attributes(key))

    def _attributes(self, key: str) -> list[str]:
        return [name for name, _value in self.one.get_xattrs(key)]
