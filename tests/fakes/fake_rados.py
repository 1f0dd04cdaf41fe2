# SPDX-License-Identifier: Apache-2.0

"""A fake Ceph cluster and a fake ``rados`` module.

They keep state and fail as librados does. The tests in
:mod:`tests.functional.librbd_behaviour` compare them with real Ceph.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import itertools
import json
import struct
from typing import Any

from tests import feature_bits
from tests.fakes import fake_operations

FSID = 'f0000000-0000-4000-8000-000000000001'

#: The monitors in the output of ``ceph mon dump``.
MONITORS = [
    {'name': 'a', 'addr': '192.0.2.1:6789/0'},
    {'name': 'b', 'addr': '[2001:db8::2]:6789/0'},
]


class Error(Exception):
    """Base class of the errors of librados."""


class ObjectNotFound(Error):
    """The pool or object does not exist."""

    errno = 2


class OSError(Error):
    """An operation failed with an error number."""

    def __init__(self, number: int) -> None:
        super().__init__(f'[errno {number}] made to fail')
        self.errno = number


class StateError(Error):
    """A handle is used before it is open or after it was closed."""


class ProcessEnded(Exception):
    """The real library would have crashed or hung the process.

    It accesses freed memory or waits forever for threads that have ended.
    No except clause can handle this, so the cluster records each case.
    """


@dataclasses.dataclass
class Pool:
    """A pool and its RBD images, by name."""

    name: str
    number: int
    images: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: Images whose removal was interrupted.
    removing: dict[str, Any] = dataclasses.field(default_factory=dict)
    config: dict[str, str] = dataclasses.field(default_factory=dict)
    quota: int = 0
    stored: int = 0
    max_avail: int = 0
    #: Contents of RADOS objects of the pool, such as its trash.
    objects: dict[str, bytes] = dataclasses.field(default_factory=dict)
    #: RBD images in the trash, by their IDs.
    trash: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: The IDs of images in the trash without a header.
    lost_headers: set[str] = dataclasses.field(default_factory=set)
    #: Whether no object can be created.
    is_full: bool = False
    #: The enabled applications.
    applications: tuple[str, ...] = ('rbd',)
    #: The error number of writes, 0 if they succeed.
    write_error: int = 0
    #: The advisory locks of its objects.
    locks: fake_operations.Locks = dataclasses.field(
        default_factory=fake_operations.Locks
    )


class Cluster:
    """A fake cluster, with injected faults.

    :ivar ended: the calls that would have ended the process
    :ivar open_images: the open image handles
    :ivar connections: the clients that are connected
    """

    def __init__(self, *pools: str) -> None:
        self.fsid = FSID
        self.config = {'rbd_default_features': str(feature_bits.DEFAULT)}
        self.ended: list[str] = []
        self.open_images: list[Any] = []
        self.connections: list[Rados] = []
        self.total_bytes = 0
        self.mon_status = 0
        self._faults: dict[str, tuple[Exception, int]] = {}
        self.numbers = itertools.count(1)
        self.pools: dict[str, Pool] = {}
        for name in pools:
            self.add_pool(name)
        self.rados = RadosModule(self)

    def add_pool(self, name: str) -> Pool:
        """Add a pool."""
        self.pools[name] = Pool(name, next(self.numbers))
        return self.pools[name]

    def fail(self, operation: str, error: Exception, times: int = 1) -> None:
        """Make an operation fail: ``'Image.resize'``, ``'Rados.connect'``.

        ``'Image.copy half-way'`` fails after a part has been copied.
        """
        self._faults[operation] = (error, times)

    def reach(self, operation: str) -> None:
        """Raise the fault that is set for an operation, if any."""
        error, times = self._faults.pop(operation, (None, 0))
        if error is not None:
            if times > 1:
                self._faults[operation] = (error, times - 1)
            raise error

    def forgive(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    @property
    def faults_left(self) -> set[str]:
        """The operations with faults that were not reached."""
        return set(self._faults)

    def end_process(self, why: str) -> None:
        """Record a call that would crash or hang the real library."""
        self.ended.append(why)
        raise ProcessEnded(why)

    def names(self, pool: str = 'volumes') -> list[str]:
        """Return the names of the images in a pool."""
        return sorted(self.pools[pool].images)

    def stored(self, name: str, pool: str = 'volumes') -> Any:
        """Return the stored state of an image."""
        return self.pools[pool].images[name]

    @contextlib.contextmanager
    def connected(self, pool: str = 'volumes') -> Iterator['Ioctx']:
        """Connect and yield the I/O context of a pool."""
        client = Rados(self)
        client.connect()
        yield client.open_ioctx(pool)
        client.shutdown()


class RadosModule:
    """A fake ``rados`` module for one cluster."""

    Error = Error
    ObjectNotFound = ObjectNotFound
    OSError = OSError

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def Rados(self, **kwargs: Any) -> 'Rados':
        """Return a client that is not connected."""
        return Rados(self._cluster)

    def WriteOpCtx(self) -> fake_operations.WriteOp:
        """Return an empty write operation."""
        return fake_operations.WriteOp()

    def ReadOpCtx(self) -> fake_operations.ReadOp:
        """Return an empty read operation."""
        return fake_operations.ReadOp()


class Rados:
    """``rados.Rados``."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.state = 'configuring'
        self.settings: dict[str, str] = {}

    def conf_set(self, option: str, value: str) -> None:
        """Set an option of this client."""
        self.settings[option] = value

    def conf_get(self, option: str) -> str | None:
        """Return the value of an option."""
        return {**self.cluster.config, **self.settings}.get(option)

    def connect(self, timeout: float = 0) -> None:
        """Connect."""
        self.cluster.reach('Rados.connect')
        self.state = 'connected'
        self.cluster.connections.append(self)

    def shutdown(self) -> None:
        """Disconnect; open images can no longer be closed."""
        self.state = 'shutdown'
        if self in self.cluster.connections:
            self.cluster.connections.remove(self)

    def _require_connected(self) -> None:
        if self.state != 'connected':
            raise StateError(f'You cannot do that in state {self.state}')

    def get_fsid(self) -> str:
        """Return the ID of the cluster."""
        self._require_connected()
        return self.cluster.fsid

    def open_ioctx(self, pool: str) -> 'Ioctx':
        """Return the I/O context of a pool."""
        self._require_connected()
        if pool not in self.cluster.pools:
            raise ObjectNotFound(f'error opening pool {pool!r}')
        return Ioctx(self, self.cluster.pools[pool])

    def list_pools(self) -> list[str]:
        """Return the names of all pools."""
        self._require_connected()
        self.cluster.reach('Rados.list_pools')
        return list(self.cluster.pools)

    def pool_lookup(self, name: str) -> int | None:
        """Return the ID of a pool."""
        self._require_connected()
        pool = self.cluster.pools.get(name)
        return pool.number if pool else None

    def pool_reverse_lookup(self, number: int) -> str | None:
        """Return the name of a pool."""
        self._require_connected()
        for pool in self.cluster.pools.values():
            if pool.number == number:
                return pool.name
        return None

    def mon_command(self, command: str, data: bytes) -> tuple[int, bytes, str]:
        """Run ``df``, ``mon dump`` or ``osd pool get-quota``."""
        self._require_connected()
        self.cluster.reach('Rados.mon_command')
        if self.cluster.mon_status:
            return self.cluster.mon_status, b'', 'made to fail'
        request = json.loads(command)
        if request['prefix'] == 'mon dump':
            answer: dict[str, Any] = {'mons': MONITORS}
        elif request['prefix'] == 'df':
            answer = {
                'stats': {'total_bytes': self.cluster.total_bytes},
                'pools': [
                    {
                        'name': pool.name,
                        'id': pool.number,
                        'stats': {
                            'quota_bytes': pool.quota,
                            'stored': pool.stored,
                            'bytes_used': pool.stored,
                            'max_avail': pool.max_avail,
                        },
                    }
                    for pool in self.cluster.pools.values()
                ],
            }
        else:
            pool = self.cluster.pools[request['pool']]
            answer = {'quota_max_bytes': pool.quota}
        return 0, json.dumps(answer).encode(), ''


class Ioctx:
    """``rados.Ioctx``: the I/O context of a pool."""

    def __init__(self, client: Rados, pool: Pool) -> None:
        self.client = client
        self.pool = pool
        self.state = 'open'
        self.full_try = False

    def set_osdmap_full_try(self) -> None:
        """Make requests to a full pool fail instead of wait."""
        self.full_try = True

    def stat(self, name: str) -> tuple[int, float]:
        """Return the size and time of an object."""
        of_image = name.removeprefix('rbd_id.')
        exists = of_image in self.pool.images if of_image != name else False
        if not exists and name not in self.pool.objects:
            raise ObjectNotFound(f'Failed to stat {name!r}')
        return 0, 0.0

    def read(self, name: str) -> bytes:
        """Return the id of an image, from the object with its name."""
        of_image = name.removeprefix('rbd_id.')
        if of_image == name or of_image not in self.pool.images:
            raise ObjectNotFound(f'Failed to read {name!r}')
        ident: bytes = self.pool.images[of_image].ident.encode()
        return len(ident).to_bytes(4, 'little') + ident

    def __enter__(self) -> 'Ioctx':
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the context, not the connection."""
        self.state = 'closed'

    def get_pool_name(self) -> str:
        """Return the name of the pool."""
        return self.pool.name

    def get_pool_id(self) -> int:
        """Return the ID of the pool."""
        return self.pool.number

    def application_list(self) -> list[str]:
        """Return the enabled applications of the pool."""
        return list(self.pool.applications)

    def create_write_op(self) -> fake_operations.WriteOp:
        """Return an operation."""
        return fake_operations.WriteOp()

    def release_write_op(self, operation: fake_operations.WriteOp) -> None:
        """Free an operation."""

    def execute(
        self, name: str, group: str, method: str, data: bytes
    ) -> tuple[int, bytes]:
        """Return the order and the size of an image."""
        return 9, struct.pack('<BQ', 22, self._image_of(name).size)

    def operate_write_op(
        self,
        operation: fake_operations.WriteOp,
        name: str,
        mtime: int = 0,
        flags: int = 0,
    ) -> None:
        """Write or remove an object."""
        self.client.cluster.reach(f'Ioctx.{operation.what}')
        if self.pool.write_error:
            raise OSError(self.pool.write_error)
        if name.startswith('rbd_header.'):
            self._image_of(name).metadata.update(operation.metadata())
            return
        if operation.what != 'remove':
            self.pool.objects[name] = operation.data
        elif self.pool.objects.pop(name, None) is None:
            raise ObjectNotFound(name)

    def operate_aio_read_op(
        self, operation: fake_operations.ReadOp, name: str
    ) -> fake_operations.Completion:
        """Compare a part of an object that does not exist.

        A fault ``ETIMEDOUT`` stands for an OSD that does not respond.
        """
        try:
            self.client.cluster.reach('Ioctx.read')
        except OSError as error:
            silent = error.errno == errno.ETIMEDOUT
            return fake_operations.Completion(None if silent else -error.errno)
        return fake_operations.Completion(-errno.ENOENT)

    def operate_aio_write_op(
        self, operation: fake_operations.WriteOp, name: str
    ) -> fake_operations.Completion:
        """Take, renew or release a lock.

        A fault ``ETIMEDOUT`` stands for an OSD that does not respond.
        """
        ((group, method, data),) = operation.calls
        if self.state != 'open' or self.client.state != 'connected':
            self.client.cluster.end_process(f'{method} on a closed ioctx')
        try:
            self.client.cluster.reach(f'Ioctx.{group}.{method}')
        except OSError as error:
            silent = error.errno == errno.ETIMEDOUT
            return fake_operations.Completion(None if silent else -error.errno)
        if operation.key is not None and not self._has_header(name):
            self.pool.locks.forget(name)
            return fake_operations.Completion(-errno.ENOENT)
        if name.startswith('rbd_header.') and not self._has_header(name):
            self.pool.locks.forget(name)
        status = self.pool.locks.run(self.client, name, method, data)
        return fake_operations.Completion(status)

    def aio_execute(
        self, name: str, group: str, method: str, data: bytes
    ) -> fake_operations.Completion:
        """Read the state of a lock."""
        operation = fake_operations.WriteOp()
        operation.execute(group, method, data)
        if name.startswith('rbd_header.') and not self._has_header(name):
            return fake_operations.Completion(-errno.ENOENT)
        return self.operate_aio_write_op(operation, name)

    def _headers(self) -> dict[str, Any]:
        images = *self.pool.images.values(), *self.pool.trash.values()
        return {
            f'rbd_header.{image.ident}': image
            for image in images
            if image.ident not in self.pool.lost_headers
        }

    def _has_header(self, name: str) -> bool:
        return name in self._headers()

    def _image_of(self, header: str) -> Any:
        if not self._has_header(header):
            raise ObjectNotFound(header)
        return self._headers()[header]

    def get_omap_vals_by_keys(
        self, operation: fake_operations.ReadOp, keys: tuple[str, ...]
    ) -> tuple[Iterator[tuple[str, bytes]], int]:
        """Return the values, which exist after the operation."""
        operation.keys = keys
        return operation.values(), 0

    def operate_read_op(
        self, operation: fake_operations.ReadOp, name: str
    ) -> None:
        """Read the metadata of an image, or the configuration of the pool."""
        self.client.cluster.reach('Ioctx.operate_read_op')
        items = {f'conf_{key}': x for key, x in self.pool.config.items()}
        if name.startswith('rbd_header.'):
            items = self._image_of(name).metadata
        operation.found = {f'metadata_{key}': x for key, x in items.items()}

    def images(self, operation: str) -> dict[str, Any]:
        """Return the images of the pool, for the fake librbd."""
        if self.state != 'open' or self.client.state != 'connected':
            self.client.cluster.end_process(f'{operation} on a closed ioctx')
        self.client.cluster.reach(operation)
        return self.pool.images
