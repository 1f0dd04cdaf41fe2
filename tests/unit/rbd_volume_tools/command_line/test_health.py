# SPDX-License-Identifier: Apache-2.0

import json
import threading
from typing import Any

import ddt
import fixtures

from rbd_volume_tools.command_line import health
from tests.unit import base


class _Connection:
    """Answers with one report after the other; the last one stays."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.reports = list(reports)
        self.status = 0

    def mon_command(self, command: str, data: bytes) -> tuple[int, bytes, str]:
        report = self.reports[0]
        if len(self.reports) > 1:
            self.reports.pop(0)
        return self.status, json.dumps(report).encode(), 'access denied'


def _report(status: str, *checks: str, muted: bool = False) -> dict[str, Any]:
    return {
        'status': status,
        'checks': {
            check: {'severity': status, 'muted': muted} for check in checks
        },
    }


_OK = _report('HEALTH_OK')
_SLOW = _report('HEALTH_WARN', 'SLOW_OPS')


@ddt.ddt
class HealthTest(base.TestCase):
    @ddt.data(
        (_OK, []),
        (_report('HEALTH_WARN', 'POOL_APP_NOT_ENABLED'), []),
        (_report('HEALTH_WARN', 'SLOW_OPS', 'PG_DEGRADED'), 2),
        (_report('HEALTH_WARN', 'SLOW_OPS', muted=True), []),
        (_report('HEALTH_ERR', 'MDS_ALL_DOWN'), ['MDS_ALL_DOWN']),
        (_report('HEALTH_ERR'), ['HEALTH_ERR']),
    )
    @ddt.unpack
    def test_troubles_ignore_muted_and_harmless_checks(
        self, report: dict[str, Any], expected: Any
    ) -> None:
        troubles = health.troubles(_Connection(report))
        if isinstance(expected, int):
            self.assertEqual(expected, len(troubles))
        else:
            self.assertEqual(expected, troubles)

    def test_full_cluster_does_not_stop_what_frees_space(self) -> None:
        report = _report('HEALTH_ERR', 'OSD_FULL', 'POOL_FULL', 'OSD_NEARFULL')
        report['checks']['POOL_APP_NOT_ENABLED'] = {'severity': 'HEALTH_WARN'}
        connection = _Connection(report)
        self.assertEqual(3, len(health.troubles(connection)))
        self.assertEqual([], health.troubles(connection, health.FULL))
        report['checks']['PG_DAMAGED'] = {'severity': 'HEALTH_ERR'}
        self.assertEqual(
            ['PG_DAMAGED'], health.troubles(connection, health.FULL)
        )

    def test_no_answer(self) -> None:
        connection = _Connection(_OK)
        connection.status = -13
        error = self.assertRaises(
            health.HealthUnknown, health.troubles, connection
        )
        self.assertIn('access denied', str(error))

    def test_wait_pauses_until_healthy(self) -> None:
        said: list[str] = []
        stop = threading.Event()
        cluster = _Connection(_SLOW, _SLOW, _OK)
        self.useFixture(
            fixtures.MonkeyPatch(
                'rbd_volume_tools.command_line.health.INTERVAL', 0.001
            )
        )
        health.wait(health.Watch(cluster, said.append), stop)
        self.assertEqual(
            [
                'Paused while the cluster reports SLOW_OPS. Use '
                '--ignore-health to continue at once.',
                'The cluster has recovered; continuing.',
            ],
            said,
        )

    def test_monitors_that_stop_answering(self) -> None:
        said: list[str] = []
        cluster = _Connection(_OK)
        watch = health.Watch(cluster, said.append)
        cluster.status = -110
        self.assertRaises(health.HealthUnknown, watch.is_healthy)
        cluster.status = 0
        self.assertTrue(watch.is_healthy())
        cluster.status = -110
        self.assertFalse(watch.is_healthy())
        cluster.status = 0
        self.assertTrue(watch.is_healthy())
        self.assertIn('reports nothing', said[0])

    def test_stopped_in_a_pause(self) -> None:
        stop = threading.Event()
        stop.set()
        said: list[str] = []
        health.wait(health.Watch(_Connection(_SLOW), said.append), stop)
        self.assertEqual(1, len(said))
