# SPDX-License-Identifier: Apache-2.0

"""Glance images whose content names a file of the host.

Cinder must not read that file (CVE-2022-47951, CVE-2024-32498). The checks are
Cinder's; the driver must neither skip them nor leave anything in the volume.
"""

from cinder import exception
import ddt
from oslo_utils import units

from tests import hostile_images
from tests.functional.cinder_rbd_ext import base

_SECRET = b'secret of the host'


@ddt.ddt
class HostileImageTest(base.DriverTestCase):
    @ddt.data(*hostile_images.EACH)
    @ddt.unpack
    def test_no_file_of_the_host_is_read(
        self, make: hostile_images.Make, disk_format: str
    ) -> None:
        secret = self.tmp / 'secret'
        secret.write_bytes(_SECRET.ljust(units.Mi, b'x'))
        path = self.tmp / 'uploaded'
        make(secret, path)
        service = base.ImageService(path, disk_format)
        volume = self.made_volume()
        for is_reimage in (False, True):
            self.assertRaises(
                exception.Invalid,
                self.driver.copy_image_to_volume,
                self.context,
                volume,
                service,
                'image',
                is_reimage,
            )
        self.assertEqual([volume.name], self.cluster.names())
        with self.cluster.image(volume.name, read_only=True) as image:
            self.assertEqual(bytes(units.Mi), image.read(0, units.Mi))
