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

"""The pools of a cluster that a back end can use as data pools.

The form for extra specs offers them. Only a write shows that the Ceph user of
the back end may write to a pool and that the pool supports overwrites.
"""

from collections.abc import Callable
import errno
import threading
import time
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext.cluster import write_probe

LOG = logging.getLogger(__name__)

#: Seconds between two searches for data pools.
LIFETIME = 600.0

#: The maximum number of pools to which a search writes.
MAXIMUM = 50

# The application of a pool that "rbd pool init" enables.
_RBD = 'rbd'


class DataPools:
    """The pools that have the application ``rbd`` and that can be written.

    The pool of the back end is not one of them. A search writes an object to
    each pool and runs in the background, because the statistics of the back
    end must not wait for it.

    :param driver: the driver, which provides connections
    :param clock: returns the time in seconds
    """

    def __init__(
        self, driver: Any, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._next = clock()
        self._running = False
        self._slow: set[str] = set()
        #: Sorted names from the last search; None until the first search has
        #: ended.
        self.names: list[str] | None = None

    def start(self) -> None:
        """Search in the background, at most once in :data:`LIFETIME`.

        This is called whenever Cinder requests the statistics of the driver. A
        driver without a host belongs to a command or a test, and does not
        search.
        """
        if (
            self._driver.host is None
            or self._running
            or self._clock() < self._next
        ):
            return
        self._next = self._clock() + LIFETIME
        self._running = True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.search()
        except Exception as error:
            LOG.warning('Could not search for data pools: %s', error)
        finally:
            self._running = False

    def search(self) -> None:
        """Find the pools and store their names.

        The search ends at the first pool that does not respond. The next one
        tries that pool last.

        :raises rados.Error: if the cluster does not respond
        """
        writable = []
        with write_probe.connected(self._driver) as client:
            for pool in self._candidates(client):
                try:
                    write_probe.write(self._driver, client, pool)
                except self._driver.rados.Error as error:
                    if getattr(error, 'errno', None) == errno.ETIMEDOUT:
                        LOG.warning(
                            'Pool %s does not respond; the search for data '
                            'pools ends',
                            pool,
                        )
                        self._slow.add(pool)
                        break
                    LOG.debug('Pool %s is not a data pool: %s', pool, error)
                else:
                    writable.append(pool)
                self._slow.discard(pool)
        self.names = sorted(writable)

    def _candidates(self, client: Any) -> list[str]:
        """Return the other pools with the application, slow pools last.

        The client already has the map of all pools, so this sends no requests.
        """
        own = self._driver.configuration.rbd_pool
        pools = [
            pool
            for pool in sorted(client.list_pools())
            if pool != own and self._has_application(client, pool)
        ]
        if len(pools) > MAXIMUM:
            LOG.info(
                'Only %(maximum)d of %(count)d pools are reported as data '
                'pools',
                {'maximum': MAXIMUM, 'count': len(pools)},
            )
        pools.sort(key=lambda pool: pool in self._slow)
        return pools[:MAXIMUM]

    def _has_application(self, client: Any, pool: str) -> bool:
        try:
            with client.open_ioctx(pool) as ioctx:
                return _RBD in ioctx.application_list()
        except self._driver.rados.Error:
            # The pool was deleted in the meantime.
            return False
