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

"""What the back ends report about themselves, as the scheduler knows it."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import time
from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder.scheduler import rpcapi
from cinder.scheduler.filters import capabilities_filter
from oslo_log import log as logging
import oslo_messaging

from cinder_rbd_ext import backend
from cinder_rbd_ext.api import refusals

LOG = logging.getLogger(__name__)

#: Seconds for which an answer of the scheduler's is good. Back ends report
#: once a minute, so that this adds little to its age.
MAX_AGE = 10.0


@dataclasses.dataclass(frozen=True)
class Pool:
    """A pool of a back end.

    :ivar name: ``host@backend#pool``, as in a volume's ``host``
    :ivar capabilities: what it reports
    :ivar settings: what of that is ours; None for one without our driver
    """

    name: str
    capabilities: Mapping[str, Any]
    settings: backend.BackendSettings | None

    @property
    def backend(self) -> str:
        """The section of cinder.conf, for messages to operators."""
        return self.name.partition('#')[0]


class ReportedPools:
    """The pools that the scheduler knows, asked for every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._filter = capabilities_filter.CapabilitiesFilter()
        self._scheduler: Any = None
        self._pools: tuple[Pool, ...] = ()
        self._expires = 0.0

    def all(self) -> tuple[Pool, ...]:
        """Return the pools of all back ends that are up.

        :raises HTTPServiceUnavailable: where there is none yet, or the
            scheduler doesn't answer
        """
        if self._clock() >= self._expires or not self._pools:
            self._pools = self._ask()
            self._expires = self._clock() + MAX_AGE
        if not self._pools:
            raise refusals.unavailable(
                'No back end has reported its capabilities yet.'
            )
        return self._pools

    def _ask(self) -> tuple[Pool, ...]:
        if self._scheduler is None:
            self._scheduler = rpcapi.SchedulerAPI()
        admin = cinder_context.get_admin_context()
        try:
            found = self._scheduler.get_pools(admin, filters={})
        except (
            oslo_messaging.MessagingException,
            exception.ServiceNotFound,
        ) as error:
            LOG.warning('The scheduler does not tell its pools: %s', error)
            raise refusals.unavailable(
                'The scheduler does not answer, and so it is not known what '
                'the back ends offer.'
            ) from error
        return tuple(
            Pool(
                pool['name'],
                pool['capabilities'],
                backend.from_capabilities(pool['capabilities']),
            )
            for pool in found
        )

    def matching(self, specs: Mapping[str, str]) -> tuple[Pool, ...]:
        """Return the pools on which the scheduler may place a volume.

        By the extra specs of its type. How full a pool is and in which
        availability zone changes from volume to volume and is left out.

        :raises HTTPServiceUnavailable: as :meth:`all`
        """
        properties = {'resource_type': {'extra_specs': dict(specs)}}
        return tuple(
            pool for pool in self.all() if self._passes(pool, properties)
        )

    def _passes(self, pool: Pool, properties: dict[str, Any]) -> bool:
        try:
            return bool(self._filter.backend_passes(pool, properties))
        except (IndexError, TypeError, ValueError) as error:
            # An operand that the operator can't have, such as a bare '<or>'.
            # The scheduler fails on it too and places no volume.
            LOG.debug('Extra specs that compare with nothing: %s', error)
            return False

    def holding(self, volume: Any) -> Pool | None:
        """Return the pool that holds a volume; None where it isn't known.

        Pools of a clustered back end are named by the cluster.

        :param volume: Cinder's volume object
        """
        name = volume.service_topic_queue
        for pool in self.all():
            if pool.name == name:
                return pool
        return None
