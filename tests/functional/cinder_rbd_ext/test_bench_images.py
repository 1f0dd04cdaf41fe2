# SPDX-License-Identifier: Apache-2.0

"""Removal of the images of benchmarks from a real pool."""

import pathlib
import subprocess
import sys
import time

import fixtures
import rados
import rbd
import testtools

from rbd_volume_tools.bench import commands
from rbd_volume_tools.bench import images
from tests import runs
from tests import tree
from tests.functional import ceph
from tests.functional import filling

_REMOVE = """
import sys
import rados, rbd
conf, name = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id='admin') as cluster:
    with cluster.open_ioctx('volumes') as ioctx:
        print(cluster.get_addrs(), flush=True)
        rbd.RBD().remove(ioctx, name)
"""
_LEFT = f'{images.PREFIX}left'


class BenchImagesTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.client = rados.Rados(
            conffile=self.cluster.conf,
            rados_id='admin',
            conf=commands.OPTIONS,
        )
        self.client.connect()
        self.addCleanup(self.client.shutdown)
        self.said: list[str] = []
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / images.JOURNAL).write_text(f'{_LEFT}\n')
        opened = images.opened(
            self.client, rbd, 'volumes', 2**30, folder, self.said.append
        )
        self.images = opened.__enter__()
        self.addCleanup(opened.__exit__, None, None, None)
        self.ioctx = self.images.ioctx

    def trashed(self) -> list[str]:
        return [each['name'] for each in rbd.RBD().trash_list(self.ioctx)]

    def test_image_is_removed_at_the_quota(self) -> None:
        """librbd cannot create the trash directory then."""
        with self.images.created(2**20, 0, {}):
            pass
        self.ioctx.remove_object('rbd_trash')
        self.images.prepare()
        monitor = filling.Monitor(self.cluster)
        self.addCleanup(monitor.reset, 'volumes')
        with self.images.created(2**22, 0, {}) as name:
            with rbd.Image(self.ioctx, name) as image:
                image.write(b'x' * 2**20, 0)
            monitor.set_quota('volumes', 2**10)
            monitor.wait('volumes', full=True)
        self.assertEqual([], self.said)
        self.assertEqual([], self.cluster.names())

    def test_option_of_the_client(self) -> None:
        with self.images.created(2**20, 0, {}) as name:
            listed = list(rbd.RBD().config_list(self.ioctx))
            (value,) = (
                each['value']
                for each in listed
                if each['name'] == 'rbd_move_to_trash_on_remove'
            )
            self.assertEqual('false', value)
            self.assertIn(name, self.cluster.names())
        self.assertEqual([], self.trashed())

    def test_option_of_the_pool(self) -> None:
        option = 'conf_rbd_move_to_trash_on_remove'
        rbd.RBD().pool_metadata_set(self.ioctx, option, 'true')
        self.addCleanup(rbd.RBD().pool_metadata_remove, self.ioctx, option)
        rbd.RBD().create(self.ioctx, _LEFT, 2**20, old_format=False)
        rbd.RBD().remove(self.ioctx, _LEFT)
        self.assertEqual([_LEFT], self.trashed())
        with self.images.created(2**20, 0, {}) as name:
            pass
        self.assertEqual([_LEFT], self.trashed())
        self.assertNotIn(name, self.cluster.names())
        self.images.sweep()
        self.assertEqual([], self.trashed())

    @runs.tags(runs.NIGHTLY)
    def test_killed_removal(self) -> None:
        """librbd lists the image, although it is in the trash.

        The client is blocklisted, and its watch forgotten, without a wait.
        """
        rbd.RBD().create(
            self.ioctx,
            _LEFT,
            2**37,
            old_format=False,
            features=rbd.RBD_FEATURE_LAYERING,
        )
        with subprocess.Popen(
            [sys.executable, '-c', _REMOVE, self.cluster.conf, _LEFT],
            cwd=tree.ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            address = child.stdout.readline().strip() if child.stdout else ''
            while self._opens():
                self.assertIsNone(child.poll())
                time.sleep(0.01)
            child.kill()
        self.assertEqual([_LEFT], self.images.left())
        filling.Monitor(self.cluster).blocklist(address)
        self.cluster.forget_killed_clients()
        self.images.sweep()
        self.assertEqual([], self.images.left())
        self.assertEqual(1, len(self.said))

    def _opens(self) -> bool:
        """Return whether the image is not in the trash yet."""
        try:
            rbd.Image(self.ioctx, _LEFT, read_only=True).close()
        except rbd.ImageNotFound:
            return False
        return True
