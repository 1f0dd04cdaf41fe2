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

"""Unit tests of rbd_command_line.findings."""

from rbd_command_line import findings
from tests.unit import base

_S = findings.Severity


class FindingsTest(base.TestCase):
    def test_worst_severity_is_the_highest(self) -> None:
        fine = findings.Finding('a', 'b')
        bad = findings.Finding('a', 'b', _S.WARNING)
        self.assertEqual(_S.NOTICE, findings.worst([]))
        self.assertEqual(_S.NOTICE, findings.worst([fine]))
        self.assertEqual(_S.WARNING, findings.worst([fine, bad, fine]))
        self.assertEqual(
            ('ok', 'warning'), tuple(each.result for each in (fine, bad))
        )
