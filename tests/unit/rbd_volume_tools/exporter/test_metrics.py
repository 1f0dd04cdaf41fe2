# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any
from unittest import mock

from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import trash_mark
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import rules
from rbd_volume_tools.audit import scan
from rbd_volume_tools.exporter import metrics
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

_TAKEN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_NONE = images.MapState.NONE


def _uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012}'


class MetricsTest(base.TestCase):
    def values(
        self,
        *scanned: images.Image,
        known: records.Records | None = None,
        some: tuple[findings.Finding, ...] = (),
    ) -> dict[tuple[str, ...], float]:
        """Return the values by metric name and labels."""
        made = report.make(_TAKEN, 2.5, [facts.pool(*scanned)], some, known)
        return {
            (each.metric.name, *each.labels): each.value
            for each in metrics.of_report(made)
        }

    def usage(self, *scanned: images.Image, **how: bool) -> dict[str, Any]:
        """Return the values of usage by metric and labels."""
        known = facts.known(
            facts.volume(project='one', volume_type='ssd'),
            facts.volume(facts.OTHER, project='two', volume_type='ssd'),
        )
        made = report.make(_TAKEN, 2.5, [facts.pool(*scanned)], (), known)
        return {
            ' '.join((each.metric.name[10:], *each.labels)): each.value
            for each in metrics.of_report(made, **how)
            if each.metric.name[10:].startswith(('usage', 'image_info'))
        }

    def test_projects_have_their_bytes_if_they_are_wanted(self) -> None:
        scanned = (
            facts.image(used=5, size=100),
            facts.image(f'volume-{facts.OTHER}', used=None, size=50),
            facts.image(_uuid(1), used=7, size=10),
        )
        self.assertEqual({}, self.usage(*scanned))
        self.assertEqual(
            {
                'usage_provisioned_bytes volumes ssd one': 100,
                'usage_used_bytes volumes ssd one': 5,
                'usage_unknown_images volumes ssd one': 0,
                'usage_provisioned_bytes volumes ssd two': 50,
                'usage_unknown_images volumes ssd two': 1,
                'usage_provisioned_bytes volumes  ': 10,
                'usage_used_bytes volumes  ': 7,
                'usage_unknown_images volumes  ': 0,
            },
            self.usage(*scanned, has_usage=True),
        )

    def test_projects_with_few_bytes_share_a_label(self) -> None:
        scanned = (
            facts.image(size=100),
            facts.image(f'volume-{facts.OTHER}', size=50),
        )
        with mock.patch.object(metrics, 'MAX_PROJECTS', 1):
            values = self.usage(*scanned, has_usage=True)
        self.assertEqual(
            50, values['usage_provisioned_bytes volumes ssd (other)']
        )

    def test_table_of_images_has_those_of_volumes(self) -> None:
        scanned = facts.image(), facts.image(_uuid(1))
        name = f'volume-{facts.IDENT}'
        self.assertEqual(
            {f'image_info volumes {name} {facts.IDENT} one': 1},
            self.usage(*scanned, has_images=True),
        )

    def test_removals_that_wait_are_counted_by_project_and_reason(
        self,
    ) -> None:
        hour = datetime.timedelta(hours=1)
        mark = trash_mark.Mark(trash_mark.DELETED, 'project', 'volume', 5)
        listed = [
            objects.Trashed(
                *('volumes', 'name', ident, objects.TrashSource.USER),
                *(
                    _TAKEN - 3 * hour,
                    _TAKEN + late,
                    objects.TrashState.SETTLED,
                ),
                *(marked, blocked),
            )
            for ident, late, marked, blocked in (
                ('1', -2 * hour, mark, 'clones'),
                ('2', -hour, mark, 'clones'),
                ('3', hour, mark, ''),
                ('4', -hour, None, ''),
            )
        ]
        pool = dataclasses.replace(facts.pool(), trash=tuple(listed))
        made = report.make(_TAKEN, 2.5, [pool], (), None)
        values = {
            (each.metric.name, *each.labels): each.value
            for each in metrics.of_report(made)
            if 'removals' in each.metric.name
        }
        clones, delay = (
            ('volumes', 'project', reason) for reason in ('clones', 'delay')
        )
        name = 'rbd_audit_removals_waiting'
        since = f'{name}_since_timestamp_seconds'
        self.assertEqual(
            {
                (f'{name}_images', *clones): 2,
                (f'{name}_bytes', *clones): 10,
                (since, *clones): (_TAKEN - 2 * hour).timestamp(),
                (f'{name}_images', *delay): 1,
                (f'{name}_bytes', *delay): 5,
                (since, *delay): (_TAKEN + hour).timestamp(),
            },
            values,
        )

    def test_counts_and_bytes(self) -> None:
        values = self.values(
            facts.image(),
            facts.image(f'volume-{facts.OTHER}', map_state=_NONE),
            facts.image('somebody', map_state=_NONE),
            known=facts.known(facts.volume(), facts.volume(facts.OTHER)),
        )
        of_type = ('volumes', 'volume', 'type')
        self.assertEqual(
            1, values.get(('rbd_audit_images', *of_type, 'valid'))
        )
        self.assertEqual(1, values.get(('rbd_audit_images', *of_type, 'none')))
        self.assertEqual(
            2**30,
            values.get(('rbd_audit_provisioned_bytes', *of_type, 'none')),
        )
        unknown = ('volumes', 'unknown')
        self.assertEqual(
            1, values.get(('rbd_audit_images', *unknown, '', 'none'))
        )
        self.assertEqual(
            256, values.get(('rbd_audit_deletion_objects', *unknown))
        )
        self.assertEqual(2.5, values.get(('rbd_audit_duration_seconds',)))
        self.assertEqual(
            _TAKEN.timestamp(),
            values.get(('rbd_audit_last_success_timestamp_seconds',)),
        )

    def test_pool_that_may_not_be_read_has_no_zeros(self) -> None:
        forbidden = facts.pool(forbidden={'': 'not allowed'})
        made = report.make(
            _TAKEN,
            1,
            [forbidden],
            [findings.Finding(findings.FORBIDDEN, 'volumes', '')],
            None,
        )
        values = {
            each.labels[1]: each.value
            for each in metrics.of_report(made)
            if each.metric is metrics.FINDINGS
        }
        self.assertEqual({'not-readable': 1}, values)

    def test_limits_are_counted_and_added_by_volume_type(self) -> None:
        values = self.values(
            facts.image(overrides={'rbd_qos_iops_limit': '100'}),
            facts.image(
                f'volume-{facts.OTHER}',
                overrides={
                    'rbd_qos_iops_limit': '200',
                    'rbd_qos_read_bps_limit': '4096',
                },
            ),
            facts.image('somebody', overrides={'rbd_qos_bps_limit': '7'}),
            known=facts.known(facts.volume(), facts.volume(facts.OTHER)),
        )
        self.assertEqual(
            {
                ('rbd_audit_limited_images', 'volumes', 'type', 'iops'): 2,
                ('rbd_audit_limits_per_second', 'volumes', 'type', 'iops'): (
                    300
                ),
                ('rbd_audit_limited_images', 'volumes', 'type', 'read_bps'): 1,
                (
                    *('rbd_audit_limits_per_second', 'volumes', 'type'),
                    'read_bps',
                ): 4096,
                ('rbd_audit_limited_images', 'volumes', '', 'bps'): 1,
                ('rbd_audit_limits_per_second', 'volumes', '', 'bps'): 7,
            },
            {k: v for k, v in values.items() if '_limit' in k[0]},
        )

    def test_maps_of_snapshots_are_counted(self) -> None:
        values = self.values(
            facts.image(snapshots=(facts.snapshot('a'), facts.snapshot('b')))
        )
        self.assertEqual(2, values['rbd_audit_snapshots', 'volumes', 'valid'])
        self.assertEqual(0, values['rbd_audit_snapshots', 'volumes', 'none'])

    def test_each_kind_of_findings_has_a_value(self) -> None:
        lost = findings.Finding(findings.GHOST, 'volumes', 'volume-1')
        values = self.values(some=(lost, lost))
        shown = [key for key in values if key[0] == 'rbd_audit_findings']
        self.assertEqual(len(findings.KINDS), len(shown))
        self.assertEqual(
            2,
            values[
                'rbd_audit_findings',
                'volumes',
                'volume-without-image',
                'error',
            ],
        )
        self.assertEqual(2, sum(values[key] for key in shown))

    def test_back_end_without_a_pool_has_a_finding(self) -> None:
        lost = findings.Finding(findings.UNAUDITED, 'host@down#down', '')
        key = ('rbd_audit_findings', lost.pool, lost.kind.code, 'error')
        self.assertEqual(1, self.values(some=(lost,))[key])

    def test_pool_that_may_not_be_read_has_a_finding_and_no_counts(
        self,
    ) -> None:
        closed = scan.PoolScan('backups', (), {}, (), {'': 'made to fail'})
        reported = rules.of_pool(closed, None, _TAKEN)
        made = report.make(_TAKEN, 2.5, [closed], reported, None)
        samples = list(metrics.of_report(made))
        about = {each.metric.name for each in samples if each.labels}
        self.assertEqual({'rbd_audit_findings'}, about)
        self.assertEqual(
            [('backups', 'not-readable', 'error')],
            [each.labels for each in samples if each.value == 1],
        )

    def test_attachments_are_counted_by_what_the_host_does(self) -> None:
        requested = {
            'a': 'writeback',
            'b': 'writeback',
            'c': 'directsync',
            'd': 'none',
            'e': None,
        }
        in_force = {'a': 'writeback', 'b': 'none', 'c': 'writeback'}
        volume = facts.volume(
            made={
                definitions.ATTRIBUTE_CACHE_MODES: requested,
                image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE: in_force,
            }
        )
        other = facts.volume(facts.OTHER)
        values = self.values(known=facts.known(volume, other))
        self.assertEqual(
            [1, 1, 1, 1],
            [
                values['rbd_audit_attachments', state]
                for state in (
                    'as_requested',
                    'differs',
                    'promise_broken',
                    'unknown',
                )
            ],
        )
        names = {key[0] for key in self.values(known=None)}
        self.assertNotIn('rbd_audit_attachments', names)

    def test_volume_types_are_limited(self) -> None:
        number = metrics.MAX_TYPES + 10
        idents = [_uuid(each) for each in range(number + 1)]
        values = self.values(
            *(facts.image(f'volume-{ident}') for ident in idents),
            known=facts.known(
                *(
                    # The last type has two images, so it is shown.
                    facts.volume(ident, volume_type=f't{min(at, number - 1)}')
                    for at, ident in enumerate(idents)
                )
            ),
        )
        types = {
            key[3]: value
            for key, value in values.items()
            if key[0] == 'rbd_audit_images'
        }
        self.assertEqual(metrics.MAX_TYPES + 1, len(types))
        self.assertEqual(2, types[f't{number - 1}'])
        self.assertEqual(10, types[metrics.OTHER_TYPES])

    def test_each_sample_has_its_labels(self) -> None:
        made = report.make(_TAKEN, 1, [facts.pool(facts.image())], (), None)
        for each in metrics.of_report(made):
            self.assertEqual(len(each.metric.labels), len(each.labels))
            self.assertIn(each.metric, metrics.METRICS)
