# SPDX-License-Identifier: Apache-2.0

"""The connections to Ceph clusters that the operations of a back end share.

The stock driver connects for each operation, which costs tens of milliseconds,
12 descriptors and 12 threads. Here, all operations of a user on a cluster use
the same connection. It is replaced:

===========================  =================================================
When                         Why
===========================  =================================================
an operation fails with an   The client is on the blocklist, the connection is
error in ``_LOST``           shut down, a request timed out, or the user has
                             new capabilities, which count from the next
                             connection on.
a command to a monitor       The client searches for a monitor in growing
times out                    intervals, a new one at once.
no OSD responds to it        A firewall or a host dropped its packets, so that
                             nothing ends it. TCP then tries again in growing
                             intervals. The client may also be on the
                             blocklist: operations that cannot be repeated
                             must not be the first to notice.
the key, the file with it,   It would hang some time after the key was rotated.
or ceph.conf has changed
it is an hour old            Capabilities were removed, for example.
===========================  =================================================

New operations then use another one. The old one is shut down when its last
operation has ended: advisory locks belong to the connection.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import contextvars
import errno
import functools
import hashlib
import json
import os
import pathlib
import re
import sys
import time
from typing import Any

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import blocklisting
from rbd_volume_options import bindings

LOG = logging.getLogger(__name__)

#: Seconds after which a connection is replaced.
LONGEST_LIFE = 3600.0

#: Seconds for which the response of an OSD shows that a connection is usable.
VERIFIED_FOR = 1.0

#: Seconds for which a connection is not checked that replaces one without a
#: response: the OSDs may be the cause, and other OSDs may respond. Without a
#: response to this one either, it is used: there is no third one.
UNCHECKED_FOR = 30.0

#: Seconds for which the addresses of the monitors are cached.
ADDRESSES_FOR = 10.0

#: Seconds to wait for an OSD. An operation must be able to begin within ten
#: seconds.
PATIENCE = 4.0

#: Seconds to wait for a connection that another operation opens. A client that
#: began in an outage, or while its key was removed, finds the end of it late.
OPENING = 1.0

# Seconds that a command to a monitor may take, if neither the back end nor
# Ceph's configuration has a limit. By default, librados waits forever.
_MONITOR_PATIENCE = 4
_MON_TIMEOUT = 'rados_mon_op_timeout'
_MON_DUMP = json.dumps({'prefix': 'mon dump', 'format': 'json'})

# Name of an object that does not exist; it is not created.
_OBJECT = 'cinder-connection-probe'

# Seconds between two looks at what is under way. The first ones are short: an
# idle OSD responds within a millisecond.
_SHORTEST, _LONGEST = 0.0002, 0.02

_UNUSABLE = blocklisting.LOST | {errno.ETIMEDOUT}
# With the errors of missing capabilities: a connection keeps those that its
# user had when it was opened.
_LOST = _UNUSABLE | {errno.EPERM, errno.EACCES}

Addresses = tuple[list[str], list[str]]
Connected = tuple[Any, Any]
Connect = Callable[[], Connected]
# The name of a cluster, the path of its configuration, and a user.
Place = tuple[str | None, str | None, str | None]

# Whether the current thread runs an operation that takes long.
_alone = contextvars.ContextVar('_alone', default=False)


@contextlib.contextmanager
def own_connection(is_long: bool = True) -> Iterator[None]:
    """Have long operations connect as the stock driver does."""
    before = _alone.set(is_long or _alone.get())
    try:
        yield
    finally:
        _alone.reset(before)


def limit_monitors(rados: Any) -> None:
    """Have commands to monitors fail if none responds for some seconds."""
    if float(rados.conf_get(_MON_TIMEOUT) or 0) == 0:
        rados.conf_set(_MON_TIMEOUT, str(_MONITOR_PATIENCE))


class _Connection:
    """A connection and the number of its users.

    :ivar rados: None until it is open, and after its end
    :ivar error: why it could not be opened
    :ivar is_current: whether new operations use it
    :ivar is_doubted: whether no OSD has responded to it, or to the one that
        it replaces
    :ivar verified_at: when an OSD last responded to it
    :ivar files: the files that a new connection would read
    """

    def __init__(self, former: '_Connection | None') -> None:
        self.rados: Any = None
        self.error: BaseException | None = None
        self.users = 1
        self.is_current = True
        self.made_at = self.verified_at = time.monotonic()
        self.is_doubted: bool = former is not None and former.is_doubted
        if self.is_doubted:
            self.verified_at += UNCHECKED_FOR
        self.files: list[str] = former.files if former else []
        self.digest = _digest(self.files)

    def opened(self, rados: Any, conf: str) -> None:
        """Record the open connection; operations may then use it."""
        limit_monitors(rados)
        keys = [rados.conf_get(name) for name in ('keyring', 'keyfile')]
        files = [conf, *re.split(r'[;,=\s]+', ' '.join(filter(None, keys)))]
        if files != self.files:
            self.files, self.digest = files, _digest(files)
        self.rados = rados

    @property
    def is_outdated(self) -> bool:
        """Whether a new connection would differ."""
        return self.rados is not None and (
            time.monotonic() - self.made_at > LONGEST_LIFE
            or self.digest != _digest(self.files)
        )

    def wait(self) -> None:
        """Wait for the operation that opens it, but not for long.

        :raises VolumeBackendAPIException: if that fails
        """
        until = time.monotonic() + OPENING
        while not (self.rados or self.error) and time.monotonic() < until:
            time.sleep(_LONGEST)
        if isinstance(self.error, exception.VolumeBackendAPIException):
            raise exception.VolumeBackendAPIException(
                message=str(self.error)
            ) from self.error


class _Loan:
    """A shared connection, as one operation sees it."""

    def __init__(self, connection: _Connection) -> None:
        self.connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection.rados, name)

    def mon_command(self, *args: object, **kwargs: object) -> Any:
        """Send a command to a monitor."""
        result = self.connection.rados.mon_command(*args, **kwargs)
        if -result[0] in _UNUSABLE:
            self.connection.is_current = False
        return result


class SharedConnections:
    """The connections that the operations of a driver share."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        #: For which cluster the addresses are, until when, and the addresses.
        self._addresses: tuple[Any, float, Addresses] = None, 0.0, ([], [])
        # This lock is held only briefly, and never while waiting for Ceph.
        self._lock = releases.native_lock()
        self._current: dict[Place, _Connection] = {}

    @property
    def is_on(self) -> bool:
        """Whether the operations of the back end share connections."""
        shared = self._driver.configuration.safe_get(opts.SHARE_CONNECTIONS)
        return shared is True

    def connect(
        self,
        driver: protocols.Driver,
        stock: Callable[..., Connected],
        pool: Any = None,
        remote: Any = None,
        timeout: Any = None,
    ) -> Connected:
        """Return a connection and a context for a pool, for one operation.

        By its flag ``full_try``, which librbd adopts, full OSDs perform
        deletions and reject other changes, instead of blocking all.

        :param stock: connects as the stock driver does
        :raises VolumeBackendAPIException: if it could not be opened
        """
        connect = functools.partial(stock, pool, remote, timeout)
        if _alone.get() or not self.is_on or timeout is not None:
            client, ioctx = connect()
        else:
            name, conf, user, _secret = driver._get_config_tuple(remote)
            client, ioctx = self._lend(
                (name, conf, user),
                driver.configuration.rbd_pool if pool is None else pool,
                connect,
            )
        ioctx.set_osdmap_full_try()
        return client, ioctx

    def give_back(self, client: object, ioctx: bindings.Ioctx) -> bool:
        """End the use of a connection; return False for a separate one."""
        if not isinstance(client, _Loan):
            return False
        # While an operation cleans up, this includes the failure before it.
        numbers = blocklisting.numbers(sys.exc_info()[1])
        try:
            ioctx.close()
        finally:
            self._release(client.connection, not _LOST.isdisjoint(numbers))
        return True

    def addresses(self, stock: Callable[[], Addresses]) -> Addresses:
        """Return hosts and ports of the monitors, in the stock order.

        :param stock: runs the program ``ceph mon dump``
        :raises VolumeBackendAPIException: if no monitor responds
        """
        if not self.is_on:
            return stock()
        place = self._driver._get_config_tuple()
        known_place, until, (hosts, ports) = self._addresses
        if known_place == place and time.monotonic() < until:
            return list(hosts), list(ports)
        # If the connection was lost, the second attempt uses another one.
        for _attempt in range(2):
            with rbd.RADOSClient(self._driver) as client:
                status, output, why = client.cluster.mon_command(
                    _MON_DUMP, b''
                )
            if status == 0:
                until = time.monotonic() + ADDRESSES_FOR
                self._addresses = place, until, _parse(output)
                return self._addresses[2]
        raise exception.VolumeBackendAPIException(
            data=f'mon dump failed with status {status}: {why}'
        )

    def _lend(self, place: Place, pool: str, connect: Connect) -> Connected:
        while True:
            connection, is_new = self._take(place)
            try:
                if is_new:
                    return self._open(connection, place, connect)
                connection.wait()
                ioctx = connection.rados and self._opened(connection, pool)
            except self._driver.rados.Error:
                # The stock driver also tries again and reports the failure.
                self._release(connection)
                return connect()
            except BaseException:
                # Also if a thread of eventlet was killed.
                self._release(connection)
                raise
            if ioctx is not None:
                return _Loan(connection), ioctx
            self._release(connection, is_lost=True)

    def _take(self, place: Place) -> tuple[_Connection, bool]:
        """Return the connection to use, and whether it must be opened."""
        ended = None
        with self._lock:
            former = self._current.get(place)
            if former and former.is_current and not former.is_outdated:
                former.users += 1
                return former, False
            connection = self._current[place] = _Connection(former)
            if former:
                former.is_current = False
                ended = _ended(former)
        self._shut_down(ended)
        return connection, True

    def _open(
        self,
        connection: _Connection,
        place: Place,
        connect: Connect,
    ) -> Connected:
        try:
            rados, ioctx = connect()
            name, conf, _user = place
            conf = conf or os.environ.get('CEPH_CONF')
            connection.opened(rados, conf or f'/etc/ceph/{name}.conf')
        except BaseException as error:
            connection.error = error
            connection.is_current = False
            raise
        return _Loan(connection), ioctx

    def _opened(
        self, connection: _Connection, pool: str
    ) -> bindings.Ioctx | None:
        """Return a context; None if no OSD responds to the connection."""
        ioctx: bindings.Ioctx = connection.rados.open_ioctx(pool)
        now = time.monotonic()
        if now - connection.verified_at < VERIFIED_FOR:
            return ioctx
        try:
            responds = self._responds(ioctx)
        except BaseException:
            ioctx.close()
            raise
        was_doubted = connection.is_doubted
        connection.is_doubted = not responds
        if responds or was_doubted:
            connection.verified_at = now + (0 if responds else UNCHECKED_FOR)
            return ioctx
        ioctx.close()
        LOG.warning(
            'Replacing a connection to the Ceph cluster, because no OSD '
            'responds to it'
        )
        return None

    def _responds(self, ioctx: Any) -> bool:
        """Return whether an OSD responds to a connection in time.

        The operation only reads, so a full cluster responds as well. Without
        buffer and callback, a late response cannot write to freed memory.
        """
        rados = self._driver.rados
        with rados.ReadOpCtx() as operation:
            operation.cmpext(b'\0', 0)
            completion = ioctx.operate_aio_read_op(operation, _OBJECT)
        until, pause = time.monotonic() + PATIENCE, _SHORTEST
        while not completion.is_complete():
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        return -completion.get_return_value() not in _UNUSABLE

    def _release(self, connection: _Connection, is_lost: bool = False) -> None:
        with self._lock:
            connection.users -= 1
            connection.is_current &= not is_lost
            ended = _ended(connection)
        self._shut_down(ended)

    def _shut_down(self, rados: Any) -> None:
        """Shut a connection down, which may take long, and do not wait."""
        if rados is not None:
            releases.in_thread(releases.unwrapped(rados).shutdown)


def _ended(connection: _Connection) -> Any:
    """Return what is to be shut down now, only once; the caller has locked."""
    if connection.is_current or connection.users:
        return None
    rados, connection.rados = connection.rados, None
    return rados


def _digest(files: Iterable[str]) -> str:
    """Return a digest of files: their times do not show every rotation."""
    contents = hashlib.sha256()
    for name in files:
        with contextlib.suppress(OSError):
            contents.update(b'\0' + pathlib.Path(name).read_bytes())
    return contents.hexdigest()


def _parse(output: bytes) -> Addresses:
    """Return hosts and ports from ``mon dump``, preferably of protocol 1."""
    hosts, ports = [], []
    for monitor in json.loads(output)['mons']:
        address, _, _nonce = monitor['addr'].rpartition('/')
        host, _, port = address.rpartition(':')
        hosts.append(host.strip('[]'))
        ports.append(port)
    return hosts, ports
