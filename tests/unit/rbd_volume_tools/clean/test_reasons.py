# SPDX-License-Identifier: Apache-2.0

from rbd_volume_tools.clean import reasons
from rbd_volume_tools.command_line import outcomes
from tests.unit import base


class ReasonsTest(base.TestCase):
    def test_each_has_a_code_of_its_own_and_says_what_to_do(self) -> None:
        known = [
            each
            for each in vars(reasons).values()
            if isinstance(each, outcomes.Reason)
        ]
        self.assertEqual(len(known), len({each.code for each in known}))
        for each in known:
            self.assertTrue(each.remedy.endswith('.'), each)
