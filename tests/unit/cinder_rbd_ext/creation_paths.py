# SPDX-License-Identifier: Apache-2.0

"""The driver's methods that create an RBD image, one class for each."""

from typing import Any

from tests.unit.cinder_rbd_ext import base


class Path:
    """A way to create a volume.

    :ivar volume: the volume, whose image does not exist yet
    :cvar size: the size of the volume in GiB; its source has 1 GiB
    """

    size = 1

    def __init__(self, case: base.DriverTestCase, **kwargs: Any) -> None:
        self.case = case
        self.prepare()
        self.volume = self.new_volume(size=self.size, **kwargs)
        self.begin()

    def prepare(self) -> None:
        """Create the source of the volume."""

    def begin(self) -> None:
        """Do what Cinder does before the tested step."""

    def new_volume(self, **kwargs: Any) -> Any:
        """Return the volume."""
        return self.case.new_volume(**kwargs)

    def make(self) -> Any:
        """Call the driver to create the volume's image."""
        raise NotImplementedError


class Create(Path):
    """A new, empty volume."""

    def make(self) -> Any:
        return self.case.driver.create_volume(self.volume)


class CreateEncrypted(Create):
    """``rbd import`` of an encrypted file."""

    def new_volume(self, **kwargs: Any) -> Any:
        return self.case.encrypted_volume(**kwargs)


class CloneFromSnapshot(Path):
    """A clone of a snapshot, larger than the snapshot."""

    size = 2

    def prepare(self) -> None:
        self.source = self.case.made_volume()
        self.snapshot = self.case.new_snapshot(self.source)

    def make(self) -> Any:
        return self.case.driver.create_volume_from_snapshot(
            self.volume, self.snapshot
        )


class CloneAndFlattenSnapshot(CloneFromSnapshot):
    """The same, flattened because of an option of the back end."""

    def prepare(self) -> None:
        super().prepare()
        self.case.override_backend('rbd_flatten_volume_from_snapshot', True)


class CloneVolume(Path):
    """A clone of a volume, larger than the volume."""

    size = 2

    def prepare(self) -> None:
        self.source = self.case.made_volume()

    def make(self) -> Any:
        return self.case.driver.create_cloned_volume(self.volume, self.source)


class CloneAndFlattenVolume(CloneVolume):
    """The same, flattened because the clone chain would be too long."""

    def prepare(self) -> None:
        super().prepare()
        first, self.source = self.source, self.case.new_volume()
        self.case.driver.create_cloned_volume(self.source, first)
        self.case.override_backend('rbd_max_clone_depth', 1)


class FullCopy(CloneVolume):
    """A full copy of a volume, with clones disabled."""

    def prepare(self) -> None:
        super().prepare()
        self.case.override_backend('rbd_max_clone_depth', 0)


class CloneGlanceImage(Path):
    """A clone of the RBD image behind a Glance image."""

    def prepare(self) -> None:
        self.location = self.case.glance_image()

    def make(self) -> Any:
        return self.case.driver.clone_image(
            self.case.context,
            self.volume,
            self.location,
            {'disk_format': 'raw'},
            None,
        )


class ImportGlanceImage(Path):
    """``rbd import`` of a Glance image, which replaces the volume's image."""

    def begin(self) -> None:
        self.case.driver.create_volume(self.volume)
        self.case.glance_download()

    def make(self) -> Any:
        self.case.driver.copy_image_to_volume(
            self.case.context, self.volume, None, 'image'
        )


ALL: tuple[type[Path], ...] = (
    Create,
    CreateEncrypted,
    CloneFromSnapshot,
    CloneAndFlattenSnapshot,
    CloneVolume,
    CloneAndFlattenVolume,
    FullCopy,
    CloneGlanceImage,
    ImportGlanceImage,
)
