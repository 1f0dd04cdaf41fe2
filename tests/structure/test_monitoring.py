# SPDX-License-Identifier: Apache-2.0

"""Test that the shipped dashboard and alerts use existing metrics."""

from collections.abc import Iterator
import json
import re
import subprocess
from typing import Any

import yaml

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.exporter import metrics
from tests import tree
from tests.unit import base

_FOLDER = tree.ROOT / 'etc/monitoring'
_ALERTS = _FOLDER / 'prometheus-alerts.yaml'
_METRICS = {each.name: each for each in metrics.METRICS}
_VECTOR = re.compile(r'\b(rbd_\w+)(?:\{([^}]*)\})?')
_MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')
_GROUPED = re.compile(r'\bby \(([^)]*)\)')
_VALUES = re.compile(r'label_values\((\w+), (\w+)\)')


def _wrong(expression: str) -> Iterator[str]:
    """Yield the names in a PromQL expression that are not exported."""
    vectors = _VECTOR.findall(expression)
    if not vectors:
        yield f'no metric: {expression}'
    labels: set[str] = set()
    for name, matchers in vectors:
        if name not in _METRICS:
            yield f'metric {name}'
            continue
        labels.update(_METRICS[name].labels)
        matched = _MATCHER.findall(matchers)
        if matchers.count('"') != 2 * len(matched):
            yield f'matchers {matchers}'
        for label, operator, value in matched:
            if label not in _METRICS[name].labels:
                yield f'label {label} of {name}'
            yield from _wrong_value(label, operator, value)
    for group in _GROUPED.findall(expression):
        for label in group.split(', '):
            if label not in labels:
                yield f'label {label}'


def _wrong_value(label: str, operator: str, value: str) -> Iterator[str]:
    known = {
        'kind': set(findings.KINDS),
        'severity': {each.name.lower() for each in findings.Severity},
        'object_map': {each.value for each in images.MapState},
    }
    if label not in known:
        return
    parts = re.split(r'\|(?![^(]*\))', value) if '~' in operator else [value]
    for part in parts:
        if not any(re.fullmatch(part, each) for each in known[label]):
            yield f'{label} {part}'


class MonitoringTestCase(base.TestCase):
    def dashboard(self) -> Any:
        """Return the dashboard."""
        path = _FOLDER / 'grafana-dashboard.json'
        return json.loads(path.read_text())

    def rules(self) -> list[dict[str, Any]]:
        """Return the alerts."""
        (group,) = yaml.safe_load(_ALERTS.read_text())['groups']
        rules: list[dict[str, Any]] = group['rules']
        return rules

    def test_expressions_use_exported_metrics(self) -> None:
        expressions = [
            target['expr']
            for panel in self.dashboard()['panels']
            for target in panel['targets']
        ] + [each['expr'] for each in self.rules()]
        self.assertLess(15, len(expressions))
        unknown = [wrong for each in expressions for wrong in _wrong(each)]
        self.assertEqual([], unknown)

    def test_variables_are_labels_of_metrics(self) -> None:
        queries = [
            each['query']['query']
            for each in self.dashboard()['templating']['list']
            if each['type'] == 'query'
        ]
        for query in queries:
            (pair,) = _VALUES.findall(query)
            self.assertIn(pair[1], _METRICS[pair[0]].labels)

    def test_each_metric_is_shown(self) -> None:
        """The age is not shown: it follows from another metric."""
        shown = json.dumps(self.dashboard()['panels'])
        hidden = {name for name in _METRICS if name not in shown}
        # The age is an alert's, and the table of images for Ceph's metrics.
        self.assertEqual({metrics.AGE.name, metrics.IMAGE_INFO.name}, hidden)

    def test_rules_by_promtool(self) -> None:
        done = subprocess.run(
            ['promtool', 'check', 'rules', str(_ALERTS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
