# SPDX-License-Identifier: Apache-2.0

import time

from prometheus_client import parser

from rbd_volume_tools.exporter import exposition
from rbd_volume_tools.exporter import metrics
from rbd_volume_tools.exporter import refresher
from tests.unit import base

_NAME = 'a"b\\c\nd'


class ExpositionTest(base.TestCase):
    def parsed(self, text: str) -> dict[str, float]:
        return {
            sample.name: sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }

    def test_text_can_be_parsed_by_prometheus(self) -> None:
        state = refresher.AuditState(
            True, metrics.Values({(metrics.TRASH, (_NAME,)): 2})
        )
        text = exposition.text(state)
        self.assertEqual(
            {'rbd_audit_up': 1, 'rbd_audit_trash_images': 2},
            self.parsed(text),
        )
        (family,) = (
            each
            for each in parser.text_string_to_metric_families(text)
            if each.name == 'rbd_audit_trash_images'
        )
        self.assertEqual({'pool': _NAME}, family.samples[0].labels)

    def test_server_has_the_age(self) -> None:
        state = refresher.AuditState(True)
        state.values.add(metrics.SUCCEEDED, time.time() - 60)
        registry = exposition.registered(lambda: state, ages=True)
        age = registry.get_sample_value('rbd_audit_age_seconds')
        self.assertIsNotNone(age)
        self.assertAlmostEqual(60, age or 0, delta=30)
