# SPDX-License-Identifier: Apache-2.0

"""Decides which connection to the cluster an operation uses."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
import sys
from typing import Any
from typing import TypeVar

from cinder.volume.drivers import rbd

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import identity
from cinder_rbd_ext.cluster import monitors
from cinder_rbd_ext.cluster import shared_clients

#: Methods of the stock driver that take long. It calls some of them on itself.
LONG = ('_flatten', 'revert_to_snapshot')

# Whether the current thread runs an operation that takes long.
_alone = contextvars.ContextVar('_alone', default=False)

_Driver = TypeVar('_Driver', bound=type[Any])


@contextlib.contextmanager
def own_connection() -> Iterator[None]:
    """Have operations connect as the stock driver does.

    Flattening and copying may take hours and use the full capacity of a
    connection.
    """
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def separating(driver: _Driver) -> _Driver:
    """Decorate a driver whose long operations use separate connections."""
    for name in LONG:
        setattr(driver, name, _separate(driver, name))
    driver._flatten_volume = _flatten_volume(driver)
    return driver


def _flatten_volume(driver: type[Any]) -> Callable[..., Any]:
    @functools.wraps(driver._flatten_volume)
    def run(self: Any, image_name: Any, client: protocols.Client) -> Any:
        with own_connection(), rbd.RADOSClient(self) as own:
            return super(driver, self)._flatten_volume(image_name, own)

    return run


def _separate(driver: type[Any], name: str) -> Callable[..., Any]:
    own = vars(driver).get(name)

    @functools.wraps(getattr(driver, name))
    def run(self: Any, *args: object, **kwargs: object) -> Any:
        with own_connection():
            if own:
                return own(self, *args, **kwargs)
            return getattr(super(driver, self), name)(*args, **kwargs)

    return run


class Sharing:
    """The connections that the operations of a driver share.

    :class:`SharedClients` lends connections, :class:`Monitors` queries the
    addresses of the monitors.
    """

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

        The context has the flag ``full_try``, which librbd adopts. With this
        flag, full OSDs perform deletions and reject other changes. By default,
        librados blocks all changes until there is space.

        :param driver: the driver, or a view of it with another pool
        :param stock: the stock method, which connects
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

    def give_back(self, ioctx: protocols.Ioctx) -> bool:
        """End the use of a connection; return False for a separate one.

        An exception that is being handled shows how the operation ended.
        """
        return self._clients.give_back(ioctx, sys.exc_info()[1])

    def addresses(self, stock: Callable[[], Any]) -> Any:
        """Return the addresses of the monitors without running a program.

        :param stock: the stock method, which runs one
        """
        return self._monitors.addresses() if self.is_on else stock()

    def of_clone(self) -> contextlib.AbstractContextManager[None]:
        """Have a clone of a volume use a separate connection if it copies."""
        copies = self._driver.configuration.rbd_max_clone_depth <= 0
        return own_connection() if copies else contextlib.nullcontext()
