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

"""As much of librados and librbd as a scan calls.

The functional tests run scans on a cluster; this is for faults.
"""

from collections.abc import Iterator
import contextlib
import datetime
from typing import Any

_TIME = datetime.datetime(2026, 1, 1)


class Error(Exception):
    """Base of librbd's errors."""


class ImageNotFound(Error):
    """There is no such image."""


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
        """Close it."""

    def features(self) -> int:
        """Return the mask."""
        return 1

    def flags(self) -> int:
        """Return the flags."""
        return 0

    def stat(self) -> dict[str, int]:
        """Return the sizes."""
        return {'size': 2**23, 'obj_size': 2**22}

    def id(self) -> str:
        """Return the id."""
        return 'abc'

    def stripe_unit(self) -> int:
        """Return the stripe unit."""
        return 2**22

    def stripe_count(self) -> int:
        """Return the stripe count."""
        return 1

    def parent_info(self) -> None:
        """Raise, as there is no parent."""
        raise ImageNotFound

    def list_snaps(self) -> list[dict[str, Any]]:
        """Return no snapshots."""
        return []

    def metadata_list(self) -> list[tuple[str, str]]:
        """Return the image metadata."""
        return [('conf_rbd_cache', 'false'), ('colour', 'blue')]


class Pool:
    """A pool, as a connection and its context, and both modules.

    :ivar errors: what opening an image raises
    """

    Error: type[Exception] = Error
    ImageNotFound = ImageNotFound

    def __init__(self, *images: str) -> None:
        self.images = list(images)
        self.errors: dict[str, Exception] = {}
        self.trash: list[dict[str, Any] | Exception] = []
        self.connections = 0
        self.refused = False

    def Rados(self, **kwargs: Any) -> 'Pool':
        """Count a connection."""
        self.connections += 1
        return self

    def RBD(self) -> 'Pool':
        """Return what lists images."""
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
        """Return the images, and those whose opening fails."""
        there = {*self.images, *self.errors}
        return sorted(there)

    def trash_list(self, ioctx: Any) -> Iterator[dict[str, Any]]:
        """Yield the trash; raise what is in it."""
        for each in self.trash:
            if isinstance(each, Exception):
                raise each
            yield {'deferment_end_time': _TIME, 'source': 'USER', **each}


@contextlib.contextmanager
def no_connection_left(pool: Pool) -> Iterator[None]:
    """Check that all connections are shut down in the end."""
    yield
    if pool.connections:
        raise AssertionError(f'{pool.connections} connections are left')
