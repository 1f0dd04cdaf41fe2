# SPDX-License-Identifier: Apache-2.0

"""Layout, features and data pool in each creation path."""

from typing import Any

from cinder.volume.drivers import rbd as stock_rbd
import ddt
import fixtures
from oslo_utils import units

from cinder_rbd_ext import driver as driver_module
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests import runs
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths

# qemu-img takes seconds to create a LUKS header, by design, and this path has
# two. The two paths that it combines are tested separately.
_MOST = tuple(
    f for f in creation_paths.ALL if f is not creation_paths.ImportToEncrypted
)

# The other path with a header is tested with metadata, with a type and with
# no request. Other requests reach it as the same plan.
_PLAIN = tuple(f for f in _MOST if f is not creation_paths.CreateEncrypted)

_MAP = {'exclusive-lock', 'object-map', 'fast-diff'}


@ddt.ddt
class EveryPathTest(base.DriverTestCase):
    """Tests that apply to each path."""

    def _made(
        self,
        path_class: type[creation_paths.Path],
        driver: Any = None,
        **kwargs: Any,
    ) -> Any:
        path = path_class(self)
        path.prepare()
        volume = path.new_volume(**kwargs)
        path.make(volume, driver or self.driver)
        path.check_content(volume)
        return volume

    @runs.tags(runs.DEBIAN)
    @runs.nightly_after(8)
    @ddt.data(*creation_paths.ALL)
    def test_what_metadata_asks_for(
        self, path: type[creation_paths.Path]
    ) -> None:
        volume = self._made(path, metadata=base.ASKED)
        self.assertEqual(base.MADE, self.layout_of(volume))
        self.assertLessEqual(_MAP | {'striping'}, self.features_of(volume))
        self.assertEqual(0, self.flags_of(volume))
        self._check_recorded(volume)

    def _check_recorded(self, volume: Any) -> None:
        recorded = {
            key: value
            for key, value in self.recorded(volume).items()
            if key in registry.OPTIONS
        }
        features = self.features_of(volume)
        self.assertEqual(
            {
                keys.OBJECT_SIZE: '1048576',
                keys.STRIPE_UNIT: '65536',
                keys.STRIPE_COUNT: '8',
                keys.FEATURES: ','.join(sorted(features)),
            },
            recorded,
        )
        volume.refresh()
        self.assertEqual(base.ASKED, volume.metadata)

    @runs.tags(runs.NIGHTLY)
    @ddt.data(*(f for f in _PLAIN if not f.inherits))
    def test_what_the_backend_says(
        self, path: type[creation_paths.Path]
    ) -> None:
        driver = self.make_driver(
            rbd_volume_object_size='512K',
            rbd_volume_stripe_unit='16K',
            rbd_volume_stripe_count='2',
            rbd_volume_object_map='false',
        )
        volume = self._made(path, driver)
        self.assertEqual(
            {
                'object_size': 512 * units.Ki,
                'stripe_unit': 16 * units.Ki,
                'stripe_count': 2,
            },
            self.layout_of(volume),
        )
        self.assertEqual(set(), self.features_of(volume) & {'object-map'})

    @ddt.data(*(f for f in creation_paths.ALL if f.inherits))
    def test_what_the_source_has(
        self, path: type[creation_paths.Path]
    ) -> None:
        driver = self.make_driver(
            rbd_volume_object_size='512K', rbd_volume_object_map='true'
        )
        volume = self._made(path, driver)
        self.assertEqual(
            {
                'object_size': 8 * units.Mi,
                'stripe_unit': 32 * units.Ki,
                'stripe_count': 4,
            },
            self.layout_of(volume),
        )
        self.assertEqual(
            {'layering', 'exclusive-lock', 'striping'},
            self.features_of(volume),
        )

    @runs.tags(runs.NIGHTLY)
    @ddt.data(*_PLAIN)
    def test_part_of_the_layout(self, path: type[creation_paths.Path]) -> None:
        """Only an object size is requested: the path sets the rest."""
        volume = self._made(path, metadata={keys.OBJECT_SIZE: '16M'})
        made = self.layout_of(volume)
        self.assertEqual(16 * units.Mi, made['object_size'])
        if path.inherits:
            self.assertEqual(32 * units.Ki, made['stripe_unit'])
            self.assertEqual(4, made['stripe_count'])
        else:
            self.assertEqual(16 * units.Mi, made['stripe_unit'])
            self.assertEqual(1, made['stripe_count'])


class EncryptedImageTest(base.DriverTestCase):
    def test_end_of_a_glance_image_as_large_as_its_volume_is_kept(
        self,
    ) -> None:
        path = creation_paths.ImportRaw(self)
        path.prepare()
        volume = self.made_volume()
        whole = units.Gi + 2 * units.Mi

        def encrypt(context: Any, volume: Any, folder: str, file: str) -> None:
            """Write a file with the size of a header and the data."""
            with open(file, 'r+b') as encrypted:
                encrypted.seek(whole - 3)
                encrypted.write(b'end')

        self.useFixture(
            fixtures.MockPatchObject(self.driver, '_encrypt_image', encrypt)
        )
        self.driver.copy_image_to_encrypted_volume(
            self.context, volume, path.service, 'image'
        )
        with self.cluster.image(volume.name) as image:
            self.assertEqual(whole, image.size())
            self.assertEqual(b'end', image.read(whole - 3, 3))
        self.driver.extend_volume(volume, 2)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(2 * units.Gi, image.size())


@ddt.ddt
class NothingAskedTest(base.DriverTestCase):
    """Without a request, the image is the same as the stock driver's."""

    @runs.nightly_after(8)
    @ddt.data(*_MOST)
    def test_as_stock(self, path_class: type[creation_paths.Path]) -> None:
        made = {}
        for cls in (driver_module.RBDExtDriver, stock_rbd.RBDDriver):
            driver = self.make_driver(cls)
            path = path_class(self)
            path.source_metadata = {}  # type: ignore[attr-defined]
            path.prepare()
            volume = path.new_volume()
            path.make(volume, driver)
            with self.cluster.image(volume.name) as image:
                made[cls] = (
                    self.layout_of(volume),
                    self.features_of(volume),
                    image.size(),
                    dict(image.metadata_list()),
                )
            self.cluster.empty()
        ours, stock = made.values()
        self.assertEqual(stock, ours)
