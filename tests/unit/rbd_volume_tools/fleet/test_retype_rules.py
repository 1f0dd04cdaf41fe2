# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import image_record
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import retype_rules
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts


@ddt.ddt
class RulesTest(base.TestCase):
    @ddt.data('available', 'in-use')
    def test_idle_volume_may_be_retyped(self, status: str) -> None:
        retype_rules.check(facts.volume(status=status), 'type')

    @ddt.data(
        ({'status': 'error'}, 'busy', 'error'),
        ({'volume_type': 'b'}, 'other-type', 'b'),
        ({'volume_type': ''}, 'other-type', 'none'),
    )
    @ddt.unpack
    def test_busy_volume_and_other_type_are_refused(
        self, values: dict[str, str], code: str, text: str
    ) -> None:
        error = self.assertRaises(
            outcomes.Refused,
            retype_rules.check,
            facts.volume(**values),
            'type',
        )
        self.assertEqual(code, error.reason.code)
        self.assertIn(text, str(error))

    @ddt.data(
        ({'status': 'retyping'}, True),
        ({'migrating': True}, True),
        ({}, False),
    )
    @ddt.unpack
    def test_retyping_or_migrating_volume_is_running(
        self, values: dict[str, Any], expected: bool
    ) -> None:
        running = retype_rules.is_running(facts.volume(**values))
        self.assertIs(expected, running)

    def test_percent_is_that_of_the_conversion(self) -> None:
        self.assertIsNone(retype_rules.percent(facts.volume()))
        made = {image_record.ATTRIBUTE_CONVERSION: {'percent': 7}}
        self.assertEqual(7, retype_rules.percent(facts.volume(made=made)))

    def test_unchanged_volume_has_failed(self) -> None:
        error = retype_rules.unchanged(facts.volume())
        self.assertIsInstance(error, outcomes.NotVerified)
        made = {image_record.ATTRIBUTE_CONVERSION: {'reason': 'has clones'}}
        error = retype_rules.unchanged(facts.volume(made=made))
        self.assertIsInstance(error, outcomes.Refused)
        self.assertIn('has clones', str(error))
        self.assertIn('1.5 minutes', str(retype_rules.stalled(90)))
