# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

from testrun import outcome
from tests.unit import base


class OutcomeTestCase(base.TestCase):
    def test_adds_up(self) -> None:
        total = outcome.PASSED + outcome.FAILED + outcome.Outcome(skipped=2)
        self.assertEqual(outcome.Outcome(1, 1, 2), total)

    def test_skipped_tests_did_not_run(self) -> None:
        self.assertEqual(0, outcome.Outcome(skipped=3).ran)

    def test_the_last_line_of_a_run(self) -> None:
        self.assertEqual(
            '12 passed, 0 failed, 3 skipped', str(outcome.Outcome(12, 0, 3))
        )

    def test_read_from_the_last_line_of_a_run(self) -> None:
        for found in (outcome.Outcome(12, 0, 3), outcome.FAILED):
            self.assertEqual(found, outcome.Outcome.of(f'{found}\n'))

    def test_another_line(self) -> None:
        self.assertIsNone(
            outcome.Outcome.of('  ... 1 passed, 0 failed, 0 skipped so far')
        )
