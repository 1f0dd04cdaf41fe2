# SPDX-License-Identifier: Apache-2.0

"""Counts the requests of a driver, which do not depend on the load."""

# The socket of the standard library is eventlet's, which the threads for
# blocking calls cannot use.
import _socket
from collections.abc import Iterator
import contextlib
import dataclasses
import json
import tempfile
from typing import Any
from unittest import mock

import rados
import rbd
import sqlalchemy
from sqlalchemy import event

_CLASSES: list[type] = []
#: Counters of librados for requests to monitors; commands are not counted.
_TO_MONITORS = ('poolop_send', 'poolstat_send', 'statfs_send')


@dataclasses.dataclass
class Counts:
    """The number of requests.

    :ivar contexts: connections that the operations requested; a driver that
        shares connections rarely opens a new one for them
    :ivar connections: connections that were opened to the cluster
    :ivar opens: images that the driver opened or tried to open; images that
        librbd opens itself are not counted
    :ivar statements: statements sent to the database
    :ivar commands: programs started
    :ivar osd: operations sent to OSDs; 0 outside :func:`observing`, like the
        next one
    :ivar monitor: commands and other requests sent to monitors
    """

    contexts: int = 0
    connections: int = 0
    opens: int = 0
    statements: int = 0
    commands: int = 0
    osd: int = 0
    monitor: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return dataclasses.asdict(self)


class _Observer:
    """Reads the performance counters of the clients of this process."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._clients: dict[int, str] = {}
        self._made = 0
        self.osd = self.monitor = 0

    def socket(self) -> str:
        """Return the path of the administration socket of a new client."""
        self._made += 1
        return f'{self._folder}/{self._made}'

    def begun(self, client: object, socket: str) -> None:
        """Count the operations of a client that is connected."""
        self._clients[id(client)] = socket

    def ended(self, client: object) -> None:
        """Keep the counts of a client that is about to be shut down."""
        socket = self._clients.pop(id(client), None)
        if socket:
            osd, monitor = _operations(socket)
            self.osd += osd
            self.monitor += monitor

    def total(self) -> tuple[int, int]:
        """Return the operations of all clients until now."""
        counters = [_operations(each) for each in list(self._clients.values())]
        return (
            self.osd + sum(osd for osd, _ in counters),
            self.monitor + sum(monitor for _, monitor in counters),
        )


def _operations(path: str) -> tuple[int, int]:
    """Return what a client has sent to OSDs and monitors."""
    with contextlib.closing(
        _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    ) as connection:
        connection.connect(path)
        connection.sendall(b'{"prefix": "perf dump"}\0')
        answer = b''
        while received := connection.recv(1 << 16):
            answer += received
    # The length comes first.
    counters = json.loads(answer[4:])['objecter']
    return counters['op_send'], sum(counters[name] for name in _TO_MONITORS)


_observers: list[_Observer] = []


@contextlib.contextmanager
def observing() -> Iterator[None]:
    """Count the operations of clients that connect from now on.

    Each has an administration socket, which takes time. Do not measure times
    meanwhile.
    """
    # Not below TMPDIR: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix='counts-', dir='/var/tmp') as path:
        observer = _Observer(path)

        class Rados(rados.Rados):
            def connect(self, *args: Any, **kwargs: Any) -> None:
                socket = observer.socket()
                self.conf_set('admin_socket', socket)
                super().connect(*args, **kwargs)
                observer.begun(self, socket)

            def mon_command(self, *args: Any, **kwargs: Any) -> Any:
                observer.monitor += 1
                return super().mon_command(*args, **kwargs)

            def shutdown(self) -> None:
                observer.ended(self)
                super().shutdown()

        _CLASSES.append(Rados)
        _observers.append(observer)
        try:
            with mock.patch.object(rados, 'Rados', Rados):
                yield
        finally:
            _observers.remove(observer)


@contextlib.contextmanager
def _operations_of(counted: Counts) -> Iterator[None]:
    observer = _observers[-1] if _observers else None
    osd, monitor = observer.total() if observer else (0, 0)
    try:
        yield
    finally:
        if observer:
            now = observer.total()
            counted.osd, counted.monitor = now[0] - osd, now[1] - monitor


@contextlib.contextmanager
def counting(driver: Any) -> Iterator[Counts]:
    """Count the requests of this process while a driver runs."""
    counted = Counts()

    class Rados(rados.Rados):
        def connect(self, *args: Any, **kwargs: Any) -> None:
            counted.connections += 1
            super().connect(*args, **kwargs)

    class Image(rbd.Image):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            counted.opens += 1
            super().__init__(*args, **kwargs)

    def connect(*args: Any, **kwargs: Any) -> Any:
        counted.contexts += 1
        return stock_connect(*args, **kwargs)

    def execute(*args: Any, **kwargs: Any) -> Any:
        counted.commands += 1
        return stock_execute(*args, **kwargs)

    def sent(_: Any, __: Any, statement: str, *___: Any) -> None:
        # SQLite's driver sends BEGIN as a statement. Other drivers call a
        # function.
        if statement != 'BEGIN':
            counted.statements += 1

    # The classes are kept: if the garbage collector removes an object together
    # with its class, the object cannot be closed.
    _CLASSES.extend((Rados, Image))
    stock_connect = driver._connect_to_rados
    stock_execute = driver._execute
    engine = sqlalchemy.engine.Engine
    with (
        mock.patch.object(rados, 'Rados', Rados),
        mock.patch.object(rbd, 'Image', Image),
        mock.patch.object(driver, '_connect_to_rados', connect),
        mock.patch.object(driver, '_execute', execute),
        _operations_of(counted),
    ):
        event.listen(engine, 'before_cursor_execute', sent)
        try:
            yield counted
        finally:
            event.remove(engine, 'before_cursor_execute', sent)
