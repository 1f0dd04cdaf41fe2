# SPDX-License-Identifier: Apache-2.0

"""Decides which connection to the cluster an operation uses."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
import sys
from typing import Any

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import identity
from cinder_rbd_ext.cluster import monitors
from cinder_rbd_ext.cluster import shared_clients
from rbd_volume_options import bindings

# Whether the current thread runs an operation that takes long.
_alone = contextvars.ContextVar('_alone', default=False)


@contextlib.contextmanager
def own_connection() -> Iterator[None]:
    """Have long operations connect as the stock driver does."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


class Sharing:
    """The connections that the operations of a driver share."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._clients = shared_clients.SharedClients(driver)
        self._monitors = monitors.Monitors(
            driver, lambda: self._clients.replaced
        )

    @property
    def is_on(self) -> bool:
        """Whether the operations of the back end share connections."""
        shared = self._driver.configuration.safe_get(opts.SHARE_CONNECTIONS)
        return shared is True

    def connect(
        self,
        driver: protocols.Driver,
        stock: Callable[..., Any],
        pool: Any = None,
        remote: Any = None,
        timeout: Any = None,
    ) -> Any:
        """Return a connection that other operations may use too.

        By its flag ``full_try``, which librbd adopts, full OSDs perform
        deletions and reject other changes, instead of blocking all.
        """
        connect = functools.partial(stock, pool, remote, timeout)
        if _alone.get() or not self.is_on:
            client, ioctx = connect()
        else:
            name, conf, user, _secret = driver._get_config_tuple(remote)
            if timeout is None:
                timeout = driver.configuration.rados_connect_timeout
            client, ioctx = self._clients.lend(
                identity.Place(name, conf, user, timeout),
                driver.configuration.rbd_pool if pool is None else pool,
                connect,
            )
        ioctx.set_osdmap_full_try()
        return client, ioctx

    def give_back(self, ioctx: bindings.Ioctx) -> bool:
        """End the use of a connection; return False for a separate one."""
        return self._clients.give_back(ioctx, sys.exc_info()[1])

    def addresses(self, stock: Callable[[], Any]) -> Any:
        """Return the addresses of the monitors without running a program."""
        return self._monitors.addresses() if self.is_on else stock()

    def of_clone(self) -> contextlib.AbstractContextManager[None]:
        """Have a clone of a volume use a separate connection if it copies."""
        copies = self._driver.configuration.rbd_max_clone_depth <= 0
        return own_connection() if copies else contextlib.nullcontext()
