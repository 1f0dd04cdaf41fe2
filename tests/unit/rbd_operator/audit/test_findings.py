#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of rbd_operator.audit.findings."""

from rbd_operator.audit import findings
from tests.unit import base


class KindsTest(base.TestCase):
    def test_each_kind_is_listed_and_says_what_to_do(self) -> None:
        kinds = {
            value
            for value in vars(findings).values()
            if isinstance(value, findings.Kind)
        }
        self.assertEqual(kinds, set(findings.KINDS.values()))
        for code, kind in findings.KINDS.items():
            self.assertEqual(code, kind.code)
            self.assertTrue(kind.remedy.endswith('.'), code)

    def test_severities_are_the_exit_status(self) -> None:
        self.assertEqual([0, 1, 2], sorted(map(int, findings.Severity)))
