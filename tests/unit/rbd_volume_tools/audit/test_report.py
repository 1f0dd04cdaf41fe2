# SPDX-License-Identifier: Apache-2.0

import datetime
import json

from rbd_volume_options import definitions
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import report
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

_TAKEN = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)


class ReportTest(base.TestCase):
    def make(self, *reported: findings.Finding) -> report.Report:
        pool = facts.pool(
            facts.image(used=2**22),
            facts.image(map_state=images.MapState.NONE),
            facts.image('other'),
        )
        known = facts.known(
            facts.volume(made={definitions.ATTRIBUTE_SECTOR_SIZE: '4096'})
        )
        return report.make(_TAKEN, 1.5, [pool], reported, known)

    def test_worst_first(self) -> None:
        made = self.make(
            findings.Finding(findings.OVERRIDE, 'volumes', 'a'),
            findings.Finding(findings.GHOST, 'volumes', 'b'),
            findings.Finding(findings.MAP_INVALID, 'volumes', 'c'),
        )
        self.assertEqual(['b', 'c', 'a'], [each.image for each in made.found])
        self.assertEqual(findings.Severity.ERROR, made.severity)

    def test_without_findings(self) -> None:
        made = self.make()
        self.assertEqual(findings.Severity.NOTICE, made.severity)
        self.assertEqual(3, made.number)

    def test_counts_group_by_type_owner_and_map(self) -> None:
        self.assertEqual(
            [
                ('', 'unknown', 'valid', 1, None),
                ('type', 'volume', 'none', 1, None),
                ('type', 'volume', 'valid', 1, 2**22),
            ],
            [
                (
                    each.volume_type,
                    each.owner.value,
                    each.map_state.value,
                    each.number,
                    each.used,
                )
                for each in self.make().counts
            ],
        )

    def test_report_is_json(self) -> None:
        finding = findings.Finding(findings.GHOST, 'volumes', 'b')
        plain = json.loads(''.join(self.make(finding).as_json()))
        self.assertEqual(1, plain['version'])
        self.assertEqual('2026-01-02T00:00:00+00:00', plain['taken'])
        self.assertEqual('error', plain['findings'][0]['severity'])
        self.assertEqual(
            [
                (facts.IDENT, '4096', 0),
                (facts.IDENT, '4096', 256),
                ('', None, 0),
            ],
            [
                (
                    *(each['volume'], each['sector_size']),
                    each['objects_to_visit_on_deletion'],
                )
                for each in plain['images']
            ],
        )
