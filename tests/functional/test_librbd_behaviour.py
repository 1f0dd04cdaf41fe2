# SPDX-License-Identifier: Apache-2.0

"""The real librbd behaves as the fake one."""

import contextlib
import functools
from typing import Any
import uuid

import rbd

from tests import runs
from tests.functional import ceph
from tests.functional import librbd_clones
from tests.unit import base


@functools.cache
def _pools() -> tuple[str, str]:
    """Return the names of two pools for this process."""
    tag = uuid.uuid4().hex[:8]
    return f'behaviour-{tag}', f'behaviour-data-{tag}'


@runs.tags(runs.DEBIAN)
class LibrbdBehaviourTest(librbd_clones.Clones, base.TestCase):
    """Tests on separate pools, which are deleted afterwards."""

    module = rbd
    cluster: ceph.SharedCluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = ceph.shared_cluster()
        for pool in _pools():
            cls.cluster.rados.create_pool(pool)
            with cls.cluster.rados.open_ioctx(pool) as ioctx:
                rbd.RBD().pool_init(ioctx, True)

    @classmethod
    def tearDownClass(cls) -> None:
        for pool in _pools():
            cls.cluster.rados.delete_pool(pool)
        super().tearDownClass()

    def setUp(self) -> None:
        super().setUp()
        self.other_pool = _pools()[1]
        self.ioctx = self.second_ioctx()
        self.addCleanup(self.ioctx.close)
        self.pool_lookup = self.cluster.rados.pool_lookup
        # Clean-ups run in reverse: handles that tests open are closed before.
        self.addCleanup(self._empty)

    def _empty(self) -> None:
        for _ in range(3):  # A clone, its parent, a retry.
            for name in self.names():
                with contextlib.suppress(rbd.ImageHasSnapshots):
                    self._remove(name)
        self.assertEqual([], self.names())

    def _remove(self, name: str) -> None:
        with rbd.Image(self.ioctx, name) as image:
            for snapshot in list(image.list_snaps()):
                with contextlib.suppress(rbd.ImageNotFound):
                    if image.is_protected_snap(snapshot['name']):
                        image.unprotect_snap(snapshot['name'])
                    image.remove_snap(snapshot['name'])
        rbd.RBD().remove(self.ioctx, name)

    def second_ioctx(self) -> Any:
        return self.cluster.rados.open_ioctx(_pools()[0])

    def set_pool_option(self, name: str, value: str) -> None:
        key = f'conf_{name}'
        rbd.RBD().pool_metadata_set(self.ioctx, key, value)
        self.addCleanup(rbd.RBD().pool_metadata_remove, self.ioctx, key)
