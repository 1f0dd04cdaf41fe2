# SPDX-License-Identifier: Apache-2.0

"""Check whether the Ceph user of a back end can write to a data pool.

librbd creates an image without that. Its writes and deletion then fail.
"""

from collections.abc import Callable
import contextlib
import time

from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from rbd_volume_options import errors
from rbd_volume_options.families import data_pool

LOG = logging.getLogger(__name__)

#: Seconds for which a pool counts as writable after a successful check.
LIFETIME = 300.0

# Seconds to wait for the pool, if the back end has no timeout of its own.
_PATIENCE = 10


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
            if number in data_pool.UNDECIDED:
                LOG.warning(
                    'Could not check whether data pool %(pool)s is writable; '
                    'it is used without the check: %(error)s',
                    {'pool': pool, 'error': error},
                )
                return
            # It names the capability that the user of the back end needs.
            raise data_pool.write_refusal(pool, origin, number) from error
        self._written[pool] = self._clock()

    def _write(self, pool: str) -> None:
        patience = self._driver.configuration.rados_connect_timeout
        if patience is None or patience < 0:
            patience = _PATIENCE
        client, ioctx = self._driver._connect_to_rados(None, None, patience)
        try:
            with contextlib.closing(client.open_ioctx(pool)) as data:
                # This uses a native thread if eventlet is used.
                releases.off_the_hub(data_pool.try_write)(
                    self._driver.rados, data, self._driver.host, LOG.debug
                )
        finally:
            self._driver._disconnect_from_rados(client, ioctx)
