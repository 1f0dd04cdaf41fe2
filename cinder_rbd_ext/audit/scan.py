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

"""All images of a pool, read by several connections at once."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import datetime
import logging
import queue
import threading
from typing import Any

from cinder_rbd_ext.audit import images

LOG = logging.getLogger(__name__)

#: Connections and threads that read images. More do not make a scan faster:
#: Python runs one of them at a time between their waits for Ceph.
WORKERS = 8

Progress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class Trashed:
    """An image in the trash of a pool.

    :ivar source: what moved it there, as librbd calls it
    :ivar expires: the end of its deferment
    """

    pool: str
    name: str
    ident: str
    source: str
    expires: datetime.datetime


@dataclasses.dataclass(frozen=True)
class PoolScan:
    """What is in a pool.

    :ivar unreadable: reasons why images could not be opened, by their names
    """

    pool: str
    found: tuple[images.Image, ...]
    unreadable: dict[str, str]
    trash: tuple[Trashed, ...]


class Cluster:
    """Connections to a Ceph cluster for reading.

    :param librados: the module ``rados``
    :param librbd: the module ``rbd``
    :param conf: path of ceph.conf
    :param user: name of the Ceph user, without ``client.``
    """

    def __init__(
        self, librados: Any, librbd: Any, conf: str, user: str
    ) -> None:
        self._rados = librados
        self._rbd = librbd
        self._conf = conf
        self._user = user
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Have a running scan end soon; it raises :class:`Cancelled`."""
        self._cancelled.set()

    def scan(
        self,
        pool: str,
        progress: Progress = lambda done, total: None,
        workers: int = WORKERS,
    ) -> PoolScan:
        """Read all images of a pool.

        :param progress: is called with the images done and all of them
        :raises rados.Error: if the pool cannot be read
        :raises Cancelled: after :meth:`cancel`
        """
        with self._connected(pool) as (_, ioctx):
            names = sorted(self._rbd.RBD().list(ioctx))
            found, failed = self._read_all(pool, names, progress, workers)
            # An image that was removed during the scan is not damaged.
            still_there = frozenset(self._rbd.RBD().list(ioctx))
            trash = tuple(self._trash(pool, ioctx))
        return PoolScan(
            pool,
            tuple(sorted(found, key=lambda image: image.name)),
            {n: why for n, why in failed.items() if n in still_there},
            trash,
        )

    def existing(self, pool: str, names: Iterable[str]) -> set[str]:
        """Return the images that a pool has now.

        :param names: of images, or of an image and its snapshot, with ``@``
        """
        with self._connected(pool) as (_, ioctx):
            return {name for name in names if self._opens(ioctx, name)}

    def _opens(self, ioctx: Any, name: str) -> bool:
        image, _, snapshot = name.partition('@')
        try:
            self._rbd.Image(
                ioctx, image, snapshot or None, read_only=True
            ).close()
        except self._rbd.ImageNotFound:
            return False
        return True

    def pools(self) -> list[str]:
        """Return the pools that RBD uses, by their application."""
        with self._connection() as connection:
            return [
                pool
                for pool in sorted(connection.list_pools())
                if _has_rbd(connection, pool)
            ]

    def _read_all(
        self,
        pool: str,
        names: Sequence[str],
        progress: Progress,
        workers: int,
    ) -> tuple[list[images.Image], dict[str, str]]:
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in names:
            waiting.put(name)
        found: list[images.Image] = []
        failed: dict[str, str] = {}

        def read_some() -> None:
            with self._connected(pool) as (connection, ioctx):
                while not self._cancelled.is_set():
                    try:
                        name = waiting.get_nowait()
                    except queue.Empty:
                        return
                    try:
                        found.append(
                            images.read(
                                self._rbd,
                                ioctx,
                                pool,
                                name,
                                connection.pool_reverse_lookup,
                            )
                        )
                    except self._rbd.Error as error:
                        failed[name] = str(error)

        count = min(workers, len(names))
        with futures.ThreadPoolExecutor(max(1, count)) as executor:
            running = {executor.submit(read_some) for _ in range(count)}
            try:
                while running:
                    done, running = futures.wait(running, timeout=0.2)
                    progress(len(found) + len(failed), len(names))
                    for each in done:
                        each.result()
            except BaseException:
                # The executor waits for its threads, also after Ctrl-C.
                self.cancel()
                raise
        if self._cancelled.is_set():
            raise Cancelled
        return found, failed

    def _trash(self, pool: str, ioctx: Any) -> Iterator[Trashed]:
        listed = iter(self._rbd.RBD().trash_list(ioctx))
        while True:
            try:
                each = next(listed)
            except StopIteration:
                return
            except IndexError:
                # The binding of Ceph 16 has no name for the source of a
                # migration, and stops. The audit finds the target of it.
                LOG.warning('Could not read the whole trash of pool %s', pool)
                return
            yield Trashed(
                pool,
                each['name'],
                each['id'],
                each['source'],
                each['deferment_end_time'].replace(
                    tzinfo=datetime.timezone.utc
                ),
            )

    @contextlib.contextmanager
    def _connected(self, pool: str) -> Iterator[tuple[Any, Any]]:
        """Yield a connection and its context for a pool.

        Each thread has its own: librbd of Ceph 16 has crashed with two
        threads on one.
        """
        with self._connection() as connection:
            ioctx = connection.open_ioctx(pool)
            try:
                yield connection, ioctx
            finally:
                ioctx.close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        try:
            connection = self._rados.Rados(
                conffile=self._conf, rados_id=self._user
            )
            connection.connect()
        except self._rados.Error as error:
            raise NotConnected(
                f'Could not connect to Ceph as client.{self._user} with '
                f'{self._conf}: {error}'
            ) from error
        try:
            yield connection
        finally:
            connection.shutdown()


def _has_rbd(connection: Any, pool: str) -> bool:
    ioctx = connection.open_ioctx(pool)
    try:
        return 'rbd' in ioctx.application_list()
    finally:
        ioctx.close()


class NotConnected(Exception):
    """The cluster could not be reached; the text names file and user."""


class Cancelled(Exception):
    """The scan was cancelled."""
