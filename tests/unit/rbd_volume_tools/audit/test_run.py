# SPDX-License-Identifier: Apache-2.0

import errno
from unittest import mock

from rbd_volume_options import definitions
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs


class RunTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pool = stubs.Pool(f'volume-{facts.IDENT}')
        self.cluster = stubs.cluster(self.pool)

    def kinds(self, known: records.Records | None) -> list[str]:
        reported = run.run(self.cluster, ['volumes'], lambda: known).found
        return [each.kind.code for each in reported]

    def test_pool_that_is_named_twice_is_audited_once(self) -> None:
        pools = ['volumes', 'volumes']
        audited = run.run(self.cluster, pools, facts.known)
        self.assertEqual(1, audited.number)

    def test_pool_that_ceph_has_lost_is_named_if_all_are_audited(
        self,
    ) -> None:
        known = facts.known(
            facts.volume(pool='host@lost#lost'),
            backends={'host@lost#lost': 'lost'},
        )
        code = 'back-end-not-audited'
        reported = run.run(self.cluster, None, lambda: known).found
        self.assertIn(code, [each.kind.code for each in reported])
        self.assertNotIn(code, self.kinds(known))

    def test_volume_that_was_deleted_after_the_scan(self) -> None:
        def read_records() -> records.Records:
            self.pool.images.clear()
            return facts.known()

        reported = run.run(self.cluster, ['volumes'], read_records).found
        self.assertEqual(
            ['configuration-override'], [each.kind.code for each in reported]
        )

    def test_volume_that_was_created_after_the_scan(self) -> None:
        def read_records() -> records.Records:
            self.pool.images.append(f'volume-{facts.OTHER}')
            volumes = (facts.volume(), facts.volume(facts.OTHER))
            return facts.known(*volumes)

        reported = run.run(self.cluster, ['volumes'], read_records).found
        self.assertEqual(
            ['configuration-override'], [each.kind.code for each in reported]
        )
        self.pool.images.remove(f'volume-{facts.IDENT}')
        codes = self.kinds(facts.known(facts.volume(), facts.volume('gone')))
        self.assertEqual(['volume-without-image'] * 2, codes[:2])

    def test_pool_that_cannot_be_read_is_one_finding_with_its_name(
        self,
    ) -> None:
        failed = stubs.Error('input/output error')
        self.pool.forbidden = failed
        audited = run.run(self.cluster, ['volumes', 'other'], lambda: None)
        self.assertEqual(
            [('pool-not-readable', 'other'), ('pool-not-readable', 'volumes')],
            [(each.kind.code, each.pool) for each in audited.found],
        )
        self.assertFalse(audited.is_complete)
        failed.errno = errno.ETIMEDOUT  # type: ignore[attr-defined]
        self.assertRaises(
            stubs.Error, run.run, self.cluster, ['volumes'], lambda: None
        )

    def test_damaged_entry_of_the_trash_hides_no_other_finding(self) -> None:
        self.pool.omaps['rbd_trash'] = {
            'id_': b'',
            'id_abc': stubs.trash_entry('volume-1'),
        }
        self.assertEqual(
            [
                'damaged-trash-entry',
                'expired-trash',
                'configuration-override',
            ],
            self.kinds(None),
        )

    def test_snapshot_that_was_created_after_the_scan_is_not_lost(
        self,
    ) -> None:
        self.pool.metadata.clear()
        known = facts.known(
            facts.volume(),
            snapshots=frozenset({facts.OTHER}),
            available={facts.IDENT: [facts.OTHER]},
        )
        self.assertEqual(['volume-snapshot-lost'], self.kinds(known))

        def read_records() -> records.Records:
            # With another snapshot_name_template.
            self.pool.snapshots.append(f'cinder-{facts.OTHER}-snap')
            return known

        reported = run.run(self.cluster, ['volumes'], read_records).found
        self.assertEqual((), reported)

    def test_only_image_of_a_volume_is_no_second_image(self) -> None:
        known = facts.known(
            facts.volume(), backends={facts.CINDER_POOL: 'empty'}
        )
        cluster = mock.create_autospec(scan.Cluster, instance=True)
        scans = {
            'volumes': facts.pool(facts.image()),
            'empty': scan.PoolScan('empty', (), {}, ()),
        }
        cluster.scan.side_effect = lambda pool, *args, **how: scans[pool]
        cluster.reread.side_effect = lambda pool, image_names: {
            each.name: each for each in scans[pool].found
        }
        for pools, codes in (
            (['volumes', 'empty'], ['volume-without-image']),
            (['volumes'], ['second-image-of-volume']),
        ):
            reported = run.run(cluster, pools, lambda: known).found
            self.assertEqual(codes, [each.kind.code for each in reported])

    def test_configuration_that_contradicts_the_record_is_found(self) -> None:
        self.pool.metadata = {'conf_rbd_qos_iops_limit': '5'}
        made = {
            definitions.ATTRIBUTE_OBJECT_SIZE: 2**22,
            definitions.ATTRIBUTE_LIMITS: {'iops_limit': 7},
        }
        known = facts.known(facts.volume(made=made))
        code = 'configuration-contradicts-record'
        self.assertEqual([code], self.kinds(known))

        def read_records() -> records.Records:
            self.pool.metadata = {'conf_rbd_qos_iops_limit': '7'}
            return known

        reported = run.run(self.cluster, ['volumes'], read_records).found
        self.assertEqual((), reported)
