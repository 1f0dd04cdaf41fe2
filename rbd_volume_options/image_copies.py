# SPDX-License-Identifier: Apache-2.0

"""What keeps an open RBD image from being copied; what its copy must have."""

from collections.abc import Iterator
import contextlib
import errno
from typing import Any

from rbd_volume_options import bindings

# The namespace of user snapshots, and the pool id that librbd returns for an
# image without a group.
_USER = 0
_NO_POOL = -1

MIGRATING = 'the RBD image is being migrated by another program'
SNAPSHOTS = (
    'the RBD image has snapshots of a group, or deleted snapshots that clones '
    'require'
)
CLONES = 'the RBD image has clones; flatten or delete them first'
GROUP = 'the RBD image belongs to a group'
MIRRORED = 'the RBD image is mirrored'
IN_USE = 'a client has the RBD image open; detach the volume first'


def obstacle_of(image: bindings.Image, librbd: Any) -> str | None:
    """Return why an open image cannot be copied; None if it can.

    :param image: opened for reading, so that it has no watcher itself
    :param librbd: the module ``rbd``
    """
    if image.features() & librbd.RBD_FEATURE_MIGRATING:
        return MIGRATING
    if list(image.watchers_list()):
        return IN_USE
    snapshots = list(image.list_snaps())
    if any(each.get('namespace', _USER) != _USER for each in snapshots):
        return SNAPSHOTS
    if image.group()['pool'] != _NO_POOL:
        return GROUP
    mirrored = image.mirror_image_get_info()['state']
    if mirrored != librbd.RBD_MIRROR_IMAGE_DISABLED:
        return MIRRORED
    with at_each(image) as states:
        if any(list(image.list_children2()) for _ in states):
            return CLONES
    return None


@contextlib.contextmanager
def at_each(image: bindings.Image) -> Iterator[Iterator[str | None]]:
    """Set an image to each of its snapshots, and then to its head."""

    def states() -> Iterator[str | None]:
        for each in list(image.list_snaps()):
            image.set_snap(each['name'])
            yield each['name']
        image.set_snap(None)
        yield None

    try:
        yield states()
    finally:
        image.set_snap(None)


def metadata_of(image: bindings.Image) -> list[tuple[str, str]]:
    """Return the metadata of an image, to compare it with another one."""
    return sorted(image.metadata_list())


def states_of(
    image: bindings.Image, without_parent: bool = False
) -> list[tuple[Any, ...]]:
    """Return the facts about the snapshots and the head.

    :param without_parent: return those of a copy without parent
    """
    with at_each(image) as states:
        return [
            (
                state,
                image.size(),
                bool(state and image.is_protected_snap(state)),
                None if without_parent else _parent(image),
                0 if without_parent else image.overlap(),
            )
            for state in states
        ]


def _parent(image: bindings.Image) -> object:
    try:
        return image.get_parent_image_spec()
    except Exception as error:
        if getattr(error, 'errno', None) == errno.ENOENT:
            return None
        raise
