# SPDX-License-Identifier: Apache-2.0

"""Glance images whose content names a file of the host.

Cinder must not read that file (CVE-2022-47951, CVE-2024-32498). The checks are
Cinder's; the driver must neither skip them nor leave anything in the volume.
"""

from collections.abc import Callable
import pathlib
import subprocess

from cinder import exception
import ddt
from oslo_utils import units

from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths

_SECRET = b'secret of the host'

_Make = Callable[[pathlib.Path, pathlib.Path], None]

_DESCRIPTOR = """\
# Disk DescriptorFile
version=1
CID=fffffffe
parentCID=ffffffff
createType="monolithicFlat"

RW 2048 FLAT "{secret}" 0
ddb.adapterType = "ide"
ddb.geometry.cylinders = "2"
ddb.geometry.heads = "16"
ddb.geometry.sectors = "63"
"""


def _backed(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a qcow2 image that has a backing file."""
    names = ('-F', 'raw', '-b', secret, path)
    subprocess.run(['qemu-img', 'create', '-qf', 'qcow2', *names], check=True)


def _with_data_file(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a qcow2 image whose data are in another file."""
    other = path.with_name('other')
    options = f'data_file={other},data_file_raw=on'
    subprocess.run(
        ['qemu-img', 'create', '-qf', 'qcow2', '-o', options, path, '1M'],
        check=True,
    )
    other.unlink()
    other.symlink_to(secret)


def _flat(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a VMDK descriptor, whose extent is another file."""
    path.write_text(_DESCRIPTOR.format(secret=secret))


@ddt.ddt
class HostileImageTest(base.DriverTestCase):
    @ddt.data(
        (_backed, 'qcow2'),
        (_backed, 'raw'),
        (_with_data_file, 'qcow2'),
        (_with_data_file, 'raw'),
        (_flat, 'vmdk'),
    )
    @ddt.unpack
    def test_no_file_of_the_host_is_read(
        self, make: _Make, disk_format: str
    ) -> None:
        secret = self.tmp / 'secret'
        secret.write_bytes(_SECRET.ljust(units.Mi, b'x'))
        path = self.tmp / 'uploaded'
        make(secret, path)
        service = creation_paths.ImageService(path, disk_format)
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
