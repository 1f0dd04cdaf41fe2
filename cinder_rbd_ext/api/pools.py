# SPDX-License-Identifier: Apache-2.0

"""The reports of the back ends, from the scheduler."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import threading
import time
from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.common import constants
from cinder.scheduler import rpcapi
from cinder.scheduler.filters import capabilities_filter
from cinder.volume import volume_utils
from oslo_log import log as logging
import oslo_messaging

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import refusals
from rbd_volume_options import backend_settings

LOG = logging.getLogger(__name__)

#: Seconds for which a response of the scheduler is valid. Back ends report
#: once a minute, so this adds little to the age of a report.
MAX_AGE = 10.0
#: Seconds for which it is valid if it has no pool, or not the requested one.
MIN_AGE = 3.0
#: Seconds for which a failed request is not repeated.
MAX_FAILURE_AGE = 5.0
#: The same for requests that do not require the pools.
MAX_FAILURE_AGE_WITHOUT_KEYS = 60.0
#: Seconds that a request waits for the scheduler. Cinder's own timeout,
#: rpc_response_timeout, would block a worker of the API for a minute.
TIMEOUT = 3.0


@dataclasses.dataclass(frozen=True)
class Pool:
    """A pool of a back end, named ``host@backend#pool``.

    :ivar capabilities: the report of the back end
    :ivar settings: our settings in it; None without our driver
    """

    name: str
    capabilities: Mapping[str, Any]
    settings: backend_settings.BackendSettings | None

    @property
    def is_ours(self) -> bool:
        """Whether it has our driver, of this or another release."""
        return backend_settings.is_ours(self.capabilities)


class ReportedPools:
    """The pools that the scheduler knows, cached for a few seconds.

    Only one request at a time queries the scheduler. Concurrent requests use
    the last response, or wait for the first one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._filter = capabilities_filter.CapabilitiesFilter()
        self._scheduler: Any = None
        self._asking = threading.Lock()
        #: None if the last request to the scheduler failed.
        self._pools: tuple[Pool, ...] | None = ()
        #: The last pools from the scheduler.
        self._known: tuple[Pool, ...] = ()
        self._asked = self._expires = float('-inf')

    def all(self) -> tuple[Pool, ...]:
        """Return the pools of all back ends that are up.

        :raises HTTPServiceUnavailable: if no back end has reported, or if the
            scheduler does not respond within :data:`TIMEOUT`
        """
        if self._clock() >= self._expires:
            self._refresh()
        reported = self._pools
        if reported is None:
            raise refusals.unavailable(
                'Could not get the pools from the scheduler.'
            )
        if not reported:
            raise refusals.unavailable(
                'No back end has reported its capabilities yet.'
            )
        return reported

    def known(self) -> tuple[Pool, ...]:
        """Return the last pools; query once a minute after a failure."""
        now = self._clock()
        if now >= self._expires and (
            self._pools is not None
            or now >= self._asked + MAX_FAILURE_AGE_WITHOUT_KEYS
        ):
            self._refresh()
        return self._known

    def known_matching(self, specs: Mapping[str, str]) -> tuple[Pool, ...]:
        """Act as :meth:`matching`, but return the last pools."""
        return tuple(filter(self._placing(specs), self.known()))

    def _refresh(self) -> None:
        wait = 2 * TIMEOUT if self._asked == float('-inf') else 0.0
        if not self._asking.acquire(timeout=wait):
            return
        try:
            if self._clock() >= self._expires:
                reported = self._ask()
                # Other requests read both attributes without the lock.
                self._asked = self._clock()
                self._expires = self._asked + (
                    MAX_FAILURE_AGE
                    if reported is None
                    # An empty response changes soon: no back end has reported.
                    else (MAX_AGE if reported else MIN_AGE)
                )
                self._pools = reported
                self._known = reported or self._known
        finally:
            self._asking.release()

    def _ask(self) -> tuple[Pool, ...] | None:
        admin = cinder_context.get_admin_context()
        try:
            if self._scheduler is None:
                scheduler = rpcapi.SchedulerAPI()
                scheduler.client = scheduler.client.prepare(
                    timeout=TIMEOUT, retry=1
                )
                self._scheduler = scheduler
            answer = self._scheduler.get_pools(admin, filters={})
        except (
            oslo_messaging.MessagingException,
            exception.ServiceNotFound,
        ) as error:
            LOG.warning('Could not get the pools: %s', error)
            return None
        return tuple(
            Pool(
                pool['name'],
                pool['capabilities'],
                backend_settings.settings_of(
                    pool['capabilities'], LOG.warning
                ),
            )
            for pool in answer
        )

    def matching(self, specs: Mapping[str, str]) -> tuple[Pool, ...]:
        """Return the pools on which the scheduler may place a volume.

        The extra specs of the volume's type decide. Free capacity and
        availability zone are ignored, because they depend on the volume.
        """
        return self._found(self._placing(specs))

    def _placing(self, specs: Mapping[str, str]) -> Callable[[Pool], bool]:
        properties = {'resource_type': {'extra_specs': dict(specs)}}

        def passes(pool: Pool) -> bool:
            try:
                return bool(self._filter.backend_passes(pool, properties))
            except (IndexError, TypeError, ValueError) as error:
                # An invalid operand, such as '<or>' without a value. The
                # scheduler fails on it too and does not place the volume.
                LOG.debug('An extra spec has an invalid operand: %s', error)
                return False

        return passes

    def _found(self, suits: Callable[[Pool], bool]) -> tuple[Pool, ...]:
        suitable = tuple(filter(suits, self.all()))
        if not suitable and self._clock() >= self._asked + MIN_AGE:
            self._expires = float('-inf')
            suitable = tuple(filter(suits, self.all()))
        return suitable

    def holding(self, volume: protocols.Volume) -> Pool | None:
        """Return the pool that holds a volume; None if it is unknown."""
        name = volume.service_topic_queue
        return next(iter(self._found(lambda pool: pool.name == name)), None)

    def may_be_ours(self, volume: protocols.Volume) -> bool:
        """Return whether the pool that holds a volume may have our driver."""
        here = self.holding(volume)
        return here is None or here.is_ours

    def destination(
        self, context: protocols.Context, parameters: Mapping[str, Any]
    ) -> tuple[Pool, ...]:
        """Return the pools of the host or cluster in an unchecked request."""
        host = parameters.get('host')
        matching = self.named(host, parameters.get('cluster'))
        if matching or not isinstance(host, str):
            return matching
        try:
            service = objects.Service.get_by_id(
                context.elevated(),
                None,
                host=volume_utils.extract_host(host, 'backend'),
                binary=constants.VOLUME_BINARY,
            )
        except exception.ServiceNotFound:
            return ()
        # A member of a cluster: the pools have the name of the cluster.
        return self.named(None, service.cluster_name)

    def named(
        self, host: object, cluster: object, is_optional: bool = False
    ) -> tuple[Pool, ...]:
        """Return the pools of ``host@backend#pool``, or of all its pools.

        :param is_optional: return the last pools, for a request that does not
            require them
        """
        return tuple(
            pool
            for pool in (self.known() if is_optional else self.all())
            if {pool.name, pool.name.partition('#')[0]}
            & {str(host), str(cluster)}
        )
