# SPDX-License-Identifier: Apache-2.0

"""Test the store on real Ceph."""

import itertools
import pathlib
import time
from typing import Any
import uuid

import ddt
import fixtures
from glance_store import exceptions
from glance_store._drivers import rbd as stock
import rbd

from glance_store_objmap import store
from rbd_volume_options import ownership
from tests import feature_bits
from tests import runs
from tests.functional import ceph
from tests.functional import interruptions
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap import behaviour


class CephStoreTestCase(base.StoreTestCase):
    """Our store and the stock store on the shared cluster."""

    def connect(self) -> None:
        """Connect to the shared cluster."""
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.cluster_options = {
            'rbd_store_user': 'admin',
            'rbd_store_ceph_conf': self.cluster.conf,
        }

    def store_with(self, options: Any = None, **settings: str) -> Any:
        """Return a store whose ceph.conf has additional client settings.

        :param options: options of the store
        """
        lines = [f'{name} = {value}' for name, value in settings.items()]
        # librados takes the cluster's name from the file name.
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'ceph.conf'
        )
        # The last section is that of clients.
        text = pathlib.Path(self.cluster.conf).read_text()
        path.write_text('\n'.join([text, *lines, '']))
        return self.make_store(
            **(options or {}), rbd_store_ceph_conf=str(path)
        )

    def images(self) -> list[str]:
        """Return the names of the RBD images in the pool."""
        return self.cluster.names('images')

    def image(self, name: str) -> Any:
        """Open an RBD image."""
        return self.cluster.image(name, 'images')

    def stored_bytes(self, name: str) -> int:
        """Return the number of allocated bytes of an image."""
        extents: list[int] = []
        with self.cluster.image(name, 'images') as image:
            image.diff_iterate(
                0,
                image.size(),
                None,
                lambda offset, length, exists: extents.append(length),
            )
        return sum(extents)


class UploadsTest(CephStoreTestCase, behaviour.Uploads):
    """Upload tests on real Ceph."""


@runs.tags(runs.DEBIAN)
@ddt.ddt
class ImagesTest(CephStoreTestCase, behaviour.Images):
    """Image tests on real Ceph."""

    def test_image_has_the_mark_of_the_cloud(self) -> None:
        cloud = str(uuid.uuid4())
        ours = self.make_store(rbd_cloud_id=cloud, **self.cluster_options)
        ours.add('marked', base.Body(b'x'), 1, 'sha512')
        with self.image('marked') as image:
            owner = ownership.owner_of(
                dict(image.metadata_list()),
                self.cluster.ioctx('images').get_pool_id(),
                image.id(),
            )
        self.assertEqual(cloud, owner)

    def test_no_user_is_the_default_one(self) -> None:
        made = self.make_store(rbd_store_user=None)
        self.assertIsNone(made.user)
        place = self.add(b'data', 4, made)
        self.check_same(b'data', self.read(place, made))

    def _with_clone(self, maker: Any) -> Any:
        place = self.add(base.content(3 * base.PIECE), 0, maker)
        images, volumes = self.cluster.ioctx('images'), self.cluster.ioctx()
        name = place.store_location.image
        rbd.RBD().clone(
            images,
            name,
            'snap',
            volumes,
            'child',
            features=feature_bits.DEFAULT,
        )
        return place

    @runs.nightly_after(3)
    @ddt.data(*itertools.product((store.Store, stock.Store), repeat=2))
    @ddt.unpack
    def test_delete_with_children(
        self, maker: type[stock.Store], deleter: type[stock.Store]
    ) -> None:
        """The image moves to the trash; the clone and its map stay valid."""
        images = self.cluster.ioctx('images')
        place = self._with_clone(self.make_store(maker))
        name = place.store_location.image
        with self.cluster.image('child') as child:
            self.assertEqual(0, child.flags())
            self.assertEqual(('images', name, 'snap'), child.parent_info())
        self.make_store(deleter).delete(place)
        self.assertEqual([], self.images())
        (trashed,) = (
            entry
            for entry in rbd.RBD().trash_list(images)
            if entry['name'] == name
        )
        with self.cluster.image('child') as child:
            data = child.read(0, 3 * base.PIECE)
            child.flatten()
        self.check_same(base.content(3 * base.PIECE), data)
        rbd.RBD().trash_remove(images, trashed['id'])

    def test_interrupted_deletion(self) -> None:
        """The next deletion completes it instead of finding no image."""
        self.useFixture(interruptions.ShortWatch(self.cluster))
        place = self.add(base.content(8 * base.PIECE), 0)
        name = place.store_location.image
        with self.image(name) as image:
            prefix = image.block_name_prefix()
            image.unprotect_snap('snap')
            image.remove_snap('snap')
        interruptions.kill_during_removal(self.cluster, name, 'images')
        left = interruptions.objects(self.cluster, prefix, 'images')
        self.assertIn(left, range(1, 9))
        for _attempt in range(20):
            try:
                self.store.delete(place)
                break
            except exceptions.InUseByStore:
                # The OSD has not forgotten the client that was killed.
                time.sleep(1)
        left = interruptions.objects(self.cluster, prefix, 'images')
        self.assertEqual(0, left)
        self.assertRaises(exceptions.NotFound, self.store.delete, place)

    def test_delete_of_a_large_image_with_an_object_map(self) -> None:
        made = self.make_store(rbd_store_object_map='true')
        place = self.add(b'data', 4, made)
        with self.image(place.store_location.image) as image:
            image.resize(1 << 40)
        began = time.monotonic()
        made.delete(place)
        # Without the map, librbd would send a request for each object.
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual([], self.images())
