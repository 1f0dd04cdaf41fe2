# SPDX-License-Identifier: Apache-2.0

from rbd_volume_tools.command_line import findings
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
