# SPDX-License-Identifier: Apache-2.0

"""The metrics in the text format of Prometheus."""

from collections.abc import Callable
from collections.abc import Iterator
import time
from typing import Any

import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from rbd_volume_tools.exporter import metrics
from rbd_volume_tools.exporter import refresher


class AuditCollector(registry.Collector):
    """Returns the last state for each request and never runs an audit.

    :param state: returns the state
    :param ages: whether to include the age, which would be outdated in a file
    """

    def __init__(
        self, state: Callable[[], refresher.AuditState], ages: bool
    ) -> None:
        self._state = state
        self._ages = ages

    def collect(self) -> Iterator[core.Metric]:
        """Yield the metrics that have values."""
        state = self._state()
        values = metrics.Values(state.values)
        values.add(metrics.UP, float(state.up))
        succeeded = values.get((metrics.SUCCEEDED, ()))
        if self._ages and succeeded is not None:
            values.add(metrics.AGE, max(0.0, time.time() - succeeded))
        for metric in metrics.METRICS:
            family = core.GaugeMetricFamily(
                metric.name, metric.text, labels=metric.labels
            )
            for (which, labels), value in values.items():
                if which is metric:
                    family.add_metric(labels, value)
            if family.samples:
                yield family


def registered(
    state: Callable[[], refresher.AuditState], ages: bool
) -> prometheus_client.CollectorRegistry:
    """Return a registry with the metrics of the audit only."""
    made = prometheus_client.CollectorRegistry()
    made.register(AuditCollector(state, ages))
    return made


def serve(
    address: str, port: int, state: Callable[[], refresher.AuditState]
) -> tuple[Any, Any]:
    """Start a server and return it with its thread.

    :raises OSError: if it cannot listen
    """
    return prometheus_client.start_http_server(
        port, address, registered(state, ages=True)
    )


def text(state: refresher.AuditState) -> str:
    """Return a state in the text format for a file."""
    shown = prometheus_client.generate_latest(registered(lambda: state, False))
    return shown.decode()
