# SPDX-License-Identifier: Apache-2.0

"""Paths on which Cinder's manager creates RBD images, one class for each.

They run on real Ceph, and on the fake cluster of the unit tests.
"""

from typing import Any


class Path:
    """A way to create a volume.

    :ivar volume: the volume, whose image does not exist yet
    :cvar size: the size of the volume in GiB; its source has 1 GiB
    :cvar inherits: whether unset values are inherited from another volume
    :param case: a test case with the driver and the cluster
    :param source_metadata: metadata of the volume that it inherits from
    """

    size = 1
    inherits = False

    def __init__(
        self,
        case: Any,
        driver: Any = None,
        source_metadata: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.case = case
        self.driver = driver or case.driver
        self.source_metadata = source_metadata
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
        """Call the driver to create the image; return its model update."""
        raise NotImplementedError

    def set_option(self, name: str, value: Any) -> None:
        """Set an option of the back end."""
        group = self.driver.configuration.config_group
        self.case.override_config(name, value, group=group)


class Create(Path):
    """A new, empty volume."""

    def make(self) -> Any:
        return self.driver.create_volume(self.volume)


class CreateEncrypted(Create):
    """A LUKS header, created by qemu-img and imported by ``rbd import``."""

    def new_volume(self, **kwargs: Any) -> Any:
        return self.case.encrypted_volume(**kwargs)


class _FromVolume(Path):
    size = 2
    inherits = True

    def prepare(self) -> None:
        self.source = self.case.made_volume(self.source_metadata)
        self.case.fill(self.source.name)


class CloneFromSnapshot(_FromVolume):
    """A clone of a snapshot, larger than the snapshot."""

    def prepare(self) -> None:
        super().prepare()
        self.snapshot = self.case.new_snapshot(self.source)

    def make(self) -> Any:
        return self.driver.create_volume_from_snapshot(
            self.volume, self.snapshot
        )


class CloneAndFlattenSnapshot(CloneFromSnapshot):
    """The same, flattened because of an option of the back end."""

    def prepare(self) -> None:
        super().prepare()
        self.set_option('rbd_flatten_volume_from_snapshot', True)


class CloneVolume(_FromVolume):
    """A clone of a volume, larger than the volume."""

    def make(self) -> Any:
        return self.driver.create_cloned_volume(self.volume, self.source)


class CloneAndFlattenVolume(CloneVolume):
    """The same, flattened because the clone chain would be too long."""

    def prepare(self) -> None:
        super().prepare()
        first = self.source
        self.source = self.case.new_volume(self.source_metadata)
        self.driver.create_cloned_volume(self.source, first)
        self.set_option('rbd_max_clone_depth', 1)


class FullCopy(CloneVolume):
    """A full copy of a volume, with clones disabled."""

    def prepare(self) -> None:
        super().prepare()
        self.set_option('rbd_max_clone_depth', 0)


class CloneGlanceImage(Path):
    """A clone of the RBD image behind a raw Glance image."""

    def prepare(self) -> None:
        self.location = self.case.glance_image()

    def make(self) -> Any:
        update, cloned = self.driver.clone_image(
            self.case.context,
            self.volume,
            self.location,
            {'id': 'image', 'disk_format': 'raw'},
            None,
        )
        self.case.assertTrue(cloned)
        return update


class ImportGlanceImage(Path):
    """``rbd import`` of a Glance image, which replaces the volume's image.

    :ivar service: the image service from which it is downloaded
    """

    disk_format = 'raw'

    def prepare(self) -> None:
        self.service = self.case.glance_download(self.disk_format)

    def begin(self) -> None:
        """Create the volume, unless it is the step that fails."""
        self.case.update(self.volume, self.driver.create_volume(self.volume))

    def make(self) -> Any:
        self.driver.copy_image_to_volume(
            self.case.context, self.volume, self.service, 'image'
        )


class ImportQcow2(ImportGlanceImage):
    """The same of an image that has to be converted."""

    disk_format = 'qcow2'


class ImportToEncrypted(CreateEncrypted, ImportGlanceImage):
    """A Glance image that is encrypted during the import."""

    def begin(self) -> None:
        """Leave the creation to :meth:`make`."""

    def make(self) -> Any:
        self.case.update(self.volume, super().make())
        self.driver.copy_image_to_encrypted_volume(
            self.case.context, self.volume, self.service, 'image'
        )


#: The paths that need no program, or a fake one.
ALL: tuple[type[Path], ...] = (
    Create,
    CloneVolume,
    CloneGlanceImage,
    CloneFromSnapshot,
    CloneAndFlattenVolume,
    CloneAndFlattenSnapshot,
    FullCopy,
    ImportGlanceImage,
    CreateEncrypted,
)
#: Those with real programs; each of the last two takes as long as all others.
WITH_PROGRAMS = (*ALL[:-1], ImportQcow2, CreateEncrypted, ImportToEncrypted)
