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

"""Unit tests of rbd_operator.maintenance.cleaning."""

import datetime
from typing import Any

from rbd_operator.audit import findings
from rbd_operator.audit import images
from rbd_operator.audit import records
from rbd_operator.audit import report
from rbd_operator.maintenance import cleaning
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import removal
from tests.unit import base
from tests.unit.rbd_operator.audit import facts

_RULES = removal.Rules(datetime.timedelta(), datetime.timedelta())
_ORPHAN = f'volume-{facts.OTHER}'


class CleaningTest(base.TestCase):
    def planned(
        self,
        known: records.Records,
        *found: findings.Finding,
        there: tuple[images.Image, ...] = (),
    ) -> list[Any]:
        made = report.make(
            datetime.datetime.now(datetime.timezone.utc),
            1.0,
            [facts.pool(*there)],
            found,
            known,
        )
        kinds = frozenset(each.kind for each in found[:1])
        return list(
            cleaning.planned(
                *(made, known, kinds, None, None, _RULES),
                lambda owner, ident: False,
            )
        )

    def test_orphan(self) -> None:
        finding = findings.Finding(findings.ORPHAN_VOLUME, 'volumes', _ORPHAN)
        other = findings.Finding(findings.OVERRIDE, 'volumes', _ORPHAN)
        (change,) = self.planned(
            facts.known(facts.volume()),
            finding,
            other,
            there=(facts.image(), facts.image(_ORPHAN)),
        )
        self.assertEqual('abc', change.outcome.ident)
        self.assertEqual('move the image to the trash', change.outcome.detail)

    def test_pool_of_another_cloud(self) -> None:
        finding = findings.Finding(findings.ORPHAN_VOLUME, 'volumes', _ORPHAN)
        (outcome,) = self.planned(
            facts.known(), finding, there=(facts.image(_ORPHAN),)
        )
        self.assertEqual('foreign-pool', outcome.code)

    def test_kind_that_is_not_removed(self) -> None:
        finding = findings.Finding(findings.GHOST, 'volumes', _ORPHAN)
        (outcome,) = self.planned(facts.known(), finding)
        self.assertEqual(outcomes.Status.REFUSED, outcome.status)
        self.assertEqual('not-cleanable', outcome.code)
        self.assertEqual(findings.GHOST.remedy, outcome.remedy)

    def test_trash(self) -> None:
        """Several entries may have the same name."""
        finding = findings.Finding(
            findings.IN_TRASH, 'volumes', 'name', '5e2, since 2026-01-01'
        )
        (change,) = self.planned(facts.known(), finding)
        self.assertEqual('5e2', change.outcome.ident)
