# SPDX-License-Identifier: Apache-2.0

from rbd_volume_tools.audit import findings
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

    def test_owner_is_checked_before_an_orphan_is_removed(self) -> None:
        for code, kind in findings.KINDS.items():
            if code.startswith(('orphan-', 'clone-snapshot-')):
                self.assertTrue(kind.remedy.startswith('Check whose'), code)

    def test_severities_are_the_exit_status(self) -> None:
        self.assertEqual([0, 1, 2], sorted(map(int, findings.Severity)))
