#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Stubs of librados and librbd for scans.

The functional tests run scans on a cluster; these stubs are for faults.
"""

from collections.abc import Iterator
import contextlib
import datetime
import errno
from typing import Any

_TIME = datetime.datetime(2026, 1, 1)


class Error(Exception):
    """Base class of librbd's errors."""


class PermissionError(Error):
    """The user may not do this."""

    errno = errno.EPERM


class ImageNotFound(Error):
    """The image does not exist."""


class ObjectNotFound(Error):
    """The pool does not exist."""


class Image:
    """An image of 8 MiB without snapshots."""

    def __init__(self, pool: 'Pool', name: str) -> None:
        if pool.errors.get(name):
            raise pool.errors[name]
        if name not in pool.images:
            raise ImageNotFound(name)

    def __enter__(self) -> 'Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def close(self) -> None:
        """Close the image."""

    def features(self) -> int:
        """Return the feature mask."""
        return 1

    def flags(self) -> int:
        """Return the flags."""
        return 0

    def stat(self) -> dict[str, int]:
        """Return the sizes."""
        return {'size': 2**23, 'obj_size': 2**22}

    def id(self) -> str:
        """Return the ID."""
        return 'abc'

    def stripe_unit(self) -> int:
        """Return the stripe unit."""
        return 2**22

    def stripe_count(self) -> int:
        """Return the stripe count."""
        return 1

    def parent_info(self) -> None:
        """Raise the error for an image without a parent."""
        raise ImageNotFound

    def list_snaps(self) -> list[dict[str, Any]]:
        """Return no snapshots."""
        return []

    def metadata_list(self) -> list[tuple[str, str]]:
        """Return the image metadata."""
        return [('conf_rbd_cache', 'false'), ('colour', 'blue')]


class Pool:
    """A pool that stands in for the connection, the context and both modules.

    :ivar errors: the errors that opening an image raises
    """

    Error: type[Exception] = Error
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
        self.errors: dict[str, Exception] = {}
        self.trash: list[dict[str, Any] | Exception] = []
        self.connections = 0
        self.refused = False
        self.forbidden: Exception | None = None
        self.options: dict[str, str] = {}

    def Rados(self, **kwargs: Any) -> 'Pool':
        """Count a connection."""
        self.connections += 1
        self.options = kwargs['conf']
        return self

    def RBD(self) -> 'Pool':
        """Return the object that lists images."""
        return self

    def Image(self, ioctx: Any, name: str, *args: Any, **kwargs: Any) -> Image:
        """Open an image."""
        return Image(self, name)

    def connect(self) -> None:
        """Connect."""
        if self.refused:
            self.connections -= 1
            raise Error('made to fail')

    def shutdown(self) -> None:
        """Disconnect."""
        self.connections -= 1

    def close(self) -> None:
        """Close the context."""

    def open_ioctx(self, pool: str) -> 'Pool':
        """Return a context."""
        return self

    def list_pools(self) -> list[str]:
        """Return the pools."""
        return ['volumes']

    def application_list(self) -> list[str]:
        """Return the applications."""
        return ['rbd']

    def pool_reverse_lookup(self, number: int) -> str:
        """Return a pool's name."""
        return 'data'

    def list(self, ioctx: Any) -> list[str]:
        """Return the images, including those that fail to open."""
        if self.forbidden:
            raise self.forbidden
        there = {*self.images, *self.errors}
        return sorted(there)

    def trash_list(self, ioctx: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries of the trash; raise those that are errors."""
        for each in self.trash:
            if isinstance(each, Exception):
                raise each
            yield {'deferment_end_time': _TIME, 'source': 'USER', **each}


@contextlib.contextmanager
def no_connection_left(pool: Pool) -> Iterator[None]:
    """Check that all connections are shut down."""
    yield
    if pool.connections:
        raise AssertionError(f'{pool.connections} connections are left')
