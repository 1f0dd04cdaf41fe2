# SPDX-License-Identifier: Apache-2.0

"""RBD images of ephemeral disks, created by Nova's driver on real Ceph."""

import os
import pathlib
import tempfile
from typing import Any
from unittest import mock
import uuid

import ddt
from nova.storage import rbd_utils
import rbd

from nova_rbd_cache import ephemeral
from nova_rbd_cache import opts
from rbd_volume_options import features
from rbd_volume_options import ownership
from tests import feature_bits
from tests import runs
from tests.functional import ceph
from tests.unit.nova_rbd_cache import base

MIB = 2**20
_PARENT = 'glance-image'
_MAP = ('ephemeral_object_map', 'true')
_NO_MAP = ('ephemeral_object_map', 'false')
_FEATURES = (
    'ephemeral_image_features',
    'layering,exclusive-lock,object-map,deep-flatten',
)


@runs.tags(runs.DEBIAN)
@ddt.ddt
class EphemeralTest(base.NovaTestCase):
    # The first test starts Ceph.
    timeout = 180

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        opts.register(self.conf)
        self.set_options(
            'libvirt',
            images_rbd_pool='volumes',
            rbd_user='admin',
            images_rbd_ceph_conf=self.cluster.conf,
        )
        # Glance images are often old. This one has no object map.
        rbd.RBD().create(
            self.cluster.ioctx('images'),
            _PARENT,
            4 * MIB,
            old_format=False,
            features=features.to_mask(['layering']),
        )
        with self.cluster.image(_PARENT, 'images') as image:
            image.write(b'x' * MIB, 0)
            image.create_snap('snap')
            image.protect_snap('snap')
        self.location = {
            'url': f'rbd://{self.cluster.fsid}/images/{_PARENT}/snap'
        }

    def make_driver(self, *options: tuple[str, str]) -> Any:
        """Return Nova's driver for the given options."""
        self.set_options(**dict(options))
        ours = ephemeral.EphemeralRBDDriver if options else ephemeral.STOCK
        self.patch(rbd_utils, 'RBDDriver', ours)
        return rbd_utils.RBDDriver()

    def found(self, name: str, pool: str = 'volumes') -> set[str]:
        """Check the flags and data of an image; return its features."""
        with self.cluster.image(name, pool) as image:
            self.assertEqual(0, image.flags())
            self.assertEqual(b'x' * 10, image.read(0, 10))
            return set(features.from_mask(image.features()))

    def _make_both(self, made: Any) -> list[set[str]]:
        """Clone a disk and import another; return the features of each."""
        made.clone(self.location, 'cloned')
        path = pathlib.Path(tempfile.mkdtemp(), 'base')
        path.write_bytes(b'x' * MIB)
        with mock.patch.dict(os.environ, CEPH_CONF=self.cluster.conf):
            made.import_image(str(path), 'imported')
        # Nova does this next, with the size from the flavor.
        for name in ('cloned', 'imported'):
            made.resize(name, 64 * MIB)
        return [self.found('cloned'), self.found('imported')]

    def test_object_map(self) -> None:
        for each in self._make_both(self.make_driver(_MAP)):
            self.assertLessEqual(features.MAP_ON, each)

    def test_no_object_map(self) -> None:
        for each in self._make_both(self.make_driver(_NO_MAP)):
            self.assertEqual(set(), features.MAP_OFF & each)
            self.assertIn('exclusive-lock', each)

    def test_whole_set(self) -> None:
        expected = set(_FEATURES[1].split(',')) | {'fast-diff'}
        both = self._make_both(self.make_driver(_FEATURES))
        self.assertEqual([expected, expected], both)

    def test_images_have_the_mark_of_the_cloud(self) -> None:
        cloud = str(uuid.uuid4())
        made = self.make_driver(('cloud_id', cloud))
        self._make_both(made)
        made.clone(self.location, 'snapshot', dest_pool='images')
        for pool, name in (
            ('volumes', 'cloned'),
            ('volumes', 'imported'),
            ('images', 'snapshot'),
        ):
            pool_id = self.cluster.ioctx(pool).get_pool_id()
            with self.cluster.image(name, pool) as image:
                owner = ownership.owner_of(
                    dict(image.metadata_list()), pool_id, image.id()
                )
            self.assertEqual(cloud, owner)

    def test_unset_is_stock(self) -> None:
        stock = set(features.from_mask(feature_bits.DEFAULT))
        both = self._make_both(self.make_driver())
        self.assertEqual([stock, stock], both)

    def test_snapshot_for_glance_is_stock(self) -> None:
        made = self.make_driver(_NO_MAP)
        made.clone(self.location, 'snapshot', dest_pool='images')
        self.assertLessEqual(features.MAP_ON, self.found('snapshot', 'images'))
