# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterable
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
_HOUR = datetime.timedelta(hours=1)
_NONE = images.MapState.NONE
_OF_OTHER = f'volume-{facts.OTHER}'
_KNOWN = facts.known(
    facts.volume(project='one'), facts.volume(facts.OTHER, project='two')
)


def _uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012}'


class MetricsTest(base.TestCase):
    def values(
        self,
        *scanned: images.Image,
        known: records.Records | None = _KNOWN,
        some: Iterable[findings.Finding] = (),
        pool: scan.PoolScan | None = None,
        **how: bool,
    ) -> dict[str, float]:
        """Return the values by metric and labels, without the prefix."""
        pools = [pool or facts.pool(*scanned)]
        made = report.make(_TAKEN, 2.5, pools, some, known)
        values = metrics.of_report(made, **how)
        for metric, labels in values:
            self.assertEqual(len(metric.labels), len(labels))
            self.assertIn(metric, metrics.METRICS)
        return {
            ' '.join((metric.name[10:], *labels)): value
            for (metric, labels), value in values.items()
        }

    def check(
        self, words: str, expected: dict[str, float], *args: Any, **how: Any
    ) -> None:
        """Check the values of the metrics whose names begin with words."""
        values = self.values(*args, **how)
        self.assertEqual(
            expected,
            {
                key: value
                for key, value in values.items()
                if key.startswith(tuple(words.split()))
            },
        )

    def test_counts_and_bytes(self) -> None:
        self.check(
            'images provisioned deletion duration last',
            {
                'images volumes volume type valid': 1,
                'images volumes volume type none': 1,
                'images volumes unknown  none': 1,
                'provisioned_bytes volumes volume type valid': 2**30,
                'provisioned_bytes volumes volume type none': 2**30,
                'provisioned_bytes volumes unknown  none': 2**30,
                'deletion_objects volumes volume': 256,
                'deletion_objects volumes unknown': 256,
                'duration_seconds': 2.5,
                'last_success_timestamp_seconds': _TAKEN.timestamp(),
            },
            facts.image(),
            facts.image(_OF_OTHER, map_state=_NONE),
            facts.image('somebody', map_state=_NONE),
        )

    def test_projects_have_their_bytes_if_they_are_wanted(self) -> None:
        scanned = (
            facts.image(used=5, size=100),
            facts.image(_OF_OTHER, used=None, size=50),
            facts.image(_uuid(1), used=7, size=10),
        )
        self.check('usage', {}, *scanned)
        self.check(
            'usage',
            {
                'usage_provisioned_bytes volumes type one': 100,
                'usage_used_bytes volumes type one': 5,
                'usage_unknown_images volumes type one': 0,
                'usage_provisioned_bytes volumes type two': 50,
                'usage_unknown_images volumes type two': 1,
                'usage_provisioned_bytes volumes  ': 10,
                'usage_used_bytes volumes  ': 7,
                'usage_unknown_images volumes  ': 0,
            },
            *scanned,
            has_usage=True,
        )
        # Those with few bytes share a label.
        with mock.patch.object(metrics, 'MAX_PROJECTS', 1):
            values = self.values(*scanned, has_usage=True)
        self.assertEqual(
            50, values['usage_provisioned_bytes volumes type (other)']
        )

    def test_table_of_images_has_those_of_volumes(self) -> None:
        scanned = facts.image(), facts.image(_uuid(1))
        labels = f'volumes volume-{facts.IDENT} {facts.IDENT} one'
        self.check('image_info', {}, *scanned)
        self.check(
            'image_info',
            {f'image_info {labels}': 1},
            *scanned,
            has_images=True,
        )

    def test_removals_that_wait_are_counted_by_project_and_reason(
        self,
    ) -> None:
        mark = trash_mark.Mark(trash_mark.DELETED, 'project', 'volume', 5)
        settled = objects.TrashState.SETTLED
        listed = tuple(
            objects.Trashed(
                *('volumes', 'name', ident, objects.TrashSource.USER),
                *(_TAKEN - 3 * _HOUR, _TAKEN + late, settled),
                *(marked, blocked),
            )
            for ident, late, marked, blocked in (
                ('1', -2 * _HOUR, mark, 'clones'),
                ('2', -_HOUR, mark, 'clones'),
                ('3', _HOUR, mark, ''),
                ('4', -_HOUR, None, ''),
            )
        )
        since, labels = 'waiting_since_timestamp_seconds', 'volumes project'
        self.check(
            'removals trash',
            {
                'trash_images volumes': 4,
                f'removals_waiting_images {labels} clones': 2,
                f'removals_waiting_bytes {labels} clones': 10,
                f'removals_{since} {labels} clones': (
                    _TAKEN - 2 * _HOUR
                ).timestamp(),
                f'removals_waiting_images {labels} delay': 1,
                f'removals_waiting_bytes {labels} delay': 5,
                f'removals_{since} {labels} delay': (
                    _TAKEN + _HOUR
                ).timestamp(),
            },
            pool=facts.pool(trash=listed),
        )

    def test_limits_are_counted_and_added_by_volume_type(self) -> None:
        more = {'rbd_qos_iops_limit': '200', 'rbd_qos_read_bps_limit': '4096'}
        self.check(
            'limit',
            {
                'limited_images volumes type iops': 2,
                'limits_per_second volumes type iops': 300,
                'limited_images volumes type read_bps': 1,
                'limits_per_second volumes type read_bps': 4096,
                'limited_images volumes  bps': 1,
                'limits_per_second volumes  bps': 7,
            },
            facts.image(overrides={'rbd_qos_iops_limit': '100'}),
            facts.image(_OF_OTHER, overrides=more),
            facts.image('somebody', overrides={'rbd_qos_bps_limit': '7'}),
        )

    def test_maps_of_snapshots_are_counted(self) -> None:
        snapshots = facts.snapshot('a'), facts.snapshot('b')
        self.check(
            'snapshots',
            {
                'snapshots volumes valid': 2,
                'snapshots volumes invalid': 0,
                'snapshots volumes none': 0,
            },
            facts.image(snapshots=snapshots),
        )

    def test_each_kind_of_findings_has_a_value(self) -> None:
        lost = findings.Finding(findings.GHOST, 'volumes', 'volume-1')
        # Of a back end without a pool that was scanned.
        down = findings.Finding(findings.UNAUDITED, 'host@down#down', '')
        values = self.values(some=(lost, lost, down))
        shown = {k: v for k, v in values.items() if k.startswith('findings ')}
        self.assertEqual(len(findings.KINDS) + 1, len(shown))
        self.assertEqual(
            {
                'findings volumes volume-without-image error': 2,
                f'findings {down.pool} {down.kind.code} error': 1,
            },
            {key: value for key, value in shown.items() if value},
        )

    def test_pool_that_may_not_be_read_has_a_finding_and_no_counts(
        self,
    ) -> None:
        """Zeros would be wrong."""
        closed = scan.PoolScan('backups', (), {}, (), {'': 'made to fail'})
        values = self.values(
            some=rules.of_pool(closed, None, _TAKEN), pool=closed, known=None
        )
        self.assertEqual(
            {'findings backups not-readable error': 1},
            {key: value for key, value in values.items() if ' ' in key},
        )

    def test_attachments_are_counted_by_what_the_host_does(self) -> None:
        requested = {
            **dict.fromkeys('ab', 'writeback'),
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
        states = ('as_requested', 'differs', 'promise_broken', 'unknown')
        self.check(
            'attachments',
            {f'attachments {state}': 1 for state in states},
            known=facts.known(volume, facts.volume(facts.OTHER)),
        )
        self.check('attachments', {}, known=None)

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
            key.split()[3]: value
            for key, value in values.items()
            if key.startswith('images ')
        }
        self.assertEqual(metrics.MAX_TYPES + 1, len(types))
        self.assertEqual(2, types[f't{number - 1}'])
        self.assertEqual(10, types[metrics.OTHER_TYPES])
