# SPDX-License-Identifier: Apache-2.0

"""Pauses changes while the cluster is unhealthy."""

from collections.abc import Callable
from collections.abc import Container
import json
import threading
from typing import Any

#: Ceph's health checks that additional load would make worse. Other checks,
#: such as a missing application of a pool, do not depend on load.
TROUBLES = frozenset(
    {
        'BLUESTORE_SLOW_OP_ALERT',
        'MON_DOWN',
        'OSD_BACKFILLFULL',
        'OSD_DOWN',
        'OSD_FULL',
        'OSD_HOST_DOWN',
        'OSD_NEARFULL',
        'OSD_RACK_DOWN',
        'OSD_ROOT_DOWN',
        'PG_AVAILABILITY',
        'PG_BACKFILL_FULL',
        'PG_DAMAGED',
        'PG_DEGRADED',
        'PG_RECOVERY_FULL',
        'POOL_FULL',
        'SLOW_OPS',
    }
)
#: The checks of them that removals end.
FULL = frozenset(
    {
        'OSD_BACKFILLFULL',
        'OSD_FULL',
        'OSD_NEARFULL',
        'PG_BACKFILL_FULL',
        'PG_RECOVERY_FULL',
        'POOL_FULL',
    }
)
#: Seconds between two checks of an unhealthy cluster.
INTERVAL = 10.0

_ERROR = 'HEALTH_ERR'
_SILENT = 'nothing'


class HealthUnknown(Exception):
    """The health of the cluster could not be read."""


def troubles(
    connection: Any, tolerated: Container[str] = frozenset()
) -> list[str]:
    """Return the health checks for which changes should wait.

    :param connection: of librados
    :param tolerated: health checks for which they need not
    :raises HealthUnknown: if the monitors do not answer
    """
    command = json.dumps({'prefix': 'health', 'format': 'json'})
    status, output, message = connection.mon_command(command, b'')
    if status:
        raise HealthUnknown(
            f'Could not read the health of the cluster ({message or status}). '
            "The Ceph user needs mon 'profile rbd' or mon 'allow r'."
        )
    health = json.loads(output)
    checks = health.get('checks', {})
    if health.get('status') == _ERROR and not checks:
        return [_ERROR]
    return sorted(
        code
        for code, check in checks.items()
        if (code in TROUBLES or check['severity'] == _ERROR)
        and code not in tolerated
        and not check.get('muted')
    )


class Watch:
    """Decides whether changes may start, and reports pauses to the operator.

    :param connection: of librados
    :param say: called with a message when a pause begins and ends
    :param tolerated: see :func:`troubles`
    """

    def __init__(
        self,
        connection: Any,
        say: Callable[[str], None],
        tolerated: Container[str] = frozenset(),
    ) -> None:
        self._connection = connection
        self._say = say
        self._tolerated = tolerated
        self._shown: list[str] = []
        self._answered = False

    def is_healthy(self) -> bool:
        """Return whether the cluster is healthy enough for changes.

        It is not while monitors that have answered before do not answer.

        :raises HealthUnknown: if the monitors have never answered
        """
        try:
            reported = troubles(self._connection, self._tolerated)
        except HealthUnknown:
            if not self._answered:
                raise
            reported = [_SILENT]
        self._answered = True
        if reported and reported != self._shown:
            self._say(
                f'Paused while the cluster reports {", ".join(reported)}. '
                'Use --ignore-health to continue at once.'
            )
        elif self._shown and not reported:
            self._say('The cluster has recovered; continuing.')
        self._shown = reported
        return not reported


def wait(watch: Watch, stop: threading.Event) -> None:
    """Wait until the cluster is healthy, or the run is being stopped.

    :raises HealthUnknown: if the monitors have never answered
    """
    while not watch.is_healthy() and not stop.wait(INTERVAL):
        pass
