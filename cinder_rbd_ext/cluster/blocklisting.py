# SPDX-License-Identifier: Apache-2.0

"""Failures of operations whose connection to the cluster was lost.

The OSDs refuse a client on the cluster's blocklist at once, with
``ESHUTDOWN``. Monitors still respond. It never recovers; a new connection
works.
"""

from collections.abc import Callable
import errno
import functools
from typing import Any
from typing import TypeVar

from oslo_log import log as logging

from cinder_rbd_ext import protocols

LOG = logging.getLogger(__name__)

#: Errors after which a connection is permanently unusable.
LOST = frozenset((errno.ESHUTDOWN, errno.ENOTCONN))

#: Methods that undo a failure, or that continue where they failed.
REPEATABLE = (
    'create_volume',
    'create_volume_from_snapshot',
    'create_cloned_volume',
    'delete_volume',
    'delete_snapshot',
    'extend_volume',
    'initialize_connection',
    '_update_volume_stats',
)

_Driver = TypeVar('_Driver', bound=type[Any])


def numbers(error: BaseException | None) -> frozenset[int]:
    """Return the error numbers of an exception and of its causes.

    The stock driver wraps some exceptions of librbd in its own.
    """
    result = set()
    seen = set()
    left = [error]
    while left:
        cause = left.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        left += [cause.__cause__, cause.__context__]
        number = getattr(cause, 'errno', None)
        if isinstance(number, int):
            result.add(number)
    return frozenset(result)


def repeating(driver: _Driver) -> _Driver:
    """Decorate a driver whose :data:`REPEATABLE` methods run a second time."""
    for name in REPEATABLE:
        setattr(driver, name, _repeated(getattr(driver, name)))
    return driver


def is_repeated(driver: protocols.Driver, error: BaseException) -> bool:
    """Return whether an operation that fails with an error is repeated."""
    return driver.sharing.is_on and not LOST.isdisjoint(numbers(error))


def _repeated(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *args: object, **kwargs: object) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if not is_repeated(self, error):
                raise
            LOG.warning(
                'The Ceph cluster refused a connection during %(name)s; '
                'trying again with a new connection: %(error)s',
                {'name': method.__name__, 'error': error},
            )
        return method(self, *args, **kwargs)

    return run
