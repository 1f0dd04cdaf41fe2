# SPDX-License-Identifier: Apache-2.0

"""Layout, features and data pool in each creation path."""

from typing import Any

from cinder.volume.drivers import rbd as stock_rbd
import ddt
import fixtures
from oslo_utils import units

from cinder_rbd_ext import driver as driver_module
from tests import runs
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_behaviour
from tests.functional.cinder_rbd_ext import creation_paths


@runs.tags(runs.DEBIAN)
@ddt.ddt
class RealCreationTest(
    creation_behaviour.CreationBehaviour, base.DriverTestCase
):
    """The tests of each path; images also have the content of their source."""

    data_pool = 'volumes-data'

    def opened(
        self, name: str, pool: str = 'volumes', read_only: bool = True
    ) -> Any:
        return self.cluster.image(name, pool, read_only=read_only)

    def check_content(self, path: creation_paths.Path) -> None:
        expected, offset = b'content', 3 * units.Mi
        if isinstance(path, creation_paths.CreateEncrypted):
            expected, offset = b'LUKS', 0
        elif isinstance(path, creation_paths.Create):
            expected = bytes(7)
        with self.opened(path.volume.name) as image:
            self.assertEqual(expected, image.read(offset, len(expected)))
            self.assertEqual(0, image.flags())

    @runs.tags(runs.NIGHTLY)
    @ddt.data(creation_paths.ImportQcow2, creation_paths.ImportToEncrypted)
    def test_converted_image_is_as_requested(
        self, way: type[creation_paths.Path]
    ) -> None:
        volume = self.create(way, metadata=base.ASKED)
        self.assertEqual(base.MADE, self.layout_of(volume))


class EncryptedImageTest(base.DriverTestCase):
    def test_end_of_a_glance_image_as_large_as_its_volume_is_kept(
        self,
    ) -> None:
        path = creation_paths.ImportGlanceImage(self)
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
    @ddt.data(*creation_paths.WITH_PROGRAMS[:-1])
    def test_as_stock(self, path_class: type[creation_paths.Path]) -> None:
        made = {}
        for cls in (driver_module.RBDExtDriver, stock_rbd.RBDDriver):
            driver = self.make_driver(cls)
            path = path_class(self, driver)
            volume = path.volume
            self.update(volume, path.make())
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
