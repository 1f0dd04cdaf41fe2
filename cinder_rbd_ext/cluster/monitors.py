# SPDX-License-Identifier: Apache-2.0

"""The addresses of the monitors, without the program ``ceph mon dump``."""

from collections.abc import Callable
import json
import threading
import time
from typing import Any

from cinder import exception
from cinder.volume.drivers import rbd

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import shared_clients

#: Seconds for which the addresses are cached.
LIFETIME = 10.0

_COMMAND = json.dumps({'prefix': 'mon dump', 'format': 'json'})

Addresses = tuple[list[str], list[str]]


class Monitors:
    """Queries the addresses of the monitors and caches them briefly.

    :param replaced: returns the number of connections that were replaced.
        Addresses that were cached before a replacement are not used.
    """

    def __init__(
        self,
        driver: protocols.Driver,
        replaced: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = driver
        self._replaced = replaced
        self._clock = clock
        self._known: tuple[Any, float, Addresses] | None = None
        self._lock = threading.Lock()
        self._running: shared_clients.Attempt | None = None

    def addresses(self) -> Addresses:
        """Return hosts and ports of all monitors, in the stock order.

        :raises VolumeBackendAPIException: if no monitor responds
        """
        known = self._current()
        while known is None:
            with self._lock:
                running = self._running
                attempt = self._running = running or shared_clients.Attempt()
            if running is None:
                known = self._query(attempt)
            else:
                # Many attachments send only one query.
                attempt.wait()
                known = self._current()
        return list(known[0]), list(known[1])

    def _source(self) -> Any:
        return self._driver._get_config_tuple(), self._replaced()

    def _current(self) -> Addresses | None:
        if self._known is not None:
            source, until, known = self._known
            if source == self._source() and self._clock() < until:
                return known
        return None

    def _query(self, attempt: shared_clients.Attempt) -> Addresses:
        source = self._source()
        try:
            monitors = _parse(self._dump())
            self._known = (source, self._clock() + LIFETIME, monitors)
        except BaseException as error:
            attempt.error = error
            raise
        finally:
            self._running = None
            attempt.done = True
        return monitors

    def _dump(self) -> bytes:
        # If the connection was lost, the second attempt uses another one.
        for _attempt in range(2):
            with rbd.RADOSClient(self._driver) as client:
                status, output, why = client.cluster.mon_command(_COMMAND, b'')
            if status == 0:
                return bytes(output)
        raise exception.VolumeBackendAPIException(
            data=f'mon dump failed with status {status}: {why}'
        )


def _parse(output: bytes) -> Addresses:
    """Return hosts and ports from ``mon dump``, preferably of protocol 1."""
    hosts, ports = [], []
    for monitor in json.loads(output)['mons']:
        address, _, _nonce = monitor['addr'].rpartition('/')
        host, _, port = address.rpartition(':')
        hosts.append(host.strip('[]'))
        ports.append(port)
    return hosts, ports
