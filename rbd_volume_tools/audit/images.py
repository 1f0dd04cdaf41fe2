# SPDX-License-Identifier: Apache-2.0

"""Facts about an image, which is opened once to read them."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import enum
import functools
import sys
import types
from typing import Any

from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import ownership
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import use

#: Prefix of the image metadata that overrides Ceph's configuration.
OVERRIDE = 'conf_'


class MapState(enum.Enum):
    """State of the object map of an image or a snapshot."""

    VALID = 'valid'
    #: librbd ignores the map until it is rebuilt.
    INVALID = 'invalid'
    NONE = 'none'


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of an image.

    :ivar namespace: ``user``, ``group``, ``trash`` or ``mirror``
    :ivar size: in bytes
    :ivar map_state: state of its object map
    :ivar children: names of its clones, with their pools
    :ivar taken: when it was taken, with the details of its image
    """

    name: str
    namespace: str
    size: int
    map_state: MapState
    children: tuple[str, ...] = ()
    taken: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Details:
    """What an audit of all images does not need.

    :ivar clients: those that use the image
    :ivar group: the group of images that it is in; empty for none
    :ivar is_mirrored: whether it is mirrored to another cluster
    :ivar signs: its creation, its last write and its last access
    """

    clients: use.Use = dataclasses.field(default_factory=use.Use)
    group: str = ''
    is_mirrored: bool = False
    signs: tuple[datetime.datetime, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """An image that could be opened.

    :ivar pool: Ceph pool of the header
    :ivar size: in bytes
    :ivar data_pool: Ceph pool of the data; empty if it is :ivar:`pool`
    :ivar map_state: state of the head's object map
    :ivar parent: ``pool/image@snapshot``; empty if it is not a clone
    :ivar overrides: Ceph's options in the image metadata, without the prefix
    :ivar migrating: whether a migration of librbd is not committed yet
    :ivar used: bytes that the image and its snapshots use; None if unknown or
        not requested
    :ivar owner: id of the cloud in its valid mark; empty without a mark
    :ivar stale_lock: the client that holds its lock and does not watch it, and
        until when it is blocklisted
    :ivar modified: the time of the last write, of images of Glance only
    :ivar details: None unless they were requested
    """

    pool: str
    name: str
    ident: str
    size: int
    image_layout: layout.ImageLayout
    image_features: features.Features
    map_state: MapState
    data_pool: str = ''
    parent: str = ''
    snapshots: tuple[Snapshot, ...] = ()
    overrides: Mapping[str, str] = dataclasses.field(default_factory=dict)
    migrating: bool = False
    used: int | None = None
    owner: str = ''
    stale_lock: str = ''
    modified: datetime.datetime | None = None
    details: Details | None = None

    @property
    def objects(self) -> int:
        """Number of objects that the image can have."""
        return self.image_layout.object_count(self.size)


def read(
    librbd: Any,
    ioctx: Any,
    pool: str,
    name: str,
    pool_name: Callable[[int], str],
    with_usage: bool = False,
    blocklist: Mapping[str, str] = types.MappingProxyType({}),
    ident: str = '',
    ours: Iterable[str] | None = None,
) -> Image:
    """Open an image for reading and return the facts about it.

    :param librbd: the module ``rbd``
    :param pool_name: returns the name of a pool by its id
    :param with_usage: whether to read the used space, too
    :param blocklist: addresses of clients that Ceph has blocked, and until
        when
    :param ident: librbd's id, of an image that is in the trash
    :param ours: names of the clients of earlier, killed runs, which do not
        count; None for an image without details
    :raises rbd.Error: if it cannot be opened
    """
    which = {'image_id': ident} if ident else {'name': name}
    with librbd.Image(ioctx, read_only=True, **which) as image:
        mask = image.features()
        stat = image.stat()
        has = _features(mask)
        data_pool = ''
        if features.DATA_POOL in has:
            data_pool = pool_name(image.data_pool_id())
        snapshots = tuple(_snapshots(librbd, image, has, ours is not None))
        used = None
        if with_usage:
            names_of = [s.name for s in snapshots if s.namespace == 'user']
            used = used_bytes(librbd, image, names_of)
        metadata = dict(image.metadata_list())
        own_id = image.id()
        clients = use.of_image(image)
        if clients.stale_owner:
            # A client may have opened the image between the two requests.
            clients = use.of_image(image)
        return Image(
            pool,
            name,
            own_id,
            stat['size'],
            _layout(
                stat['obj_size'], image.stripe_unit(), image.stripe_count()
            ),
            has,
            _map_state(librbd, has, image.flags()),
            data_pool,
            _parent(librbd, image),
            snapshots,
            overrides_in(metadata) or _NOTHING,
            bool(mask & librbd.RBD_FEATURE_MIGRATING),
            used,
            sys.intern(
                ownership.owner_of(metadata, ioctx.get_pool_id(), own_id)
            ),
            _blocked(clients.stale_owner, blocklist),
            _modified(image, name),
            None if ours is None else _details(librbd, image, frozenset(ours)),
        )


def _details(librbd: Any, image: Any, ours: frozenset[str]) -> Details:
    return Details(
        use.of_image(image, ours),
        image.group()['name'],
        image.mirror_image_get_info()['state']
        != librbd.RBD_MIRROR_IMAGE_DISABLED,
        (
            utc(image.create_timestamp()),
            latest(image.modify_timestamp()),
            latest(image.access_timestamp()),
        ),
    )


def copied_disks(scanned: Iterable[Image]) -> frozenset[str]:
    """Return the names of the disks of servers that several pools have.

    Nova does not tell which of them is the disk, and which is a copy.
    """
    numbers = collections.Counter(
        image.name
        for image in scanned
        if names.of_image(image.name).owner is names.Owner.SERVER_DISK
    )
    return frozenset(name for name, number in numbers.items() if number > 1)


def used_bytes(
    librbd: Any, image: Any, snapshots: Iterable[str]
) -> int | None:
    """Return the bytes of the objects of an image and its snapshots.

    The result is that of ``rbd du``: objects that are written in part count in
    full, and the objects of a parent do not count. With a valid fast-diff map,
    librbd reads one object of the map for the image and for each snapshot.
    Without one, it would query each object of the image.

    :param librbd: the module ``rbd``
    :param image: open, and not set to a snapshot
    :param snapshots: names of the snapshots in the namespace ``user``, the
        oldest first
    :returns: None unless the image and each snapshot have a valid fast-diff
        map, and if a snapshot is deleted meanwhile
    :raises rbd.Error: if librbd cannot read a map
    """
    if not image.features() & librbd.RBD_FEATURE_FAST_DIFF:
        return None
    lengths: list[int] = []

    def add(offset: int, length: int, exists: bool) -> None:
        if exists:
            lengths.append(length)

    before = None
    try:
        for name in (*snapshots, None):
            image.set_snap(name)
            if image.flags() & librbd.RBD_FLAG_FAST_DIFF_INVALID:
                return None
            image.diff_iterate(
                *(0, image.size(), before, add),
                include_parent=False,
                whole_object=True,
            )
            before = name
    except librbd.ImageNotFound:
        # A snapshot was deleted since it was listed.
        return None
    finally:
        image.set_snap(None)
    return sum(lengths)


def _modified(image: Any, name: str) -> datetime.datetime | None:
    if names.of_image(name).owner is not names.Owner.GLANCE_IMAGE:
        return None
    return latest(image.modify_timestamp())


def utc(time: datetime.datetime) -> datetime.datetime:
    """Return a time of librbd with its zone."""
    return time.replace(tzinfo=datetime.timezone.utc)


def latest(time: datetime.datetime) -> datetime.datetime:
    """Return the time of a write or an access with its zone.

    Ceph's binding returns it as local time, unlike all other times of an
    image, and that of newer releases in UTC. Without a zone, it is the later
    of both.
    """
    if time.tzinfo:
        return time
    return max(utc(time), time.astimezone(datetime.timezone.utc))


def _blocked(address: str, blocklist: Mapping[str, str]) -> str:
    """Return an address, and until when Ceph has blocked it."""
    until = blocklist.get(address)
    return f'{address}, blocked until {until}' if until else address


# Images of the same kind share these, which saves memory.
_NOTHING: Mapping[str, str] = {}
_features = functools.lru_cache(features.from_mask)
_layout = functools.lru_cache(layout.ImageLayout.from_numbers)


def _map_state(librbd: Any, has: features.Features, flags: int) -> MapState:
    if features.OBJECT_MAP not in has:
        return MapState.NONE
    invalid = flags & librbd.RBD_FLAG_OBJECT_MAP_INVALID
    return MapState.INVALID if invalid else MapState.VALID


def _parent(librbd: Any, image: Any) -> str:
    try:
        pool, name, snapshot = image.parent_info()
    except librbd.ImageNotFound:
        return ''
    return f'{pool}/{name}@{snapshot}'


def overrides_in(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return Ceph's options in the metadata of an image."""
    return {
        key.removeprefix(OVERRIDE): value
        for key, value in metadata.items()
        if key.startswith(OVERRIDE)
    }


def _snapshots(
    librbd: Any, image: Any, has: features.Features, with_times: bool
) -> Iterator[Snapshot]:
    namespaces = {
        librbd.RBD_SNAP_NAMESPACE_TYPE_USER: 'user',
        librbd.RBD_SNAP_NAMESPACE_TYPE_GROUP: 'group',
        librbd.RBD_SNAP_NAMESPACE_TYPE_TRASH: 'trash',
        librbd.RBD_SNAP_NAMESPACE_TYPE_MIRROR: 'mirror',
    }
    for each in list(image.list_snaps()):
        with at(image, each['id']):
            yield Snapshot(
                each['name'],
                namespaces.get(each['namespace'], 'unknown'),
                each['size'],
                _map_state(librbd, has, image.flags()),
                tuple(
                    f'{child["pool"]}/{child["image"]}'
                    for child in image.list_children2()
                ),
                utc(image.get_snap_timestamp(each['id']))
                if with_times
                else None,
            )


@contextlib.contextmanager
def at(image: Any, snapshot: int) -> Iterator[None]:
    """Set an image to a snapshot; by its id, as only some have a name."""
    image.set_snap_by_id(snapshot)
    try:
        yield
    finally:
        image.set_snap(None)
