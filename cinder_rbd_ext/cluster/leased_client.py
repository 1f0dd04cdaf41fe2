# SPDX-License-Identifier: Apache-2.0

"""One connection to a Ceph cluster that several operations use."""

import dataclasses
import errno
import time
from typing import Any

from cinder import exception

#: Number of operations on each connection before another one is opened.
CROWD = 16

# Seconds that a command to a monitor may take, if neither the back end nor
# Ceph's configuration has a limit. By default, librados waits forever.
_MONITOR_PATIENCE = 4

# Seconds between two looks at what another operation does.
_PAUSE = 0.005

_MON_TIMEOUT = 'rados_mon_op_timeout'

_UNUSABLE = (-errno.ESHUTDOWN, -errno.ENOTCONN, -errno.ETIMEDOUT)


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

    @property
    def is_crowded(self) -> bool:
        """Whether a further operation should use another connection."""
        return self.users >= CROWD


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
