# SPDX-License-Identifier: Apache-2.0

"""Paths on which Cinder's manager creates RBD images, one class for each."""

import pathlib
import subprocess
from typing import Any

from cinder.db import api as db
from cinder.keymgr import conf_key_mgr  # noqa: F401 - registers options
from oslo_utils import units
import rbd

from tests import feature_bits
from tests.functional.cinder_rbd_ext import base

_MEGABYTES = 8


class Path:
    """A way to create a volume.

    :cvar inherits: whether unset values are inherited from another volume
    """

    inherits = False

    def __init__(self, case: base.DriverTestCase) -> None:
        self.case = case

    def prepare(self) -> None:
        """Create the source of the volume."""

    def new_volume(self, **kwargs: Any) -> Any:
        """Return the volume, whose RBD image does not exist yet."""
        return self.case.new_volume(**kwargs)

    def make(self, volume: Any, driver: Any) -> None:
        """Create the RBD image with a driver, as Cinder's manager does."""
        raise NotImplementedError

    def fill(self, name: str, pool: str = 'volumes') -> None:
        """Write content that a clone or copy must contain."""
        with self.case.cluster.image(name, pool) as image:
            image.write(b'content', 3 * units.Mi)

    def check_content(self, volume: Any) -> None:
        """Check that the volume has the content of its source."""


class Create(Path):
    """A new, empty volume."""

    def make(self, volume: Any, driver: Any) -> None:
        self.case.update(volume, driver.create_volume(volume))


class CreateEncrypted(Path):
    """A LUKS header, created by qemu-img and imported by ``rbd import``."""

    def prepare(self) -> None:
        for option, value in (
            ('backend', 'cinder.keymgr.conf_key_mgr.ConfKeyManager'),
            ('fixed_key', base.FIXED_KEY),
        ):
            self.case.override_config(option, value, group='key_manager')

    def new_volume(self, **kwargs: Any) -> Any:
        volume = self.case.new_volume(
            encryption_key_id=base.NO_KEY_ID, **kwargs
        )
        db.volume_type_encryption_create(
            self.case.admin,
            volume.volume_type_id,
            {
                'provider': 'luks',
                'cipher': 'aes-xts-plain64',
                'key_size': 256,
                'control_location': 'front-end',
            },
        )
        return volume

    def make(self, volume: Any, driver: Any) -> None:
        self.case.update(volume, driver.create_volume(volume))

    def check_content(self, volume: Any) -> None:
        with self.case.cluster.image(volume.name) as image:
            self.case.assertEqual(b'LUKS', image.read(0, 4))


class _FromVolume(Path):
    """A volume from another volume with a unique layout."""

    inherits = True
    source_metadata = {
        'rbd:object_size': '8M',
        'rbd:stripe_unit': '32K',
        'rbd:stripe_count': '4',
        'rbd:features': 'layering,exclusive-lock',
    }

    def prepare(self) -> None:
        self.source = self.case.made_volume(self.source_metadata)
        self.fill(self.source.name)

    def check_content(self, volume: Any) -> None:
        with self.case.cluster.image(volume.name) as image:
            self.case.assertEqual(b'content', image.read(3 * units.Mi, 7))


class CloneFromSnapshot(_FromVolume):
    """A copy-on-write clone of a snapshot."""

    def prepare(self) -> None:
        super().prepare()
        self.snapshot = self.case.new_snapshot(self.source)

    def make(self, volume: Any, driver: Any) -> None:
        self.case.update(
            volume, driver.create_volume_from_snapshot(volume, self.snapshot)
        )


class CloneVolume(_FromVolume):
    """A copy-on-write clone of a volume."""

    def make(self, volume: Any, driver: Any) -> None:
        self.case.update(
            volume, driver.create_cloned_volume(volume, self.source)
        )


class CloneAndFlatten(CloneVolume):
    """A clone that is flattened, because its chain would be too long."""

    def make(self, volume: Any, driver: Any) -> None:
        self.case.override_backend(driver, 'rbd_max_clone_depth', 1)
        between = self.case.new_volume(self.source_metadata)
        driver.create_cloned_volume(between, self.source)
        self.case.update(volume, driver.create_cloned_volume(volume, between))


class FullCopy(CloneVolume):
    """A full copy of a volume, with clones disabled."""

    def make(self, volume: Any, driver: Any) -> None:
        self.case.override_backend(driver, 'rbd_max_clone_depth', 0)
        super().make(volume, driver)


class CloneGlanceImage(Path):
    """A clone of the RBD image behind a raw Glance image."""

    def prepare(self) -> None:
        ioctx = self.case.cluster.ioctx('images')
        rbd.RBD().create(
            ioctx,
            'glance',
            64 * units.Mi,
            order=23,
            features=feature_bits.DEFAULT,
        )
        self.fill('glance', 'images')
        with self.case.cluster.image('glance', 'images') as image:
            image.create_snap('snap')
            image.protect_snap('snap')

    def make(self, volume: Any, driver: Any) -> None:
        location = f'rbd://{self.case.cluster.fsid}/images/glance/snap'
        update, cloned = driver.clone_image(
            self.case.context,
            volume,
            (location, None),
            {'id': 'image', 'disk_format': 'raw'},
            None,
        )
        self.case.assertTrue(cloned)
        self.case.update(volume, update)

    check_content = _FromVolume.check_content


class ImageService:
    """A fake image service with one Glance image to download."""

    #: Cinder's cache of downloaded images.
    temp_images = None

    def __init__(self, path: pathlib.Path, disk_format: str) -> None:
        self._path = path
        self._format = disk_format

    def show(self, context: Any, image_id: str) -> dict[str, Any]:
        """Return the metadata of the image."""
        return {
            'id': image_id,
            'disk_format': self._format,
            'container_format': 'bare',
            'status': 'active',
            'size': self._path.stat().st_size,
            'properties': {},
        }

    def download(self, context: Any, image_id: str, data: Any = None) -> None:
        """Write the content of the image to a file."""
        data.write(self._path.read_bytes())


class ImportQcow2(Path):
    """A qcow2 Glance image: created empty, deleted, imported."""

    disk_format = 'qcow2'

    def prepare(self) -> None:
        raw = self.case.tmp / 'disk.raw'
        with raw.open('wb') as out:
            out.truncate(_MEGABYTES * units.Mi)
            out.seek(3 * units.Mi)
            out.write(b'content')
        path = self.case.tmp / f'disk.{self.disk_format}'
        if self.disk_format != 'raw':
            subprocess.run(
                ['qemu-img', 'convert', '-O', self.disk_format, raw, path],
                check=True,
            )
        self.service = ImageService(path, self.disk_format)

    def make(self, volume: Any, driver: Any) -> None:
        self.case.update(volume, driver.create_volume(volume))
        driver.copy_image_to_volume(
            self.case.context, volume, self.service, 'image'
        )

    check_content = _FromVolume.check_content


class ImportRaw(ImportQcow2):
    """A raw Glance image that cannot be cloned."""

    disk_format = 'raw'


class ImportToEncrypted(CreateEncrypted):
    """A Glance image that is encrypted during the import."""

    def prepare(self) -> None:
        super().prepare()
        self._image = ImportQcow2(self.case)
        self._image.prepare()

    def make(self, volume: Any, driver: Any) -> None:
        super().make(volume, driver)
        driver.copy_image_to_encrypted_volume(
            self.case.context, volume, self._image.service, 'image'
        )


ALL: tuple[type[Path], ...] = (
    Create,
    CloneVolume,
    CloneGlanceImage,
    CloneFromSnapshot,
    CloneAndFlatten,
    FullCopy,
    ImportQcow2,
    ImportRaw,
    # Each takes as long as all others.
    CreateEncrypted,
    ImportToEncrypted,
)
