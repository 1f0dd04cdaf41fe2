# SPDX-License-Identifier: Apache-2.0

"""State, changes, copies and removal of an RBD image, which is open."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import errno
import math
from typing import Any

from rbd_volume_options import bindings
from rbd_volume_options import features
from rbd_volume_options import image_configuration
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import sizes

#: Suffixes of Cinder: of a clone's name for the snapshot of its source, and of
#: the name of a source that was deleted before its clones.
CLONE_SNAPSHOT = '.clone_snap'
DELETED_SOURCE = '.deleted'

#: Number of objects from which on a removal is slow: one of 64 GiB with
#: objects of 4 MiB takes two to four seconds.
MANY = 16384
#: Number of places in an image where its use is checked.
SAMPLES = 32
#: Below this number of objects, a removal takes less than a second.
FEWEST_OBJECTS = 1024

_MAP_INVALID = 1

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
LOST_PARENT = (
    'snapshots of the RBD image have a parent that the image no longer has; '
    'delete them first'
)
IN_USE = 'a client has the RBD image open; detach the volume first'


class _Enough(Exception):
    """More objects need not be counted."""


def state_of(
    image: bindings.Image, pool_name: Callable[[int], str] | None = None
) -> options.Values:
    """Return an image's layout, features, data pool and configuration.

    :param pool_name: returns the name of a pool by its id; None if the data
        pool does not matter
    """
    object_size = image.stat()['obj_size']
    mask = image.features()
    data_pool = None
    if pool_name and features.DATA_POOL in features.from_mask(mask):
        data_pool = pool_name(image.data_pool_id())
    return options.image_values(
        layout.ImageLayout.from_numbers(
            object_size, image.stripe_unit(), image.stripe_count()
        ),
        features.from_mask(mask),
        data_pool,
        image_configuration.read_configuration(image),
    )


def set_features(
    image: bindings.Image, wanted: features.Features, enabled: bool
) -> features.Features:
    """Enable or disable features, and return those that were changed."""
    mask = update_features(image, features.to_mask(wanted), enabled)
    return features.from_mask(mask)


def update_features(image: bindings.Image, mask: int, enabled: bool) -> int:
    """Enable or disable those features of which the image has the opposite.

    librbd refuses the others. It disables journaling itself with mirroring.

    :param mask: the features, as bits; those that were changed are returned
    """
    has = image.features()
    differing = mask & (~has if enabled else has)
    if differing:
        image.update_features(differing, enabled)
    return differing


def snapshot_names(image: bindings.Image) -> list[str]:
    """Return the names of the snapshots that can be opened by name.

    Snapshots of groups, and removed ones that had clones, have none.
    """
    return [
        snapshot['name']
        for snapshot in image.list_snaps()
        if snapshot.get('namespace', _USER) == _USER
    ]


def remove_snapshot(image: bindings.Image, name: str) -> None:
    """Remove a snapshot, which may be protected."""
    if image.is_protected_snap(name):
        image.unprotect_snap(name)
    image.remove_snap(name)


def rebuild_object_maps(
    image: bindings.Image, open_snapshot: Callable[[str], Any]
) -> int:
    """Make the object maps valid; return the number of rebuilt ones.

    After the feature is enabled, they are invalid. librbd rebuilds those of
    the head and of each snapshot, opened by ``open_snapshot``, separately.
    """
    if features.OBJECT_MAP not in features.from_mask(image.features()):
        return 0
    rebuilt = 0
    if image.flags():
        image.rebuild_object_map()
        rebuilt += 1
    for name in snapshot_names(image):
        with open_snapshot(name) as at_snapshot:
            if at_snapshot.flags():
                at_snapshot.rebuild_object_map()
                rebuilt += 1
    return rebuilt


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
    if any(
        snapshot.get('namespace', _USER) != _USER for snapshot in snapshots
    ):
        return SNAPSHOTS
    if image.group()['pool'] != _NO_POOL:
        return GROUP
    mirrored = image.mirror_image_get_info()['state']
    if mirrored != librbd.RBD_MIRROR_IMAGE_DISABLED:
        return MIRRORED
    with at_each(image) as states:
        if any(list(image.list_children2()) for _ in states):
            return CLONES
    # A clone without deep-flatten that was flattened: ``rbd deep cp`` of Ceph
    # 16.2.15 fails with some of these, and copied a snapshot of one wrongly.
    *parents, parent = (state[3] for state in states_of(image))
    if parent is None and any(parents):
        return LOST_PARENT
    return None


def clients_of(image: bindings.Image, librbd: Any, own: int = 0) -> list[str]:
    """Return the addresses of the clients that may write to an image.

    rbd-mirror watches a mirrored image, too, and never locks a primary one.
    One is therefore used by a client that has the exclusive lock.

    :param own: number of watches of this client; without other clients, the
        list is empty
    """
    watchers = [watcher['addr'] for watcher in image.watchers_list()]
    if len(watchers) <= own:
        return []
    mirrored = image.mirror_image_get_info()['state']
    if mirrored == librbd.RBD_MIRROR_IMAGE_DISABLED:
        return watchers
    if image.is_exclusive_lock_owner():
        return []
    locks = image.list_lockers() or {'lockers': []}
    return [address for *_, address in locks['lockers']]


@contextlib.contextmanager
def at(image: bindings.Image, snapshot: str | None) -> Iterator[None]:
    """Set an image to a snapshot, if one is named, and then to its head."""
    if snapshot is None:
        yield
        return
    image.set_snap(snapshot)
    try:
        yield
    finally:
        image.set_snap(None)


@contextlib.contextmanager
def at_each(image: bindings.Image) -> Iterator[Iterator[str | None]]:
    """Set an image to each of its snapshots, and then to its head."""

    def states() -> Iterator[str | None]:
        for snapshot in list(image.list_snaps()):
            image.set_snap(snapshot['name'])
            yield snapshot['name']
        image.set_snap(None)
        yield None

    try:
        yield states()
    finally:
        image.set_snap(None)


def metadata_of(image: bindings.Image) -> list[tuple[str, str]]:
    """Return the metadata of an image, to compare it with another one."""
    return sorted(image.metadata_list())


def fingerprint_of(image: bindings.Image) -> tuple[Any, ...]:
    """Return what shows that an image was changed."""
    return (
        image.id(),
        image.size(),
        image.modify_timestamp(),
        [
            (snapshot['id'], snapshot['name'])
            for snapshot in image.list_snaps()
        ],
        metadata_of(image),
    )


def difference_of(
    image: bindings.Image, copy: bindings.Image, is_flat: bool
) -> str | None:
    """Return what differs between an image and its copy, except the data.

    :param is_flat: whether the copy has no parent, unlike the image
    """
    for what, of_image, of_copy in (
        ('size', image.size(), copy.size()),
        ('image metadata', metadata_of(image), metadata_of(copy)),
        ('snapshots', states_of(image, is_flat), states_of(copy)),
    ):
        if of_image != of_copy:
            return (
                f'The {what} of the copy differs: {of_copy} instead of '
                f'{of_image}'
            )
    return None


def has_invalid_map(image: bindings.Image) -> bool:
    """Return whether an object map of an image or a snapshot is invalid."""
    with at_each(image) as states:
        return any(image.flags() & _MAP_INVALID for _ in states)


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


def has_room_for_header(image: bindings.Image, size: int) -> bool:
    """Return whether an image is larger than its volume by a LUKS header.

    Cinder imports the data of an encrypted volume with the header. If the
    image got the size of the volume, the end of the data would be cut off.

    :param size: of the volume, in bytes
    """
    return 0 < image.size() - size < sizes.GIB


def has_data_beyond(image: bindings.Image, size: int) -> bool:
    """Return whether an image has data beyond the size of its volume.

    That of an encrypted volume has, as the data come after a LUKS header.

    :param size: of the volume, in GiB
    """
    beyond: list[int] = []
    end = size * sizes.GIB
    length = image.size() - end
    if length > 0:
        image.diff_iterate(
            end, length, None, lambda offset, *_: beyond.append(offset)
        )
    return bool(beyond)


def is_slow_to_remove(image: bindings.Image) -> bool:
    """Return whether the removal of an open image removes many objects.

    Without a valid object map, librbd tries each object that might exist.
    """
    stat = image.stat()
    if stat['num_objs'] < MANY:
        return False
    enabled = features.from_mask(image.features())
    if image.flags() or features.MAP_OFF - enabled:
        return True
    objects = 0

    def count(offset: int, length: int, exists: bool) -> None:
        nonlocal objects
        # Adjacent objects may be reported together.
        objects += math.ceil(length / stat['obj_size'])
        if objects >= MANY:
            raise _Enough

    try:
        # This reads the object map and none of the objects.
        image.diff_iterate(
            0,
            stat['size'],
            None,
            count,
            include_parent=False,
            whole_object=True,
        )
    except _Enough:
        return True
    return False


def used_samples(image: bindings.Image) -> int:
    """Return in how many of :data:`SAMPLES` places an open image has data."""
    stat = image.stat()
    used = 0
    for index in range(SAMPLES):
        offsets: list[int] = []
        image.diff_iterate(
            index * stat['size'] // SAMPLES,
            stat['obj_size'],
            None,
            lambda offset, *_, offsets=offsets: offsets.append(offset),
            include_parent=False,
        )
        used += bool(offsets)
    return used


def rebuild_map(image: bindings.Image) -> bool:
    """Rebuild an invalid object map if the removal is then faster.

    Without a valid map, librbd tries to remove each object that might exist. A
    rebuild looks at each, which takes about half as long.
    """
    if (
        not image.flags() & _MAP_INVALID
        or image.stat()['num_objs'] < FEWEST_OBJECTS
        or used_samples(image) >= SAMPLES // 2
    ):
        return False
    image.rebuild_object_map()
    return True
