# SPDX-License-Identifier: Apache-2.0

"""Check whether the Ceph user of a back end can write to a data pool.

librbd creates an image without that. Its writes and deletion then fail.
"""

from collections.abc import Callable
import contextlib
import errno
import time
from typing import Any
import uuid

from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from rbd_volume_options import bindings
from rbd_volume_options import errors
from rbd_volume_options import keys

LOG = logging.getLogger(__name__)

#: Seconds for which a pool counts as writable after a successful check.
LIFETIME = 300.0

# Seconds to wait for the pool, if the back end has no timeout of its own.
_PATIENCE = 10

# If the pool is full, an OSD responds at once instead of blocking the
# operation until there is space (LIBRADOS_OPERATION_FULL_TRY, not in the
# binding).
_FULL_TRY = 64

# The name has the prefix of data objects, because capabilities can be limited
# to a prefix. It is the same for each probe of a service, so that the next one
# removes what a killed service left.
_OBJECT = 'rbd_data.cinder-probe.'

# These errors do not depend on the user's capabilities and are ignored.
_UNDECIDED = (errno.ETIMEDOUT, errno.ENOSPC, errno.EDQUOT)


class PoolProbe:
    """Writes an object to a data pool and removes it."""

    def __init__(
        self,
        driver: protocols.Driver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._written: dict[str, float] = {}

    def check(self, pool: str, origin: errors.Origin) -> None:
        """Check that a pool exists and can be written.

        A success is cached for :data:`LIFETIME`, a failure is not.

        :raises OptionError: for a pool that cannot be used
        """
        written = self._written.get(pool)
        if written is not None and self._clock() - written < LIFETIME:
            return
        try:
            self._write(pool)
        except self._driver.rados.Error as error:
            number = getattr(error, 'errno', None) or 0
            if number in _UNDECIDED:
                LOG.warning(
                    'Could not check whether data pool %(pool)s is writable; '
                    'it is used without the check: %(error)s',
                    {'pool': pool, 'error': error},
                )
                return
            raise self._refusal(pool, origin, number) from error
        self._written[pool] = self._clock()

    def _write(self, pool: str) -> None:
        patience = self._driver.configuration.rados_connect_timeout
        if patience is None or patience < 0:
            patience = _PATIENCE
        client, ioctx = self._driver._connect_to_rados(None, None, patience)
        try:
            with contextlib.closing(client.open_ioctx(pool)) as data:
                # This uses a native thread if eventlet is used.
                releases.off_the_hub(_try_out)(
                    self._driver.rados, data, self._driver.host
                )
        finally:
            self._driver._disconnect_from_rados(client, ioctx)

    def _refusal(
        self, pool: str, origin: errors.Origin, number: int
    ) -> errors.OptionError:
        if number == errno.ENOENT:
            reason = 'the pool does not exist'
            allowed = 'a pool of the Ceph cluster'
        elif number == errno.EOPNOTSUPP:
            reason = 'the pool does not allow overwrites'
            allowed = 'an erasure-coded pool with allow_ec_overwrites'
        else:
            name = errno.errorcode.get(number, 'unknown')
            reason = (
                'the back end cannot write to the pool '
                f'(errno {number}, {name})'
            )
            allowed = (
                'a pool for which the user has the OSD capability '
                f"'profile rbd pool={pool}'"
            )
            LOG.error(
                'client.%(user)s cannot write to data pool %(pool)s; add the '
                "OSD capability 'profile rbd pool=%(pool)s' to the user",
                {'user': self._driver.configuration.rbd_user, 'pool': pool},
            )
        return errors.OptionError(
            keys.DATA_POOL, pool, reason, allowed, origin
        )


def _try_out(rados: Any, ioctx: bindings.Ioctx, host: str | None) -> None:
    """Write an object, overwrite a part of it and remove it."""
    name = f'{_OBJECT}{uuid.uuid5(uuid.NAMESPACE_DNS, str(host)).hex}'

    def operate(fill: Callable[[Any], None]) -> None:
        with rados.WriteOpCtx() as operation:
            fill(operation)
            ioctx.operate_write_op(operation, name, flags=_FULL_TRY)

    try:
        operate(lambda operation: operation.write_full(b'probe'))
        operate(lambda operation: operation.write(b'P', 1))
    finally:
        try:
            operate(lambda operation: operation.remove())
        except rados.Error as error:
            # This error is not raised: an error of the write is more
            # important, and otherwise only a small object remains.
            LOG.debug('Could not remove object %s: %s', name, error)
