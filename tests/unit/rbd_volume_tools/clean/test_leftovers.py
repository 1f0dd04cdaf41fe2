# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import outcomes
from tests.unit.rbd_volume_tools.clean import examiner_case

_Way = leftovers.Way


@ddt.ddt
class LeftoversTest(examiner_case.ExaminerTestCase):
    @ddt.data(*leftovers.TABLE.values())
    def test_each_row_has_a_proof_and_what_must_not_be(
        self, row: leftovers.Leftover
    ) -> None:
        self.assertTrue(row.looks and row.kill and row.proofs)
        self.assertIn(evidence.RECORDED, row.never)
        if row.way is _Way.SNAPSHOT:
            # There is no trash for snapshots.
            self.assertEqual((evidence.How.RECORD,), row.proofs)

    @ddt.data(*evidence.How)
    def test_only_the_proofs_of_a_row_are_enough(
        self, how: evidence.How
    ) -> None:
        self.proofs.proof.return_value = evidence.Proof('a proof', how=how)
        for kind in (findings.ORPHAN_VOLUME, findings.ORPHAN_DISK):
            name = examiner_case.NAME
            words = (self.image, kind, 'volumes', name, 'abc')
            if how in leftovers.TABLE[kind].proofs:
                self.assertEqual(
                    'a proof', self.examiner.examine(*words).proof
                )
            else:
                error = self.assertRaises(
                    outcomes.Refused,
                    *(self.examiner.examine, *words),
                )
                self.assertIs(evidence.UNKNOWN, error.reason)

    def test_each_reason_has_a_code_of_its_own_and_says_what_to_do(
        self,
    ) -> None:
        known = [
            each
            for each in vars(leftovers).values()
            if isinstance(each, outcomes.Reason)
        ]
        self.assertEqual(len(known), len({each.code for each in known}))
        for each in known:
            self.assertTrue(each.remedy.endswith('.'), each)
