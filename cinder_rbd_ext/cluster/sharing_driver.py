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

"""The stock RBD driver, with connections that its operations share."""

from collections.abc import Iterator
import contextlib
import contextvars
import functools
import sys
from typing import Any

from cinder.volume.drivers import rbd

from cinder_rbd_ext import opts
from cinder_rbd_ext.cluster import identity
from cinder_rbd_ext.cluster import monitors
from cinder_rbd_ext.cluster import shared_clients

# Whether the current thread runs an operation that takes long.
_alone = contextvars.ContextVar('_alone', default=False)


@contextlib.contextmanager
def _own_connection() -> Iterator[None]:
    """Have operations connect as the stock driver does.

    Flattening and copying may take hours and use the full capacity of a
    connection.
    """
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


class SharingDriver(rbd.RBDDriver):
    """Makes all code of the stock driver share connections.

    This is a base class of our driver and not one of its collaborators: the
    stock driver itself calls these methods, and only a subclass can replace
    them. They are not in ``RBDExtDriver``, whose subject is volumes. The work
    is done by collaborators: :class:`SharedClients` lends connections,
    :class:`Monitors` queries the addresses of the monitors.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clients = shared_clients.SharedClients(self)
        self._monitors = monitors.Monitors(
            self, lambda: self._clients.replaced
        )

    @property
    def shares_connections(self) -> bool:
        """Whether the operations of the back end share connections."""
        shared = self.configuration.safe_get(opts.SHARE_CONNECTIONS)
        return shared is True

    def own_connection(self) -> contextlib.AbstractContextManager[None]:
        """Have a long operation use a separate connection."""
        return _own_connection()

    def _connect_to_rados(
        self, pool: Any = None, remote: Any = None, timeout: Any = None
    ) -> Any:
        """Return a connection that other operations may use too.

        The context has the flag ``full_try``, which librbd adopts. With this
        flag, full OSDs perform deletions and reject other changes. By default,
        librados blocks all changes until there is space.
        """
        connect = functools.partial(
            super()._connect_to_rados, pool, remote, timeout
        )
        if _alone.get() or not self.shares_connections:
            client, ioctx = connect()
        else:
            name, conf, user, _secret = self._get_config_tuple(remote)
            if timeout is None:
                timeout = self.configuration.rados_connect_timeout
            client, ioctx = self._clients.lend(
                identity.Place(name, conf, user, timeout),
                self.configuration.rbd_pool if pool is None else pool,
                connect,
            )
        ioctx.set_osdmap_full_try()
        return client, ioctx

    def _disconnect_from_rados(self, client: Any, ioctx: Any) -> None:
        """Return a shared connection, or shut down a separate one."""
        if not self._clients.give_back(ioctx, sys.exc_info()[1]):
            super()._disconnect_from_rados(client, ioctx)

    def _get_mon_addrs(self) -> Any:
        """Return the addresses of the monitors without running a program."""
        if not self.shares_connections:
            return super()._get_mon_addrs()
        return self._monitors.addresses()

    # Operations that take long

    def _flatten(self, pool: Any, volume_name: Any) -> None:
        with _own_connection():
            super()._flatten(pool, volume_name)

    def _flatten_volume(self, image_name: Any, client: Any) -> None:
        with _own_connection(), rbd.RADOSClient(self) as own:
            super()._flatten_volume(image_name, own)

    def create_cloned_volume(self, volume: Any, src_vref: Any) -> Any:
        """Clone a volume; copy it on a separate connection."""
        copies = self.configuration.rbd_max_clone_depth <= 0
        with _own_connection() if copies else contextlib.nullcontext():
            return super().create_cloned_volume(volume, src_vref)

    def revert_to_snapshot(
        self, context: Any, volume: Any, snapshot: Any
    ) -> None:
        """Copy a snapshot back, on a separate connection."""
        with _own_connection():
            super().revert_to_snapshot(context, volume, snapshot)

    def migrate_volume(self, context: Any, volume: Any, host: Any) -> Any:
        """Copy a volume to another pool, on a separate connection."""
        with _own_connection():
            return super().migrate_volume(context, volume, host)
