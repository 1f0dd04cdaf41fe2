# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_tools.command_line import outcomes
from tests.unit import base

_Status = outcomes.Status


@ddt.ddt
class OutcomesTest(base.TestCase):
    @ddt.data(
        ((), False, 0),
        ((_Status.DONE, _Status.UNCHANGED, _Status.EARLIER), False, 0),
        ((_Status.DONE, _Status.REFUSED), False, 1),
        ((_Status.REFUSED, _Status.FAILED), False, 2),
        ((_Status.FAILED,), True, 3),
    )
    @ddt.unpack
    def test_severity_is_that_of_the_worst_outcome(
        self, statuses: tuple[_Status, ...], interrupted: bool, expected: int
    ) -> None:
        ended = [outcomes.Outcome(each, 'pool', 'image') for each in statuses]
        self.assertEqual(expected, outcomes.severity(ended, interrupted))

    def test_refused_outcome_has_reason_and_remedy(self) -> None:
        reason = outcomes.Reason('code', 'a rule', 'Do this.')
        about = outcomes.Outcome(_Status.PLANNED, 'pool', 'image', volume='v')
        outcome = about.refused(outcomes.Refused(reason, 'by 1.2.3.4'))
        self.assertEqual('a rule: by 1.2.3.4', outcome.detail)
        self.assertEqual(
            {'status': 'refused', 'code': 'code', 'remedy': 'Do this.'},
            {k: outcome.plain()[k] for k in ('status', 'code', 'remedy')},
        )
        self.assertEqual('v', outcome.volume)
        self.assertEqual(
            'a rule', about.refused(outcomes.Refused(reason)).detail
        )
