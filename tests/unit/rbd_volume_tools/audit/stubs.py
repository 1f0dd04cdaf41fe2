# SPDX-License-Identifier: Apache-2.0

"""Stubs of librados and librbd for scans.

The functional tests run scans on a cluster; these stubs are for faults.
"""

from collections.abc import Iterator
import contextlib
import datetime
import errno
import itertools
import struct
from typing import Any

from rbd_volume_options import ownership
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import scan


class Error(Exception):
    """Base class of librbd's errors."""


class PermissionError(Error):
    """The user may not do this."""

    errno = errno.EPERM


class ImageNotFound(Error):
    """The image does not exist."""

    errno = errno.ENOENT


class ObjectNotFound(Error):
    """The pool does not exist."""


class OSError(Error):
    """An error with a number."""

    def __init__(self, text: str, errno: int) -> None:
        super().__init__(text)
        self.errno = errno


class Image:
    """An image of 8 MiB."""

    _answers: dict[str, Any] = {
        'features': 1,
        'flags': 0,
        'stat': {'size': 2**23, 'obj_size': 2**22},
        'id': 'abc',
        'stripe_unit': 2**22,
        'stripe_count': 1,
        # Without a zone.
        'modify_timestamp': datetime.datetime(2026, 1, 2),
        **dict.fromkeys(('list_children2', 'watchers_list'), ()),
        'list_lockers': [],
        **dict.fromkeys(('set_snap_by_id', 'set_snap', 'close')),
    }

    def __init__(self, pool: 'Pool', name: str) -> None:
        self._pool = pool
        if pool.errors.get(name):
            raise pool.errors[name]
        if name not in pool.images:
            raise ImageNotFound(name)

    def __enter__(self) -> 'Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        answer = self._answers[name]
        return lambda *args: answer

    def parent_info(self) -> None:
        """Raise the error for an image without a parent."""
        raise ImageNotFound

    def list_snaps(self) -> list[dict[str, Any]]:
        return [
            {'id': name, 'name': name, 'size': 2**23, 'namespace': 0}
            for name in self._pool.snapshots
        ]

    def metadata_list(self) -> list[tuple[str, str]]:
        return list(self._pool.metadata.items())


class Objects(dict[str, bytes]):
    """Objects by name."""

    def __missing__(self, key: str) -> bytes:
        raise ObjectNotFound(key)


class Pool:
    """A pool that stands in for the connection, the context and both modules.

    :ivar errors: the errors that opening an image raises
    :ivar metadata: that of each image
    :ivar snapshots: names of those of each image, after a scan
    """

    Error: type[Exception] = Error
    OSError = OSError
    ImageNotFound = ImageNotFound
    ObjectNotFound = ObjectNotFound
    RBD_FEATURE_MIGRATING = 1 << 9
    RBD_FLAG_OBJECT_MAP_INVALID = 1 << 0
    RBD_SNAP_NAMESPACE_TYPE_USER = 0
    RBD_SNAP_NAMESPACE_TYPE_GROUP = 1
    RBD_SNAP_NAMESPACE_TYPE_TRASH = 2
    RBD_SNAP_NAMESPACE_TYPE_MIRROR = 3

    def __init__(self, *images: str) -> None:
        self.images = list(images)
        self.snapshots: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.metadata = {'conf_rbd_cache': 'false', 'colour': 'blue'}
        self.omaps: dict[str, dict[str, bytes]] = {}
        self.objects = Objects()
        # An empty blocklist.
        self.mon_command: Any = lambda words, data: (0, b'', '')
        self.connections = 0
        self.refused = False
        self.forbidden: Exception | None = None
        self.options: dict[str, str] = {}
        self.is_full_try = False

    _answers: dict[str, Any] = {
        'close': None,
        'list_pools': ['volumes'],
        'application_list': ['rbd'],
        'pool_reverse_lookup': 'data',
        'get_last_version': 1,
        'get_fsid': 'fsid',
        'get_pool_id': 1,
    }

    def __getattr__(self, name: str) -> Any:
        if name not in self._answers:
            raise AttributeError(name)
        answer = self._answers[name]
        return lambda *args: answer

    def namespace_list(self, ioctx: Any) -> Iterator[str]:
        return iter(())

    def Rados(self, **kwargs: Any) -> 'Pool':
        self.connections += 1
        self.options = kwargs['conf']
        return self

    def RBD(self) -> 'Pool':
        return self

    def Image(self, ioctx: Any, *args: Any, name: str, **kwargs: Any) -> Image:
        return Image(self, name)

    def connect(self) -> None:
        if self.refused:
            self.connections -= 1
            raise Error('made to fail')

    def shutdown(self) -> None:
        self.connections -= 1

    def open_ioctx(self, pool: str) -> 'Pool':
        return self

    def set_osdmap_full_try(self) -> None:
        self.is_full_try = True

    def list(self, ioctx: Any) -> list[str]:
        """Return the images, including those that fail to open."""
        if self.forbidden:
            raise self.forbidden
        names = {*self.images, *self.errors}
        return sorted(names)

    @contextlib.contextmanager
    def ReadOpCtx(self) -> Iterator[dict[str, Any]]:
        yield {}

    def get_omap_vals(
        self, operation: dict[str, Any], after: str, prefix: str, most: int
    ) -> tuple[Iterator[tuple[str, bytes]], int]:
        """Return the items of an object, once the operation has run."""

        def items() -> Iterator[tuple[str, bytes]]:
            for key, value in sorted(self.omaps[operation['key']].items()):
                if key.startswith(prefix) and key > after:
                    yield key, value

        return itertools.islice(items(), most), 0

    def get_omap_vals_by_keys(
        self, operation: dict[str, Any], keys: tuple[str, ...]
    ) -> tuple[Iterator[tuple[str, bytes]], int]:
        """Return some items of an object, once the operation has run."""

        def items() -> Iterator[tuple[str, bytes]]:
            for key in keys:
                if key in self.omaps[operation['key']]:
                    yield key, self.omaps[operation['key']][key]

        return items(), 0

    def operate_read_op(self, operation: dict[str, Any], key: str) -> None:
        if key not in self.omaps:
            raise ObjectNotFound(key)
        operation['key'] = key

    def read(self, key: str) -> bytes:
        return self.objects[key]

    stat = read


def cluster(pool: Pool, timeout: int | None = None) -> scan.Cluster:
    """Return a cluster with a pool, read in this process."""
    stub = pool

    class Reader(reading.Reader):
        """Reads images in this process."""

        def read(self, pool: str, name: str, **how: Any) -> images.Image:
            """Read an image, as the process does."""
            try:
                return images.read(
                    stub, stub, pool, name, lambda number: 'data', **how
                )
            except Error as error:
                number = getattr(error, 'errno', None)
                raise reading.NotRead(str(error), number) from error

    return scan.Cluster(pool, pool, 'ceph.conf', 'me', timeout, Reader)


def trash_entry(name: str, source: int = 0, state: int | None = 0) -> bytes:
    """Return an entry of the trash as Ceph stores it.

    :param state: None for an entry of Luminous, which has none
    """
    content = bytes([source]) + ownership.encoded(name)
    content += struct.pack('<IIII', 1000, 0, 2000, 0)
    version = 1
    if state is not None:
        content, version = content + bytes([state]), 2
    return struct.pack('<BBI', version, 1, len(content)) + content


@contextlib.contextmanager
def no_connection_left(pool: Pool) -> Iterator[None]:
    """Check that all connections are shut down."""
    yield
    if pool.connections:
        raise AssertionError(f'{pool.connections} connections are left')
