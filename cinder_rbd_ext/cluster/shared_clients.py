# SPDX-License-Identifier: Apache-2.0

"""The connections to Ceph clusters that the operations of a driver share.

The stock driver connects for each operation, which costs tens of milliseconds,
12 descriptors and 12 threads. A connection that is found to be unusable is
shut down when its last operation has ended.
"""

from collections.abc import Callable
import dataclasses
import enum
import errno
import sys
import time
from typing import Any

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.cluster import identity
from rbd_volume_options import bindings

LOG = logging.getLogger(__name__)

#: Number of operations on each connection before another one is opened.
CROWD = 16

# Seconds that a command to a monitor may take, if neither the back end nor
# Ceph's configuration has a limit. By default, librados waits forever.
_MONITOR_PATIENCE = 4

# Seconds between two looks at what another operation does.
_PAUSE = 0.005

_MON_TIMEOUT = 'rados_mon_op_timeout'

_UNUSABLE = (-errno.ESHUTDOWN, -errno.ENOTCONN, -errno.ETIMEDOUT)

#: Maximum number of connections to one cluster for new operations.
MOST = 4

#: Seconds after which an unused connection is shut down. The statistics of a
#: back end are collected more often by default.
LONGEST_IDLE = 120.0

#: Seconds after which a connection is replaced.
LONGEST_LIFE = 3600.0

#: Seconds for which the response of an OSD shows that a connection is usable.
VERIFIED_FOR = 1.0

#: Seconds for which a new connection is not checked again, if there is no
#: response to it either. Operations on other OSDs may succeed.
SILENT_FOR = 30.0

#: Seconds to wait for an OSD. Together with the time for a new connection, an
#: operation must be able to begin within ten seconds.
PATIENCE = 4.0

# Name of an object that does not exist; it is not created.
_OBJECT = 'cinder-connection-probe'

# Seconds between two checks of the operation. The first intervals are short:
# an idle OSD responds within a millisecond.
_SHORTEST, _LONGEST = 0.0002, 0.02

_LOST = blocklisting.LOST | blocklisting.UNAUTHORIZED

Connected = tuple[Any, Any]
Connect = Callable[[], Connected]


class Answer(enum.Enum):
    """What an OSD answers to a connection."""

    #: Any response, even a refusal because of missing capabilities.
    RESPONDED = enum.auto()
    #: The connection is permanently unusable.
    REFUSED = enum.auto()
    #: No response in time. The connection or the OSD may be the cause.
    SILENT = enum.auto()


@dataclasses.dataclass
class Attempt:
    """A connection that is being opened or checked."""

    done: bool = False
    error: BaseException | None = None

    def wait(self) -> None:
        """Wait until the operation that makes the attempt ends, or fails."""
        while not self.done:
            time.sleep(_PAUSE)
        if isinstance(self.error, exception.VolumeBackendAPIException):
            raise exception.VolumeBackendAPIException(
                message=str(self.error)
            ) from self.error


class SharedClient:
    """A connection and the operations that use it.

    :ivar verified_at: when an OSD last responded to it
    :ivar idle_since: when the last operation ended
    :ivar retired: whether new operations no longer use it
    :ivar has_responded: whether an OSD has responded to a check
    """

    def __init__(self, rados: Any, now: float) -> None:
        self.rados = rados
        self.users = 1
        self.made_at = self.verified_at = self.idle_since = now
        self.retired = self.has_responded = False
        self.check: Attempt | None = None
        if float(rados.conf_get(_MON_TIMEOUT) or 0) == 0:
            rados.conf_set(_MON_TIMEOUT, str(_MONITOR_PATIENCE))


@dataclasses.dataclass
class Group:
    """The connections for new operations of a user on a cluster.

    :ivar silent_since: when connections were replaced because the OSDs did not
        respond; None if they have responded since
    """

    digest: str
    clients: list[SharedClient] = dataclasses.field(default_factory=list)
    attempt: Attempt | None = None
    silent_since: float | None = None

    def suspects(
        self, client: SharedClient, began: float
    ) -> list[SharedClient]:
        """Return the connections to replace after a check without a response.

        The cause is probably the same for all: an expired key, or addresses of
        OSDs that have changed. If there is no response to a new connection
        either, the OSDs are the cause.
        """
        since = self.silent_since
        is_new = since is not None and client.made_at >= since
        if is_new and not client.has_responded:
            return []
        return [
            each
            for each in self.clients
            if each is client or each.verified_at < began
        ]


@dataclasses.dataclass(frozen=True)
class Loan:
    """The use of a connection by an operation.

    :ivar ioctx: keeps the object, whose identity is the key of the loan
    :ivar handled: the exception that was being handled when it began
    """

    client: SharedClient
    ioctx: Any
    handled: BaseException | None


class LeasedClient:
    """A shared connection, as one operation sees it."""

    def __init__(self, client: SharedClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client.rados, name)

    def mon_command(self, *args: object, **kwargs: object) -> Any:
        """Send a command to a monitor; a failure retires the connection."""
        result = self._client.rados.mon_command(*args, **kwargs)
        if result[0] in _UNUSABLE:
            self._client.retired = True
        return result


class SharedClients:
    """Lends connections to operations."""

    def __init__(
        self,
        driver: protocols.Driver,
        clock: Callable[[], float] = time.monotonic,
        in_thread: Callable[[Callable[[], Any]], Any] = releases.in_thread,
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._in_thread = in_thread
        self._digests = identity.Digests(driver)
        self._forget()
        releases.after_fork(self._abandon)

    def _forget(self) -> None:
        # This lock is held only briefly, and never during a blocking call.
        self._lock = releases.native_lock()
        self._groups: dict[identity.Place, Group] = {}
        self._open: set[SharedClient] = set()
        self._lent: dict[int, Loan] = {}
        self.replaced = 0

    def _abandon(self) -> None:
        """Forget all connections, in a process that was forked.

        Their threads do not exist there: a shutdown would wait forever.
        """
        for client in self._open:
            releases.unwrapped(client.rados).state = 'shutdown'
        self._forget()

    def lend(
        self, place: identity.Place, pool: str, connect: Connect
    ) -> Connected:
        """Return a connection and a context for a pool, for one operation.

        :raises VolumeBackendAPIException: if it could not be opened
        """
        digest = self._digests.digest(place)
        while True:
            with self._lock:
                group = self._group(place, digest)
                client, attempt = self._choose(group)
                ended = self._ended()
            self._shut_down(ended)
            if client is not None:
                connected = self._opened(group, client, pool, connect)
                if connected is not None:
                    return connected
            elif attempt is not None:
                attempt.wait()
            else:
                return self._connected(place, group, connect)

    def give_back(
        self, ioctx: bindings.Ioctx, error: BaseException | None
    ) -> bool:
        """End the use of a connection; return whether it was a shared one."""
        with self._lock:
            loan = self._lent.pop(id(ioctx), None)
        if loan is None:
            return False
        numbers = blocklisting.numbers(error, loan.handled)
        try:
            ioctx.close()
        finally:
            self._put_back(
                loan.client,
                lost=not _LOST.isdisjoint(numbers),
                doubtful=not blocklisting.DOUBTFUL.isdisjoint(numbers),
            )
        return True

    # The caller must hold the lock.

    def _group(self, place: identity.Place, digest: str) -> Group:
        """Return the group of a user; retire those with an earlier key."""
        group = self._groups.get(place)
        if group is None or group.digest != digest:
            if group is not None:
                self._retire(group.clients)
            group = self._groups[place] = Group(digest)
        oldest = self._clock() - LONGEST_LIFE
        self._retire([c for c in group.clients if c.made_at < oldest])
        group.clients = [c for c in group.clients if not c.retired]
        return group

    def _choose(
        self, group: Group
    ) -> tuple[SharedClient | None, Attempt | None]:
        """Return a connection to use, or one to wait for, or neither."""
        best = min(group.clients, key=lambda c: c.users, default=None)
        full = len(group.clients) >= MOST or group.attempt is not None
        if best is not None and (full or best.users < CROWD):
            best.users += 1
            return best, None
        if group.attempt is not None:
            return None, group.attempt
        group.attempt = Attempt()
        return None, None

    def _retire(self, clients: list[SharedClient]) -> None:
        for client in clients:
            if not client.retired:
                client.retired = True
                self.replaced += 1

    def _ended(self) -> list[SharedClient]:
        oldest = self._clock() - LONGEST_IDLE
        ended = [
            client
            for client in self._open
            if client.users == 0
            and (client.retired or client.idle_since < oldest)
        ]
        self._retire(ended)
        self._open.difference_update(ended)
        return ended

    # The caller must not hold the lock, because a shutdown may block.

    def _put_back(
        self, client: SharedClient, lost: bool = False, doubtful: bool = False
    ) -> None:
        with self._lock:
            client.users -= 1
            client.idle_since = self._clock()
            if doubtful:
                client.verified_at -= VERIFIED_FOR
            if lost:
                self._retire([client])
            ended = self._ended()
        self._shut_down(ended)

    def _shut_down(self, clients: list[SharedClient]) -> None:
        """Shut connections down; the operation does not fail with this."""
        for client in clients:
            try:
                self._in_thread(releases.unwrapped(client.rados).shutdown)
            except Exception:
                LOG.exception(
                    'Could not shut down a connection to the Ceph cluster; '
                    'trying again later'
                )
                with self._lock:
                    self._open.add(client)

    def _connected(
        self, place: identity.Place, group: Group, connect: Connect
    ) -> Connected:
        attempt = group.attempt or Attempt()
        try:
            rados, ioctx = connect()
            client = SharedClient(rados, self._clock())
        except BaseException as error:
            attempt.error = error
            raise
        else:
            with self._lock:
                self._open.add(client)
                group.clients.append(client)
                client.retired = self._groups.get(place) is not group
            return self._lent_to(client, ioctx)
        finally:
            group.attempt = None
            attempt.done = True

    def _lent_to(
        self, client: SharedClient, ioctx: bindings.Ioctx
    ) -> Connected:
        # An operation that cleans up after a failure runs while the failure is
        # being handled, and it is not a failure of this connection.
        loan = Loan(client, ioctx, sys.exc_info()[1])
        with self._lock:
            self._lent[id(ioctx)] = loan
        return LeasedClient(client), ioctx

    def _opened(
        self, group: Group, client: SharedClient, pool: str, connect: Connect
    ) -> Connected | None:
        try:
            ioctx = client.rados.open_ioctx(pool)
        except self._driver.rados.Error:
            self._put_back(client, doubtful=True)
        except BaseException:
            # A thread of eventlet was killed.
            self._put_back(client)
            raise
        else:
            try:
                usable = self._is_usable(group, client, ioctx)
            except BaseException:
                ioctx.close()
                self._put_back(client, doubtful=True)
                raise
            if usable:
                return self._lent_to(client, ioctx)
            ioctx.close()
            self._put_back(client)
            return None
        # The stock driver also tries again and reports the failure.
        return connect()

    def _is_usable(
        self, group: Group, client: SharedClient, ioctx: bindings.Ioctx
    ) -> bool:
        while True:
            with self._lock:
                if client.retired:
                    return False
                if self._clock() - client.verified_at < VERIFIED_FOR:
                    return True
                running = client.check
                if running is None:
                    check = client.check = Attempt()
                    break
            running.wait()
        try:
            self._check(group, client, ioctx)
        finally:
            client.check = None
            check.done = True
        return not client.retired

    def _check(
        self, group: Group, client: SharedClient, ioctx: bindings.Ioctx
    ) -> None:
        began = self._clock()
        answer = ask(self._driver.rados, ioctx)
        with self._lock:
            replaced = []
            if answer is Answer.RESPONDED:
                client.verified_at, client.has_responded = began, True
                group.silent_since = None
            elif answer is Answer.REFUSED:
                replaced = [client]
            elif replaced := group.suspects(client, began):
                group.silent_since = self._clock()
            else:
                client.verified_at = self._clock() + SILENT_FOR
            self._retire(replaced)
        if replaced:
            LOG.warning(
                'Replacing %d connections to the Ceph cluster, because the '
                'OSDs do not respond',
                len(replaced),
            )
        elif answer is Answer.SILENT:
            LOG.warning(
                'The OSDs do not respond to a new connection to the Ceph '
                'cluster either; it is used unchecked for some time'
            )


def ask(
    rados: Any,
    ioctx: bindings.Ioctx,
    patience: float = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Return whether an OSD responds to a connection within some seconds.

    The operation only reads, so a full cluster responds as well. Without
    buffer and callback, a late response cannot write to freed memory.
    """
    with rados.ReadOpCtx() as operation:
        operation.cmpext(b'\0', 0)
        try:
            completion = ioctx.operate_aio_read_op(operation, _OBJECT)
        except rados.Error:
            return Answer.REFUSED
    wait, waited = _SHORTEST, 0.0
    while not completion.is_complete():
        if waited >= patience:
            return Answer.SILENT
        sleep(wait)
        waited += wait
        wait = min(2 * wait, _LONGEST)
    number = -completion.get_return_value()
    if number in blocklisting.LOST:
        return Answer.REFUSED
    if number in blocklisting.DOUBTFUL:
        return Answer.SILENT
    return Answer.RESPONDED
