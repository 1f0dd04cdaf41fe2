# SPDX-License-Identifier: Apache-2.0

"""The Ceph cluster that functional tests share."""

import atexit
from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import sys
import tempfile
from typing import Any
import unittest

import rados
import rbd

from sandbox_cloud import ceph

POOLS = ('volumes', 'volumes2', 'volumes-data', 'images')

# The names of the objects of images begin with these.
_OBJECTS = (
    'rbd_children',
    'rbd_data.',
    'rbd_header.',
    'rbd_id.',
    'rbd_object_map.',
    'rbd_trash',
)

#: Environment variable with the ceph.conf of an existing cluster to use. The
#: cluster must have the pools in POOLS.
CONF_VARIABLE = 'RBD_TEST_CEPH_CONF'


class SharedCluster:
    """A cluster with one connection, and operations on its images."""

    def __init__(
        self, conf: str, started: ceph.CephCluster | None = None
    ) -> None:
        self.conf = conf
        self._started = started
        self.rados = rados.Rados(conffile=conf, rados_id='admin')
        self.rados.connect()
        self.fsid: str = self.rados.get_fsid()
        self._ioctx: dict[str, Any] = {}

    @property
    def daemons(self) -> ceph.CephCluster:
        """The daemons, if this process started them.

        :raises SkipTest: if an existing cluster is used
        """
        if self._started is None:
            raise unittest.SkipTest('the cluster is not of this process')
        return self._started

    def ioctx(self, pool: str = 'volumes') -> Any:
        """Return the connection's context for a pool."""
        if pool not in self._ioctx:
            self._ioctx[pool] = self.rados.open_ioctx(pool)
        return self._ioctx[pool]

    @contextlib.contextmanager
    def user(self, name: str, *caps: str) -> Iterator[str]:
        """Create a Ceph user; yield the path of a ceph.conf for it.

        :param caps: as for ``ceph auth get-or-create``
        """
        folder = pathlib.Path(tempfile.mkdtemp(dir='/var/tmp'))
        keyring = folder / 'keyring'
        text = pathlib.Path(self.conf).read_text()
        (folder / 'ceph.conf').write_text(
            f'{text}\n[client.{name}]\nkeyring = {keyring}\n'
        )
        made = ('auth', 'get-or-create', f'client.{name}', *caps)
        keyring.write_text(self.daemons.command(*made))
        try:
            yield str(folder / 'ceph.conf')
        finally:
            self.daemons.command('auth', 'rm', f'client.{name}')
            shutil.rmtree(folder)

    def forget(self, pool: str) -> None:
        """Close the context of a pool that will be deleted."""
        self._ioctx.pop(pool).close()

    def image(self, name: str, pool: str = 'volumes', **kwargs: Any) -> Any:
        """Open an image."""
        return rbd.Image(self.ioctx(pool), name, **kwargs)

    def names(self, pool: str = 'volumes') -> list[str]:
        """Return the names of the images in a pool."""
        return sorted(rbd.RBD().list(self.ioctx(pool)))

    def forget_killed_clients(self) -> None:
        """Make the OSD drop the watches of clients that are gone.

        It can keep one, even of a blocklisted client, until its placement
        groups are peered again.
        """
        self.daemons.command('osd', 'down', '0')
        # Waits until the OSD is up.
        self.ioctx().get_stats()
        self.ioctx().write_full('peered', b'')
        self.ioctx().remove_object('peered')

    def empty(self) -> None:
        """Remove all images, clones before their parents, and the trash.

        Data that no image leads to any more are removed, too: the next test
        may search for such data.
        """
        for attempt in range(10):
            left = [
                (pool, name) for pool in POOLS for name in self.names(pool)
            ]
            if not left:
                break
            if attempt == 5:
                self.forget_killed_clients()
            for pool, name in left:
                self._remove(pool, name)
        else:
            raise AssertionError(f'images that cannot be removed: {left}')
        for ioctx in map(self.ioctx, POOLS):
            for each in list(ioctx.list_objects()):
                # Ceph lists removed objects until their snapshots are trimmed.
                with contextlib.suppress(rados.ObjectNotFound):
                    if each.key.startswith(_OBJECTS):
                        ioctx.remove_object(each.key)

    def _remove(self, pool: str, name: str) -> None:
        # An image whose removal was interrupted cannot be opened, but can be
        # removed. An image with clones is removed in a later round.
        with (
            contextlib.suppress(rbd.ImageBusy, rbd.ImageNotFound),
            self.image(name, pool) as image,
        ):
            for snapshot in list(image.list_snaps()):
                if image.is_protected_snap(snapshot['name']):
                    image.unprotect_snap(snapshot['name'])
                image.remove_snap(snapshot['name'])
        with contextlib.suppress(
            rbd.ImageBusy, rbd.ImageHasSnapshots, rbd.ImageNotFound
        ):
            rbd.RBD().remove(self.ioctx(pool), name)


def _start() -> ceph.CephCluster:
    # Not below TMPDIR, which a test fixture may have changed: the path must be
    # short, because of sockets, and outlive the test.
    root = pathlib.Path(tempfile.mkdtemp(prefix='ceph-', dir='/var/tmp'))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    cluster = ceph.CephCluster(root, pools=POOLS)
    cluster.start()
    return cluster


@functools.cache
def shared_cluster() -> SharedCluster:
    """Return the cluster of this process; start it on the first call."""
    if conf := os.environ.get(CONF_VARIABLE):
        return SharedCluster(conf)
    cluster = _start()
    return SharedCluster(str(cluster.conf), cluster)


def _serve() -> None:
    """Start a cluster for the tests of other processes; wait for Ctrl-C."""
    cluster = _start()
    if 'aes256k' in cluster.command('mon', 'dump', '--format', 'json'):
        # Clients before this type of key can connect, as to an upgraded
        # cluster.
        cluster.command('mon', 'set', 'auth_allowed_ciphers', 'aes,aes256k')
        rotate = ('auth', 'rotate', '--key-type=aes', 'client.admin')
        cluster.keyring.write_text(cluster.command(*rotate))
    print(cluster.command('version') + f'{CONF_VARIABLE}={cluster.conf}')
    sys.stdout.flush()
    signal.pause()


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt):
        _serve()
