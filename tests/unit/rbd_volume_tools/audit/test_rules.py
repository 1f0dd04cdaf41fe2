# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any

import ddt

from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import rules
from rbd_volume_tools.audit import scan
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

_NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)


@ddt.ddt
class RulesTest(base.TestCase):
    """Find contradictions; functional tests create each kind."""

    def found(
        self, pool: scan.PoolScan, known: records.Records | None
    ) -> list[tuple[str, str]]:
        return [
            (each.kind.code, each.detail)
            for each in rules.of_pool(pool, known, _NOW)
        ]

    def test_healthy_image_has_no_finding(self) -> None:
        made = {
            definitions.ATTRIBUTE_OBJECT_SIZE: 4 * 2**20,
            definitions.ATTRIBUTE_STRIPE_UNIT: 4 * 2**20,
            definitions.ATTRIBUTE_STRIPE_COUNT: 1,
            definitions.ATTRIBUTE_FEATURES: sorted(facts.MAPPED),
            definitions.ATTRIBUTE_CACHE_MODES: {},
        }
        pool = facts.pool(facts.image())
        known = facts.known(facts.volume(made=made))
        self.assertEqual([], self.found(pool, known))
        self.assertEqual([], self.found(pool, None))

    @ddt.data(
        ('object_size', 2**20),
        ('stripe_count', 8),
        ('features', ['layering']),
    )
    @ddt.unpack
    def test_contradicting_attribute_is_found(
        self, attribute: str, value: object
    ) -> None:
        known = facts.known(
            facts.volume(made={f'{definitions.ALIAS}:{attribute}': value})
        )
        ((code, detail),) = self.found(facts.pool(facts.image()), known)
        self.assertEqual('attributes-contradict-image', code)
        self.assertTrue(detail.startswith(f'{attribute} is '))
        self.assertIn(f'recorded as {value}', detail)

    @ddt.data(
        ('retyping', 1, []),
        # It has stopped, or another program migrates the image.
        ('retyping', 11, ['unfinished-rbd-migration']),
        ('retyping', None, ['unfinished-rbd-migration']),
        ('available', 1, ['unfinished-rbd-migration']),
    )
    @ddt.unpack
    def test_stopped_conversion_is_found(
        self, status: str, minutes: int | None, codes: list[str]
    ) -> None:
        made: dict[str, Any] = {definitions.ATTRIBUTE_OBJECT_SIZE: 2**20}
        if minutes is not None:
            at = _NOW - datetime.timedelta(minutes=minutes)
            # Another release may leave out the zone.
            zone = 'Z' if codes else ''
            told = f'{at:%Y-%m-%dT%H:%M:%S}{zone}'
            half = {'percent': 4, 'at': told, 'reason': None}
            made[image_record.ATTRIBUTE_CONVERSION] = half
        pool = facts.pool(facts.image(migrating=True))
        known = facts.known(facts.volume(made=made, status=status))
        reported = [code for code, _ in self.found(pool, known)]
        if codes:
            codes = [*codes, 'attributes-contradict-image']
        self.assertEqual(codes, reported)

    def test_trash_that_is_kept_on_purpose(self) -> None:
        later = _NOW + datetime.timedelta(hours=1)
        entries = (
            self.entry('old', 'a1', objects.TrashSource.USER, _NOW),
            self.entry('new', 'a2', objects.TrashSource.USER, later),
            self.entry('clone', 'a3', objects.TrashSource.USER_PARENT, _NOW),
            self.entry('moving', 'a4', objects.TrashSource.MIGRATION, _NOW),
        )
        reported = self.found(facts.pool(trash=entries), None)
        self.assertEqual(
            [('expired-trash', 'a1, since 2026-01-02 00:00')], reported
        )

    def entry(
        self,
        name: str,
        ident: str,
        source: objects.TrashSource,
        expires: datetime.datetime,
    ) -> objects.Trashed:
        return objects.Trashed('volumes', name, ident, source, _NOW, expires)

    def test_interrupted_removal_in_the_trash_is_found(self) -> None:
        entry = self.entry('half', 'a1', objects.TrashSource.REMOVING, _NOW)
        ((code, _),) = self.found(facts.pool(trash=(entry,)), None)
        self.assertEqual('interrupted-removal', code)

    def test_image_that_cannot_be_opened_has_the_kind_of_the_scan(
        self,
    ) -> None:
        broken = scan.Broken('half', 'abc', findings.ID_LOST, 'why')
        pool = facts.pool(unreadable={'half': broken})
        self.assertEqual([('id-object-lost', 'why')], self.found(pool, None))

    @ddt.data(
        ('orphan-backup-image', f'volume-{facts.IDENT}.backup.base', {}),
        ('orphan-disk', f'{facts.IDENT}_disk.config.rescue', {}),
        (
            'image-of-another-cloud',
            f'volume-{facts.IDENT}',
            {'owner': 'other'},
        ),
        ('stale-lock', f'volume-{facts.IDENT}', {'stale_lock': 'address'}),
        ('unknown-name', 'precious', {}),
    )
    @ddt.unpack
    def test_image_that_only_some_clouds_have_is_found(
        self, code: str, name: str, values: dict[str, Any]
    ) -> None:
        known = facts.known(facts.volume())
        pool = facts.pool(facts.image(name, **values))
        self.assertEqual([code], [c for c, _ in self.found(pool, known)])

    def test_image_of_a_volume_in_another_pool_is_found(self) -> None:
        known = facts.known(
            facts.volume(pool='host@two#two'),
            backends={'host@two#two': 'other'},
        )
        ((code, detail),) = self.found(facts.pool(facts.image()), known)
        self.assertEqual('second-image-of-volume', code)
        self.assertIn('other', detail)

    def test_unknown_names_are_counted_by_their_pattern(self) -> None:
        pool = facts.pool(
            *(facts.image(f'csi-vol-{n}') for n in range(3)),
            namespaces={'tenant': 4},
        )
        self.assertEqual(
            [
                ('images-in-namespace', '4 images'),
                ('unknown-name', '3 images'),
            ],
            self.found(pool, None),
        )

    @ddt.data(
        ({}, 1),
        ({'status': 'creating'}, 0),
        ({'status': 'error'}, 0),
        ({'migrating': True}, 0),
        ({'pool': 'host@other#other'}, 0),
    )
    @ddt.unpack
    def test_ghosts_are_available_volumes_without_image(
        self, values: dict[str, Any], number: int
    ) -> None:
        known = facts.known(facts.volume(**values))
        ghosts = rules.ghosts([facts.pool()], known)
        self.assertEqual(number, len(list(ghosts)))

    @ddt.data(
        ({}, True, []),
        ({'pool': 'host@lvm#lvm'}, True, []),
        ({'pool': 'host@lost#lost'}, True, ['lost']),
        # --pool leaves it out.
        ({'pool': 'host@lost#lost'}, False, []),
        # Its service is down, disabled or new to the scheduler.
        ({'pool': 'host@down#down'}, False, ['host@down#down']),
        ({'pool': 'host@down#down', 'status': 'error'}, False, []),
        ({'pool': ''}, True, []),
    )
    @ddt.unpack
    def test_volumes_whose_images_were_not_looked_for_are_counted(
        self, values: dict[str, Any], is_whole: bool, pools: list[str]
    ) -> None:
        known = facts.known(
            facts.volume(**values),
            facts.volume(facts.OTHER, **values),
            backends={facts.CINDER_POOL: 'volumes', 'host@lost#lost': 'lost'},
            elsewhere=frozenset({'host@lvm#lvm'}),
        )
        unaudited = list(rules.unaudited([facts.pool()], known, is_whole))
        self.assertEqual(pools, [each.pool for each in unaudited])
        for each in unaudited:
            self.assertIn(f'2 volumes of {values["pool"]}', each.detail)

    def test_volume_whose_image_is_in_another_pool_must_not_be_deleted(
        self,
    ) -> None:
        """Cinder saved a migration after its copy had been removed."""
        former = scan.PoolScan('former', (facts.image(),), {}, ())
        known = facts.known(facts.volume())
        (ghost,) = rules.ghosts([facts.pool(), former], known)
        self.assertIn('in former: do not delete', ghost.detail)
        (ghost,) = rules.ghosts([facts.pool()], known)
        self.assertEqual('the volume is available', ghost.detail)
        self.assertNotIn('delete', ghost.kind.remedy)

    def test_migrated_volume(self) -> None:
        known = facts.known(facts.volume(image_id=facts.OTHER))
        pool = facts.pool(facts.image(f'volume-{facts.OTHER}'))
        self.assertEqual([], self.found(pool, known))
        ghosts = rules.ghosts([pool], known)
        self.assertEqual([], list(ghosts))

    def test_upload_without_a_write_for_a_day_is_interrupted(self) -> None:
        known = facts.known(
            images=frozenset({facts.IDENT}),
            incomplete={facts.IDENT: 'saving'},
        )
        for hours, codes in ((23, []), (25, ['interrupted-upload'])):
            modified = _NOW - datetime.timedelta(hours=hours)
            pool = facts.pool(facts.image(facts.IDENT, modified=modified))
            self.assertEqual(codes, [x for x, _ in self.found(pool, known)])
        # An import still copies the data to another store.
        located = {facts.IDENT: frozenset({'volumes'})}
        elsewhere = dataclasses.replace(known, located=located)
        self.assertEqual([], self.found(pool, elsewhere))
        # The upload has ended.
        complete = facts.known(images=frozenset({facts.IDENT}))
        self.assertEqual([], self.found(pool, complete))

    def test_snapshot_of_cinder_that_its_image_lacks_is_lost(self) -> None:
        name = f'snapshot-{facts.OTHER}'
        # A cloud can have another snapshot_name_template.
        lacking, whole, renamed = (
            facts.pool(facts.image(f'volume-{facts.OTHER}', snapshots=snaps))
            for snaps in (
                (),
                (facts.snapshot(name),),
                (facts.snapshot(f'cinder-{facts.OTHER}-snap'),),
            )
        )

        def found(pool: scan.PoolScan, status: str) -> list[str]:
            # A volume that was migrated has an image of another ID.
            known = facts.known(
                facts.volume(image_id=facts.OTHER, status=status),
                snapshots=frozenset({facts.OTHER}),
                available={facts.IDENT: [facts.OTHER]},
            )
            return [
                f'{each.kind.code} {each.image} {each.volume}'
                for each in rules.of_pool(pool, known, _NOW)
            ]

        self.assertEqual(
            [
                'volume-snapshot-lost '
                f'volume-{facts.OTHER}@{name} {facts.IDENT}'
            ],
            found(lacking, 'in-use'),
        )
        self.assertEqual([], found(whole, 'in-use'))
        self.assertEqual([], found(renamed, 'in-use'))
        # A service is changing the image.
        self.assertEqual([], found(lacking, 'retyping'))

    @ddt.data(
        ({'owner': 'another cloud'}, {}),
        # The back end has another pool, is on another cluster, or is down.
        ({}, {facts.CINDER_POOL: 'other'}),
        ({}, {facts.CINDER_POOL: None}),
        ({}, {'host@other#other': 'volumes'}),
    )
    @ddt.unpack
    def test_snapshot_of_a_volume_that_is_elsewhere_is_not_lost(
        self, of_image: dict[str, str], backends: dict[str, str | None]
    ) -> None:
        """The remedy would delete the snapshot there."""
        scanned = facts.pool(facts.image(**of_image))
        known = facts.known(
            facts.volume(),
            snapshots=frozenset({facts.OTHER}),
            available={facts.IDENT: [facts.OTHER]},
            **({'backends': backends} if backends else {}),
        )
        findings = rules.of_pool(scanned, known, _NOW)
        codes = {each.kind.code for each in findings}
        self.assertNotIn('volume-snapshot-lost', codes)

    def test_slow_deletion(self) -> None:
        size = rules.MANY_OBJECTS * 4 * 2**20
        slow = facts.image(size=size, map_state=images.MapState.NONE)
        fast = facts.image(size=size)
        self.assertEqual(
            [('slow-deletion', f'{rules.MANY_OBJECTS} objects')],
            self.found(facts.pool(slow, fast), None),
        )

    def test_volume_of_a_finding(self) -> None:
        """Each has it, also if the image has the ID of a migration."""
        invalid = images.MapState.INVALID
        pool = facts.pool(
            facts.image(
                f'volume-{facts.OTHER}',
                map_state=invalid,
                overrides={'rbd_cache': 'false'},
                snapshots=(facts.snapshot('mine', map_state=invalid),),
            ),
            facts.image(f'{facts.IDENT}', map_state=invalid),
        )
        known = facts.known(
            facts.volume(image_id=facts.OTHER),
            images=frozenset({facts.IDENT}),
        )
        volume = (facts.IDENT, 'project')
        self.assertEqual(
            [volume, volume, volume, ('', '')],
            [
                (each.volume, each.project)
                for each in rules.of_pool(pool, known, _NOW)
            ],
        )
        # The name of the image, if no service was asked.
        self.assertEqual(
            {facts.OTHER, ''},
            {each.volume for each in rules.of_pool(pool, None, _NOW)},
        )
        # An orphan has no volume.
        reported = rules.of_pool(pool, facts.known(images=None), _NOW)
        self.assertEqual({''}, {each.volume for each in reported})


class OrphansTest(base.TestCase):
    def test_service_that_was_not_asked_has_no_orphan(self) -> None:
        disk = facts.image(f'{facts.IDENT}_disk')
        known = facts.known(images=None, servers=None)
        for image in (facts.image(facts.IDENT), disk):
            self.assertEqual([], list(rules.orphan(image, known)))
            self.assertEqual(1, len([*rules.orphan(image, facts.known())]))

    def test_size_of_an_orphan_has_a_unit(self) -> None:
        image = facts.image(facts.IDENT)
        (orphan,) = rules.orphan(image, facts.known())
        self.assertEqual('1 GiB', orphan.detail)

    def test_backup_that_cinder_has_keeps_its_image(self) -> None:
        snapshot = facts.snapshot(f'backup.{facts.OTHER}.snap.1.5')
        image = facts.image(
            f'volume-{facts.IDENT}.backup.base', snapshots=(snapshot,)
        )
        known = facts.known(backups=frozenset({facts.OTHER}))
        self.assertEqual([], list(rules.orphan(image, known)))
        self.assertEqual(1, len([*rules.orphan(image, facts.known())]))

    def test_image_of_another_cloud_has_no_orphans(self) -> None:
        """The remedies would remove them."""
        for name in (f'volume-{facts.IDENT}', facts.IDENT):
            image = facts.image(
                name,
                owner='another cloud',
                snapshots=tuple(
                    map(
                        facts.snapshot,
                        (
                            f'snapshot-{facts.OTHER}',
                            f'volume-{facts.OTHER}.clone_snap',
                            f'backup.{facts.OTHER}.snap.1.5',
                        ),
                    )
                ),
            )
            audited = rules.of_pool(facts.pool(image), facts.known(), _NOW)
            self.assertEqual(
                ['image-of-another-cloud'],
                [each.kind.code for each in audited],
            )

    def test_snapshots_that_cinder_did_not_name(self) -> None:
        image = facts.image(
            snapshots=(
                facts.snapshot('mine'),
                facts.snapshot(f'snapshot-{facts.OTHER}', namespace='trash'),
            )
        )
        volume = facts.volume()
        known = facts.known(volume)
        self.assertEqual([], [*rules.orphan_snapshots(image, known, volume)])
