# SPDX-License-Identifier: Apache-2.0

"""RBD images of the fake cluster, with the rules of librbd."""

import dataclasses
import datetime
import errno
import itertools
from typing import Any

from tests.fakes import fake_rados

LAYERING, STRIPING, LOCK, OBJECT_MAP, FAST_DIFF, DEEP_FLATTEN = (
    1 << bit for bit in range(6)
)
JOURNALING, DATA_POOL, OPERATIONS = 1 << 6, 1 << 7, 1 << 8
MIGRATING = 1 << 9
_KNOWN = (1 << 12) - 1
_CHOSEN = LAYERING | LOCK | OBJECT_MAP | FAST_DIFF | DEEP_FLATTEN | JOURNALING
_MUTABLE = LOCK | OBJECT_MAP | FAST_DIFF | JOURNALING
_MAP = OBJECT_MAP | FAST_DIFF
MAP_INVALID = 3
MAX_MAP_OBJECTS = 256_000_000
DEFAULT_ORDER = 22


class Error(Exception):
    """Base class of the errors of librbd."""


class OSError(Error):
    """An error with an error number."""

    errno: int | None = None
    text = 'RBD error'

    def __init__(self, doing: str = '') -> None:
        super().__init__(f'[errno {self.errno}] {self.text} ({doing})')


class ImageNotFound(OSError):
    """The image or snapshot does not exist."""

    errno = errno.ENOENT
    text = 'RBD image not found'


class ImageExists(OSError):
    """The image or snapshot already exists."""

    errno = errno.EEXIST
    text = 'RBD image already exists'


class ImageBusy(OSError):
    """The image is open elsewhere, or the snapshot is protected."""

    errno = errno.EBUSY
    text = 'RBD image is busy'


class PermissionError(OSError):
    """The user may not write to the pool."""

    errno = errno.EPERM


class Timeout(OSError):
    """A client that has the image open did not answer."""

    errno = errno.ETIMEDOUT
    text = 'RBD operation timeout'


class ImageHasSnapshots(OSError):
    """The image has snapshots, which may be in the trash."""

    errno = errno.ENOTEMPTY
    text = 'RBD image has snapshots'


class InvalidArgument(OSError):
    """An argument is invalid."""

    errno = errno.EINVAL
    text = 'RBD invalid argument'


class ArgumentOutOfRange(OSError):
    """The order is out of range."""

    errno = errno.EDOM
    text = 'RBD arguments out of range'


class FunctionNotSupported(OSError):
    """librbd does not know the feature, or the image lacks it."""

    errno = errno.ENOSYS
    text = 'RBD function not supported'


class ReadOnlyImage(OSError):
    """The image is open read-only."""

    errno = errno.EROFS
    text = 'RBD read-only image'


_idents = itertools.count(1)


def _new_ident() -> str:
    return f'{next(_idents):012x}'


@dataclasses.dataclass(eq=False)
class StoredSnapshot:
    """A snapshot; moved to the trash if it is removed while it has clones."""

    number: int
    name: str
    size: int
    flags: int
    protected: bool = False
    original_name: str | None = None
    children: list['StoredImage'] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class StoredImage:
    """An RBD image as it is stored.

    :ivar mask: the features except ``operations``, which depends on clones
    :ivar data_pool: the number of the data pool; None without a separate one
    :ivar flags: 3 while the object map is invalid
    :ivar start: the data that was written last, at the start of the image
    :ivar modified: the time of that, in seconds
    :ivar moved_at: the time of its move to the trash
    :ivar kept_until: the end of its delay there
    """

    name: str
    size: int
    order: int
    unit: int
    count: int
    mask: int
    data_pool: int | None
    metadata: dict[str, str]
    flags: int = 0
    moved_at: datetime.datetime = datetime.datetime(2000, 1, 1)
    kept_until: datetime.datetime = datetime.datetime(2000, 1, 1)
    snapshots: list[StoredSnapshot] = dataclasses.field(default_factory=list)
    parent: tuple[str, 'StoredImage', StoredSnapshot] | None = None
    ident: str = dataclasses.field(default_factory=_new_ident)
    group: str | None = None
    start: bytes = b''
    modified: int = 0

    @property
    def features(self) -> int:
        """The features as reported by librbd."""
        linked = self.parent or any(s.children for s in self.snapshots)
        return self.mask | (OPERATIONS if linked else 0)

    def snapshot(self, name: str) -> StoredSnapshot:
        """Return a snapshot that is not in the trash."""
        for snapshot in self.snapshots:
            if snapshot.name == name and snapshot.original_name is None:
                return snapshot
        raise ImageNotFound(f'{self.name}@{name}')

    def detach(self) -> None:
        """Detach from the parent; delete a trashed snapshot without clones."""
        if self.parent is None:
            return
        _, image, snapshot = self.parent
        snapshot.children.remove(self)
        if snapshot.original_name and not snapshot.children:
            image.snapshots.remove(snapshot)
        self.parent = None


def make(
    name: str,
    size: int,
    options: dict[str, Any],
    inherited: tuple[int, int, int],
    data_pool: int | None,
) -> StoredImage:
    """Return a new image, or raise the error that librbd raises.

    :param options: order, stripe_unit, stripe_count and features; None or 0
        if not requested
    :param inherited: the default order, stripe unit and stripe count; 0 for
        the default of librbd
    """
    order = options.get('order') or inherited[0] or DEFAULT_ORDER
    if not 12 <= order <= 25:
        raise ArgumentOutOfRange('error creating image')
    unit, count = (
        options.get('stripe_unit') or 0,
        options.get('stripe_count') or 0,
    )
    if bool(unit) != bool(count):
        raise InvalidArgument('both or neither of unit and count')
    if not unit:
        unit, count = inherited[1:]
    unit, count = unit or 1 << order, count or 1
    if unit < 512 or unit > 1 << order or (1 << order) % unit:
        raise InvalidArgument('stripe unit is not a factor of the object size')
    mask = new_mask(options['features'])
    if (unit, count) != (1 << order, 1):
        mask |= STRIPING
    if data_pool is not None:
        mask |= DATA_POOL
    image = StoredImage(
        name, size, order, unit, count, mask, data_pool, metadata={}
    )
    check_map_size(image, size)
    return image


def data_pool_number(ioctx: fake_rados.Ioctx, name: str | None) -> int | None:
    """Return the number of a data pool; None for the image's own pool."""
    if name is None or name == ioctx.pool.name:
        return None
    pools = ioctx.client.cluster.pools
    if name not in pools:
        raise ImageNotFound(f'no pool {name}')
    return pools[name].number


def new_mask(features: int) -> int:
    """Return the features of a new image for the requested features."""
    if features & ~_KNOWN:
        raise FunctionNotSupported('unknown features')
    mask = features & _CHOSEN
    if mask & (OBJECT_MAP | JOURNALING) and not mask & LOCK:
        raise InvalidArgument('cannot be used without exclusive lock')
    if mask & OBJECT_MAP:
        return mask | FAST_DIFF
    return mask & ~FAST_DIFF


def check_map_size(image: StoredImage, size: int) -> None:
    """Check that the object map is not too large."""
    objects = -(-size >> image.order)
    if image.mask & OBJECT_MAP and objects > MAX_MAP_OBJECTS:
        raise InvalidArgument('image size not compatible with object map')


def update_features(image: StoredImage, mask: int, enable: bool) -> None:
    """Enable or disable features, or raise the error that librbd raises."""
    allowed = _MUTABLE if enable else _MUTABLE | DEEP_FLATTEN
    enabled = image.mask & mask
    if not mask or mask & ~allowed or enabled != (0 if enable else mask):
        raise InvalidArgument('error updating features')
    if mask & _MAP:
        # object-map and fast-diff always change together.
        mask |= _MAP
    after = image.mask | mask if enable else image.mask & ~mask
    if after & (OBJECT_MAP | JOURNALING) and not after & LOCK:
        raise InvalidArgument('cannot be used without exclusive lock')
    image.mask = after
    if mask & _MAP:
        image.flags = MAP_INVALID if enable else 0
        for snapshot in image.snapshots:
            snapshot.flags = image.flags
