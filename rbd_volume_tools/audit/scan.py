# SPDX-License-Identifier: Apache-2.0

"""Reads all images of a pool over several connections in parallel."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import errno
import itertools
import json
import logging
import queue
from typing import Any
import weakref

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.command_line import ceph_connection

LOG = logging.getLogger(__name__)

#: Connections and threads that read images. A larger number does not make a
#: scan faster: Python runs one thread at a time while the others wait for
#: Ceph.
WORKERS = 8

# Number of images for which a further process is worth its start.
_SHARE = 16

# Number of images whose futures are in memory at a time.
_BATCH = 1000

Progress = Callable[[int, int], None]

#: Errors of the cluster or the connection, not of an image.
LOST = frozenset({errno.ETIMEDOUT, errno.ESHUTDOWN, errno.ENOTCONN})

#: Seconds for which a connection waits for a monitor; Ceph's default is 300.
CONNECT_SECONDS = 30
_CONNECT_TIMEOUT = 'client_mount_timeout'
#: Options of Ceph that limit the time an operation waits for the cluster.
_TIMEOUTS = (
    _CONNECT_TIMEOUT,
    'rados_mon_op_timeout',
    'rados_osd_op_timeout',
)


@dataclasses.dataclass(frozen=True)
class PoolScan:
    """The content of a pool.

    :ivar unreadable: images that could not be opened, by their names
    :ivar forbidden: what the Ceph user may not read, by the names of the
        images; the name is empty for the whole pool
    :ivar namespaces: number of images in each namespace
    :ivar failed: why the pool could not be read
    """

    pool: str
    found: tuple[images.Image, ...]
    unreadable: dict[str, findings.Finding]
    trash: tuple[objects.Trashed, ...]
    forbidden: dict[str, str] = dataclasses.field(default_factory=dict)
    namespaces: dict[str, int] = dataclasses.field(default_factory=dict)
    failed: str = ''

    @property
    def is_forbidden(self) -> bool:
        """Whether nothing is known about the pool."""
        return '' in self.forbidden or bool(self.failed)


class Cluster:
    """Reads images over connections to a Ceph cluster.

    :param librados: the module ``rados``
    :param librbd: the module ``rbd``
    :param conf: path of ceph.conf
    :param user: name of the Ceph user, without ``client.``
    :param timeout: seconds after which an operation fails; None for the
        settings of Ceph, which wait without a limit once a monitor has
        responded
    :param reader_class: reads images, by default in processes of their own
    """

    def __init__(
        self,
        librados: Any,
        librbd: Any,
        conf: str,
        user: str,
        timeout: int | None = None,
        reader_class: type[reading.Reader] = reading.Reader,
    ) -> None:
        self.librados = librados
        self.librbd = librbd
        self._reader_class = reader_class
        self._reader: reading.Reader | None = None
        self._conf = conf
        self._user = user
        self._options = {_CONNECT_TIMEOUT: str(CONNECT_SECONDS)}
        if timeout is not None:
            self._options = dict.fromkeys(_TIMEOUTS, str(timeout))

    def scan(
        self,
        pool: str,
        progress: Progress = lambda done, total: None,
        workers: int = WORKERS,
        wanted: Callable[[str], bool] = lambda name: True,
        with_usage: bool = False,
    ) -> PoolScan:
        """Read the images of a pool.

        :param progress: called with the number of images read so far and the
            total
        :param wanted: returns whether to read the image with a name
        :param with_usage: whether to read the used space of images
        :returns: a scan without images if the Ceph user may not list them
        :raises rados.Error: if the pool cannot be read
        :raises NoPool: if the pool does not exist
        """
        forbidden: dict[str, str] = {}
        with self.connected(pool) as (connection, ioctx):
            try:
                listed = sorted(filter(wanted, self._names(ioctx)))
            except self.librbd.Error as error:
                if not _is_permission(error):
                    raise
                why = f'client.{self._user} may not list the images: {error}'
                return PoolScan(pool, (), {}, (), {'': why})
            # With other names, librbd's Python binding would end the process.
            names = [name for name in listed if _as_text(name) == name]
            readable, failed = self._read_all(
                pool, names, progress, workers, with_usage, forbidden
            )
            forbidden |= {
                _as_text(name): 'its name is not UTF-8'
                for name in set(listed) - set(names)
            }
            trash = tuple(objects.trash(self.librados, ioctx, pool))
            broken = {
                each.image: each
                for each in self._classified(pool, ioctx, failed, trash)
            }
            namespaces = self._namespaces(connection, pool, forbidden)
        return PoolScan(
            pool,
            tuple(readable),
            broken,
            trash,
            forbidden,
            namespaces,
        )

    def reread(
        self, pool: str, names: Iterable[str]
    ) -> dict[str, images.Image | None]:
        """Return the images that are still in a pool; None if unreadable.

        :raises NotRead: if the cluster does not answer
        """
        found: dict[str, images.Image | None] = {}
        with contextlib.closing(self._new_reader()) as reader:
            for name in names:
                try:
                    found[name] = reader.read(pool, name)
                except UnicodeDecodeError:
                    found[name] = None
                except reading.NotRead as error:
                    if error.errno in LOST:
                        raise
                    if error.errno != errno.ENOENT:
                        found[name] = None
        return found

    def read(self, pool: str, name: str, **how: Any) -> images.Image:
        """Return the facts about an image, see :func:`images.read`.

        :raises NotRead: if librbd refuses it; without a number if its content
            ends each process that opens it
        :raises UnicodeDecodeError: if its metadata is no text
        """
        if self._reader is None:
            self._reader = self._new_reader()
            weakref.finalize(self, self._reader.close)
        return self._reader.read(pool, name, **how)

    def _new_reader(self) -> reading.Reader:
        return self._reader_class(
            {
                'conf': self._conf,
                'user': self._user,
                'options': self._options,
            }
        )

    def fsid(self) -> str:
        """Return the id of the cluster."""
        with self.connection() as connection:
            ident: str = connection.get_fsid()
            return ident

    def pools(self) -> list[str]:
        """Return the pools with the application ``rbd``."""
        with self.connection() as connection:
            return _rbd_pools(connection)

    def _read_all(
        self,
        pool: str,
        names: Sequence[str],
        progress: Progress,
        workers: int,
        with_usage: bool,
        forbidden: dict[str, str],
    ) -> tuple[list[images.Image], dict[str, str]]:
        """Return the images that could be read, and why others could not."""
        readable: list[images.Image] = []
        failed: dict[str, str] = {}
        how = {'with_usage': with_usage, 'blocklist': self.blocklist()}
        count = max(1, min(workers, -(-len(names) // _SHARE)))
        idle: queue.SimpleQueue[reading.Reader] = queue.SimpleQueue()

        def read(name: str) -> images.Image | Exception:
            reader = idle.get()
            try:
                return reader.read(pool, name, **how)
            except (UnicodeDecodeError, reading.NotRead) as error:
                return error
            finally:
                idle.put(reader)

        with contextlib.ExitStack() as stack:
            for _ in range(count):
                reader = contextlib.closing(self._new_reader())
                idle.put(stack.enter_context(reader))
            executor = stack.enter_context(futures.ThreadPoolExecutor(count))
            # The executor waits for its threads, even after Ctrl-C.
            stack.callback(executor.shutdown, cancel_futures=True)
            batches = (
                names[first : first + _BATCH]
                for first in range(0, len(names), _BATCH)
            )
            answers = itertools.chain.from_iterable(
                zip(batch, executor.map(read, batch), strict=True)
                for batch in batches
            )
            for done, (name, answer) in enumerate(answers, 1):
                if isinstance(answer, images.Image):
                    readable.append(answer)
                elif isinstance(answer, UnicodeDecodeError):
                    # Any client of the pool can write such metadata.
                    forbidden[name] = f'not UTF-8: {answer}'
                elif getattr(answer, 'errno', None) in LOST:
                    raise answer
                else:
                    # An image that may not be read is not damaged.
                    bad = forbidden if _is_permission(answer) else failed
                    bad[name] = str(answer)
                progress(done, len(names))
        return readable, failed

    def _names(self, ioctx: Any) -> list[str]:
        """Return the names of the images of a pool or namespace.

        librbd's Python binding lists none if one of them is not UTF-8. That
        one then has surrogates.
        """
        try:
            return list(self.librbd.RBD().list(ioctx))
        except UnicodeDecodeError:
            return list(objects.directory(self.librados, ioctx))

    def _namespaces(
        self, connection: Any, pool: str, forbidden: dict[str, str]
    ) -> dict[str, int]:
        """Return the number of images in each namespace of a pool."""
        numbers = {}
        name = ''
        ioctx = connection.open_ioctx(pool)
        try:
            for name in self.librbd.RBD().namespace_list(ioctx):
                ioctx.set_namespace(name)
                numbers[name] = len(self._names(ioctx))
                ioctx.set_namespace('')
        except self.librbd.Error as error:
            if not _is_permission(error):
                raise
            forbidden[f'{name}/'] = f'its namespaces: {error}'
        finally:
            ioctx.close()
        return numbers

    def _classified(
        self,
        pool: str,
        ioctx: Any,
        failed: dict[str, str],
        trash: Iterable[objects.Trashed],
    ) -> Iterator[findings.Finding]:
        """Yield the images that cannot be opened, with the reason.

        An image that was removed during the scan is not damaged.
        """
        if not failed:
            return
        listed = frozenset(self._names(ioctx))
        directory = objects.directory(self.librados, ioctx)
        moved = {entry.ident: entry for entry in trash}
        for name in sorted(failed.keys() & listed):
            stored = objects.id_of(self.librados, ioctx, name)
            ident = directory.get(name) or (stored[0] if stored else '')
            kind = findings.HALF_REMOVED
            if ident in moved:
                if moved[ident].source is objects.TrashSource.REMOVING:
                    continue
                kind = findings.HALF_TRASHED
            elif not ident:
                # librbd lists the interrupted removals in the trash as well.
                continue
            elif objects.has_header(self.librados, ioctx, ident):
                if stored and self.reread(pool, [name]).get(name):
                    # It was being created.
                    continue
                kind = findings.UNOPENABLE if stored else findings.ID_LOST
            yield findings.Finding(kind, pool, name, failed[name], ident=ident)

    def inventory(
        self,
        progress: Callable[[str, int], None],
        per_second: int | None = None,
    ) -> objects.Inventory:
        """List all objects of all pools, see :func:`objects.inventory`."""
        with self.connection() as connection:
            return objects.inventory(
                connection, self._program(), progress, per_second
            )

    def _program(self) -> list[str]:
        """Return the program ``rados`` with the options of the connections."""
        options = [
            word
            for name, value in self._options.items()
            for word in (f'--{name.replace("_", "-")}', value)
        ]
        return ['rados', '--conf', self._conf, '--id', self._user, *options]

    def lost_data(
        self, listed: objects.Inventory
    ) -> Iterator[tuple[str, str, int]]:
        """Yield pool, id and number of objects of data without a header.

        Images that were created during the listing have a header now.
        """
        with self.connection() as connection:
            for (pool_id, ident), number in sorted(
                listed.without_header().items()
            ):
                try:
                    ioctx = connection.open_ioctx2(pool_id)
                except self.librados.ObjectNotFound:
                    yield f'(deleted pool {pool_id})', ident, number
                    continue
                try:
                    if ioctx.get_pool_name() in listed.unlisted:
                        # Nothing is known about its headers.
                        continue
                    if not objects.has_header(self.librados, ioctx, ident):
                        yield ioctx.get_pool_name(), ident, number
                finally:
                    ioctx.close()

    def lost_headers(
        self, pool: str, listed: objects.Inventory
    ) -> Iterator[str]:
        """Yield the ids of images that neither directory nor trash names."""
        with self.connected(pool) as (_, ioctx):
            here = ioctx.get_pool_id()
            idents = {ident for at, ident in listed.headers if at == here}
            # After the listing, for images that it saw being created.
            idents -= set(objects.directory(self.librados, ioctx).values())
            trash = objects.trash(self.librados, ioctx, pool)
            idents -= {entry.ident for entry in trash}
            for ident in sorted(idents):
                if objects.has_header(self.librados, ioctx, ident):
                    yield ident

    def blocklist(self) -> dict[str, str]:
        """Return the addresses that Ceph has blocked, and until when.

        The result is empty if the user may not read the list.
        """
        words = json.dumps({'prefix': 'osd blocklist ls'})
        with self.connection() as connection:
            status, output, _ = connection.mon_command(words, b'')
        if status:
            LOG.info('May not read the blocklist of Ceph')
            return {}
        words_of = (line.split() for line in output.decode().splitlines())
        return {each[0]: each[1] for each in words_of if len(each) > 1}

    @contextlib.contextmanager
    def connected(self, pool: str) -> Iterator[tuple[Any, Any]]:
        """Yield a connection and its context for a pool.

        Each thread has its own, because librbd of Ceph 16 crashed when two
        threads shared one.
        """
        with self.connection() as connection:
            try:
                ioctx = connection.open_ioctx(pool)
            except self.librados.ObjectNotFound as error:
                raise NoPool(
                    f'Ceph has no pool {pool}. Pools with the application '
                    f'rbd: {", ".join(_rbd_pools(connection)) or "none"}.'
                ) from error
            # Full OSDs perform deletions and reject other changes, instead of
            # blocking all. librbd adopts it.
            ioctx.set_osdmap_full_try()
            try:
                yield connection, ioctx
            finally:
                ioctx.close()

    @contextlib.contextmanager
    def connection(self) -> Iterator[Any]:
        """Yield a connection.

        :raises NotConnected: with the file and the user
        """
        try:
            connection = self.librados.Rados(
                conffile=self._conf, rados_id=self._user, conf=self._options
            )
            connection.connect()
        except self.librados.Error as error:
            advice = ceph_connection.advice(
                self.librados, error, self._conf, self._user
            )
            raise NotConnected(
                f'Could not connect to Ceph as client.{self._user} with '
                f'{self._conf}: {error}. {advice}'
            ) from error
        try:
            yield connection
        finally:
            connection.shutdown()


def of_options(
    parsed_args: argparse.Namespace, timeout: int | None = None
) -> Cluster:
    """Return the cluster of the options.

    :param timeout: seconds for an operation of Ceph; None for Ceph's own limit
    :raises RuntimeError: if Ceph's libraries for Python are not installed
    """
    # The distribution packages of Ceph contain these modules. Other commands
    # do not need them.
    try:
        import rados
        import rbd
    except ImportError as error:
        raise RuntimeError(
            f'{error}. Install python3-rados and python3-rbd, and use '
            'a Python environment that has the packages of the system.'
        ) from error
    return Cluster(
        rados, rbd, parsed_args.ceph_conf, parsed_args.ceph_user, timeout
    )


def _as_text(name: str) -> str:
    """Return a name with escape sequences for bytes that are not UTF-8."""
    return name.encode(errors='surrogateescape').decode(
        errors='backslashreplace'
    )


def _is_permission(error: Exception) -> bool:
    return getattr(error, 'errno', None) == errno.EPERM


def _rbd_pools(connection: Any) -> list[str]:
    return [
        pool
        for pool in sorted(connection.list_pools())
        if _has_rbd(connection, pool)
    ]


def _has_rbd(connection: Any, pool: str) -> bool:
    ioctx = connection.open_ioctx(pool)
    try:
        return 'rbd' in ioctx.application_list()
    finally:
        ioctx.close()


class NotConnected(Exception):
    """The cluster could not be reached; the text names file and user."""


class NoPool(Exception):
    """A pool does not exist; the text names it and the pools that exist."""
