# SPDX-License-Identifier: Apache-2.0

"""The images that an operator selects."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import functools

from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan


@dataclasses.dataclass(frozen=True)
class Target:
    """A selected image.

    :ivar volume: the volume that it belongs to, if any
    """

    image: images.Image
    volume: records.Volume | None = None


@dataclasses.dataclass(frozen=True)
class Selection:
    """A selection among the images that have a record in the cloud.

    :ivar volumes: ids of volumes
    :ivar types: names of volume types
    :ivar projects: IDs of projects; their volumes are selected
    :ivar all_volumes: whether all volumes are selected
    :ivar images: whether Glance images are selected
    :ivar servers: whether ephemeral disks are selected
    """

    volumes: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    all_volumes: bool = False
    images: bool = False
    servers: bool = False

    def of_name(
        self, known: records.Records, name: str
    ) -> tuple[bool, records.Volume | None]:
        """Return whether the image with a name is selected, and its volume."""
        parsed = names.of_image(name)
        if parsed.owner is names.Owner.VOLUME:
            volume = known.volumes.get(parsed.ident)
            return volume is not None and self._has(volume), volume
        if parsed.owner is names.Owner.GLANCE_IMAGE:
            idents = known.images or ()
            return self.images and parsed.ident in idents, None
        if parsed.owner is names.Owner.SERVER_DISK:
            idents = known.servers or ()
            return self.servers and parsed.ident in idents, None
        return False, None

    def missing(
        self, known: records.Records, image_names: Collection[str]
    ) -> list[str]:
        """Return the selected volumes without an image among those found."""
        existing = {
            each.ident
            for each in known.volumes.values()
            if each.image_name in image_names
        }
        return sorted(self.volumes - existing)

    def has_all(
        self, known: records.Records, scanned: Collection[tuple[str, str]]
    ) -> bool:
        """Return whether images were found for all that is selected.

        :param scanned: pool and name of each image

        What is in a pool that cannot be read does not matter then. This is
        known of volumes only. The pool of a back end that does not report,
        such as one whose service is down, may be one that cannot be read.
        """
        return not (self.images or self.servers) and all(
            (known.backends.get(each.pool), each.image_name) in scanned
            for each in known.volumes.values()
            if self._has(each)
            and each.must_have_image
            and each.pool not in known.elsewhere
        )

    def _has(self, volume: records.Volume) -> bool:
        if self.all_volumes:
            return True
        if not (self.volumes or self.types or self.projects):
            return False
        # Each option narrows the choice.
        return (
            (not self.volumes or volume.ident in self.volumes)
            and (not self.types or volume.volume_type in self.types)
            and (not self.projects or volume.project in self.projects)
        )


def targets(
    cluster: scan.Cluster,
    pools: Iterable[str],
    known: records.Records,
    chosen: Selection,
    progress: Callable[[str, int, int], None],
) -> tuple[list[Target], list[tuple[str, str, str]]]:
    """Read the selected images of pools.

    :returns: the images, sorted by pool and name, and the pool, the name and
        the reason for each image that could not be opened. The name is empty
        for a pool that the Ceph user may not read.
    :raises rados.Error: if a pool cannot be read
    """
    chosen_images: list[Target] = []
    unreadable: list[tuple[str, str, str]] = []
    for pool in dict.fromkeys(pools):
        scanned = cluster.scan(
            pool,
            functools.partial(progress, pool),
            wanted=lambda name: chosen.of_name(known, name)[0],
        )
        chosen_images += [
            Target(image, chosen.of_name(known, image.name)[1])
            for image in scanned.found
        ]
        unreadable += [
            (pool, name, why)
            for name, why in (
                {x.image: x.detail for x in scanned.unreadable.values()}
                | scanned.forbidden
            ).items()
        ]
    return chosen_images, unreadable
