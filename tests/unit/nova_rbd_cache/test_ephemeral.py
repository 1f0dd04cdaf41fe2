# SPDX-License-Identifier: Apache-2.0

"""Features of the RBD images of ephemeral disks."""

import pathlib
from typing import Any
import uuid

import ddt
import fixtures
from nova.storage import rbd_utils
from nova.virt.libvirt import driver
from nova.virt.libvirt import imagebackend
from os_brick.initiator import connector

from nova_rbd_cache import ephemeral
from nova_rbd_cache import registration
from nova_rbd_cache import settings
from rbd_volume_options import ownership
from tests import feature_bits
from tests.fakes import fake_commands
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit.nova_rbd_cache import base

_DEFAULT = feature_bits.DEFAULT
_WITHOUT_MAP = _DEFAULT & ~feature_bits.MAP
_SHORT_WITH_MAP = feature_bits.LAYERING | feature_bits.LOCK | feature_bits.MAP

_LOCATION = {'url': f'rbd://{fake_rados.FSID}/images/glance-image/snap'}
_MAPPED = ('ephemeral_object_map', 'true')
_PLAIN = ('ephemeral_object_map', 'false')
_LAYERING = ('ephemeral_image_features', 'layering')
_LOCKED = ('ephemeral_image_features', 'layering,exclusive-lock')
_MARKED = ('cloud_id', str(uuid.uuid4()))
_WITH_MAP = (
    'ephemeral_image_features',
    'layering,exclusive-lock,object-map',
)


class EphemeralTestCase(base.NovaTestCase):
    """Base class for tests of Nova's RBD driver on a fake cluster."""

    default_features: str | None = str(_DEFAULT)

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('vms', 'images')
        self.set_default_features(self.default_features)
        librbd = fake_librbd.Librbd(self.cluster)
        with self.cluster.connected('images') as ioctx:
            librbd.RBD().create(ioctx, 'glance-image', 1 << 30)
            with librbd.Image(ioctx, 'glance-image') as image:
                image.create_snap('snap')
                image.protect_snap('snap')
        self.patch(rbd_utils, 'rados', self.cluster.rados)
        self.patch(rbd_utils, 'rbd', librbd)
        self.commands = fake_commands.Commands(self.cluster)
        self.patch(rbd_utils.processutils, 'execute', self.commands)
        folder = self.useFixture(fixtures.TempDir())
        self.base_file = folder.join('base')
        pathlib.Path(self.base_file).touch()
        self.patch(rbd_utils, 'RBDDriver', ephemeral.STOCK)
        self.patch(
            driver,
            'VOLUME_DRIVERS',
            dict(driver.VOLUME_DRIVERS),
        )
        self.patch(connector, 'unix_connector_list', [])
        self.set_options(
            'libvirt',
            images_rbd_pool='vms',
            rbd_user='nova',
            images_rbd_ceph_conf='ceph.conf',
        )

    def set_default_features(self, mask: str | None) -> None:
        """Set ``rbd_default_features`` of ceph.conf."""
        self.cluster.config.pop('rbd_default_features', None)
        if mask is not None:
            self.cluster.config['rbd_default_features'] = mask

    def make_driver(self, *options: tuple[str, str]) -> Any:
        """Register with the given options; return Nova's RBD driver."""
        self.set_options(**dict(options))
        registration.register(settings.read(self.conf))
        return rbd_utils.RBDDriver()

    def features(self, name: str, pool: str = 'vms') -> int:
        """Remove an RBD image; return its feature mask."""
        self.assertEqual([], self.cluster.connections)
        mask: int = self.cluster.pools[pool].images.pop(name).mask
        return mask


@ddt.ddt
class FeaturesTest(EphemeralTestCase):
    CASES = (
        ((), _DEFAULT),
        ((_MAPPED,), _DEFAULT),
        ((_PLAIN,), _WITHOUT_MAP),
        ((_LAYERING,), feature_bits.LAYERING),
        ((_LOCKED,), feature_bits.LAYERING | feature_bits.LOCK),
        ((_WITH_MAP,), _SHORT_WITH_MAP),
        ((_WITH_MAP, _MAPPED), _SHORT_WITH_MAP),
    )

    @ddt.data(*CASES)
    @ddt.unpack
    def test_clone_of_a_glance_image_has_the_features(
        self, options: tuple[Any, ...], expected: int
    ) -> None:
        self.make_driver(*options).clone(_LOCATION, 'disk')
        self.assertEqual(expected, self.features('disk'))

    @ddt.data(*CASES)
    @ddt.unpack
    def test_imported_disk_has_the_features(
        self, options: tuple[Any, ...], expected: int
    ) -> None:
        self.make_driver(*options).import_image(self.base_file, 'disk')
        self.assertEqual(expected, self.features('disk'))

    def test_import_says_all_that_stock_says(self) -> None:
        self.patch(ownership, 'write_named', lambda *args: None)
        rbd_utils.RBDDriver().import_image(self.base_file, 'disk')
        self.make_driver(_MARKED).import_image(self.base_file, 'marked')
        self.make_driver(_LAYERING).import_image(self.base_file, 'ours')
        stock, marked, ours = (
            tuple(x for x in words if x not in ('disk', 'marked', 'ours'))
            for words in self.commands.imports()
        )
        # The configuration of a pool overrides that of a connection, but not
        # the features of a command.
        self.assertEqual(stock, marked)
        self.assertEqual((*stock, '--image-feature', 'layering'), ours)

    def test_mark_alone_keeps_the_connection_of_stock(self) -> None:
        made = self.make_driver(_MARKED)
        self.patch(fake_rados.Rados, 'conf_set', None)
        self.patch(ownership, 'write_named', lambda *args: None)
        made.clone(_LOCATION, 'disk')
        self.assertEqual(_DEFAULT, self.features('disk'))

    def test_snapshot_for_glance_is_stock(self) -> None:
        """A disk that is cloned to Glance's pool keeps stock features."""
        made = self.make_driver(_LAYERING)
        made.clone(_LOCATION, 'new-image', dest_pool='images')
        self.assertEqual(_DEFAULT, self.features('new-image', 'images'))

    def test_new_images_have_the_mark_of_the_cloud(self) -> None:
        marks: dict[tuple[str, str], str] = {}

        def write_named(ioctx: Any, name: str, owner: str) -> None:
            marks[ioctx.pool.name, name] = owner

        self.patch(ownership, 'write_named', write_named)
        made = self.make_driver(_MARKED)
        made.clone(_LOCATION, 'disk')
        made.import_image(self.base_file, 'other')
        made.clone(_LOCATION, 'new-image', dest_pool='images')
        places = {('vms', 'disk'), ('vms', 'other'), ('images', 'new-image')}
        self.assertEqual(dict.fromkeys(places, _MARKED[1]), marks)

    def test_each_call_is_for_itself(self) -> None:
        made = self.make_driver(_LAYERING)
        for _ in range(2):
            made.clone(_LOCATION, 'disk')
            made.import_image(self.base_file, 'other')
            made.clone(_LOCATION, 'image', dest_pool='images')
            self.assertEqual(feature_bits.LAYERING, self.features('disk'))
            self.assertEqual(feature_bits.LAYERING, self.features('other'))
            self.assertEqual(_DEFAULT, self.features('image', 'images'))
        self.assertEqual(
            ['--id', 'nova', '--conf', 'ceph.conf'], made.ceph_args()
        )

    def test_no_permission_is_what_stock_makes_of_it(self) -> None:
        made = self.make_driver(_LAYERING)
        self.cluster.fail('RBD.clone', fake_images.PermissionError(''))
        self.assertRaises(
            rbd_utils.exception.Forbidden, made.clone, _LOCATION, 'disk'
        )
        self.assertEqual([], self.cluster.connections)

    def test_images_of_servers_are_made_by_it(self) -> None:
        """Nova creates the disks of a server with the registered class."""
        self.make_driver(_LAYERING)
        # It would run qemu-img.
        self.patch(
            imagebackend.Rbd, '_remove_non_raw_cache_image', lambda *_: None
        )
        disk = imagebackend.Rbd(path='vms/server_disk')
        disk.create_image(lambda target, **kwargs: None, self.base_file, 0)
        self.assertEqual(feature_bits.LAYERING, self.features('server_disk'))


@ddt.ddt
class OldDefaultsTest(EphemeralTestCase):
    """Tests with few default features in ceph.conf, or none."""

    default_features = str(feature_bits.LAYERING)

    @ddt.data(str(feature_bits.LAYERING), '0', None)
    def test_object_map_is_added(self, defaults: str | None) -> None:
        self.set_default_features(defaults)
        made = self.make_driver(_MAPPED)
        made.clone(_LOCATION, 'disk')
        made.import_image(self.base_file, 'other')
        self.assertEqual(_SHORT_WITH_MAP, self.features('disk'))
        self.assertEqual(_SHORT_WITH_MAP, self.features('other'))

    def test_import_names_no_feature_that_nobody_chooses(self) -> None:
        """``rbd import`` does not accept ``striping`` as a feature name."""
        self.set_default_features(str(_DEFAULT | feature_bits.STRIPING))
        self.make_driver(_PLAIN).import_image(self.base_file, 'disk')
        self.assertEqual(_WITHOUT_MAP, self.features('disk'))
