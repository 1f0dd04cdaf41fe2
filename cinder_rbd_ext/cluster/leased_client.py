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

"""One connection to a Ceph cluster that several operations use."""

import errno
from typing import Any

#: Number of operations on each connection before another one is opened.
CROWD = 16

# Seconds that a command to a monitor may take, if neither the back end nor
# Ceph's configuration has a limit. By default, librados waits forever.
_MONITOR_PATIENCE = 10

_MON_TIMEOUT = 'rados_mon_op_timeout'

_UNUSABLE = (-errno.ESHUTDOWN, -errno.ENOTCONN, -errno.ETIMEDOUT)


class SharedClient:
    """A connection and the operations that use it.

    :ivar rados: the connection
    :ivar users: the number of operations that use it
    :ivar made_at: when it was opened
    :ivar verified_at: when an OSD last responded to it
    :ivar idle_since: when the last operation ended
    :ivar retired: whether new operations no longer use it
    """

    def __init__(self, rados: Any, now: float) -> None:
        self.rados = rados
        self.users = 1
        self.made_at = self.verified_at = self.idle_since = now
        self.retired = False
        if float(rados.conf_get(_MON_TIMEOUT) or 0) == 0:
            rados.conf_set(_MON_TIMEOUT, str(_MONITOR_PATIENCE))

    @property
    def is_crowded(self) -> bool:
        """Whether a further operation should use another connection."""
        return self.users >= CROWD


class LeasedClient:
    """A shared connection, as one operation sees it.

    :param client: the connection
    """

    def __init__(self, client: SharedClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client.rados, name)

    def mon_command(self, *args: Any, **kwargs: Any) -> Any:
        """Send a command to a monitor; a failure retires the connection."""
        result = self._client.rados.mon_command(*args, **kwargs)
        if result[0] in _UNUSABLE:
            self._client.retired = True
        return result
