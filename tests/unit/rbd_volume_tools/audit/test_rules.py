# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.audit.rules.

The functional test of the audit makes most findings on a cluster.
"""

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
_HOUR = datetime.timedelta(hours=1)
_ID, _OTHER, _POOL = facts.IDENT, facts.OTHER, facts.CINDER_POOL
_INVALID, _NO_MAP = images.MapState.INVALID, images.MapState.NONE
_SNAPSHOTS = tuple(
    map(
        facts.snapshot,
        (
            f'snapshot-{_OTHER}',
            f'volume-{_OTHER}.clone_snap',
            f'backup.{_OTHER}.snap.1.5',
        ),
    )
)
_HEALTHY = {
    definitions.ATTRIBUTE_OBJECT_SIZE: 4 * 2**20,
    definitions.ATTRIBUTE_STRIPE_UNIT: 4 * 2**20,
    definitions.ATTRIBUTE_STRIPE_COUNT: 1,
    definitions.ATTRIBUTE_FEATURES: sorted(facts.MAPPED),
    definitions.ATTRIBUTE_CACHE_MODES: {},
}
_LOST = 'volume-snapshot-lost'
_UPLOAD = 'interrupted-upload'
_AVAILABLE = {
    'snapshots': frozenset({_OTHER}),
    'available': {_ID: [_OTHER]},
}
_SAVING = {'images': frozenset({_ID}), 'incomplete': {_ID: 'saving'}}


def _entry(
    ident: str, source: objects.TrashSource, expires: datetime.datetime = _NOW
) -> objects.Trashed:
    return objects.Trashed('volumes', 'name', ident, source, _NOW, expires)


@ddt.ddt
class RulesTest(base.TestCase):
    def found(
        self, pool: scan.PoolScan, known: records.Records | None
    ) -> list[tuple[str, str]]:
        """Return code and detail of the findings of a pool."""
        return [
            (each.kind.code, each.detail)
            for each in rules.of_pool(pool, known, _NOW)
        ]

    # An image, the volume of the cloud, other records, and the findings: the
    # code of each, and a part of the detail of the first one.
    @ddt.data(
        ({}, {'made': _HEALTHY}, {}, []),
        # The API shows it otherwise.
        *(
            (
                {},
                {'made': {f'{definitions.ALIAS}:{name}': value}},
                {},
                ['attributes-contradict-image', f'recorded as {value}'],
            )
            for name, value in (
                ('object_size', 2**20),
                ('stripe_count', 8),
                ('features', ['layering']),
            )
        ),
        # A migrated volume has the image of another ID.
        ({'name': f'volume-{_OTHER}'}, {'image_id': _OTHER}, {}, []),
        (
            {'name': f'volume-{_ID}.backup.base'},
            *({}, {}, ['orphan-backup-image', '']),
        ),
        (
            {
                'name': f'volume-{_OTHER}.backup.base',
                'snapshots': (facts.snapshot(f'backup.{_ID}.snap.1.5'),),
            },
            *({}, {'backups': frozenset({_ID})}, []),
        ),
        (
            {'name': f'{_ID}_disk.config.rescue'},
            *({}, {}, ['orphan-disk', '1 GiB']),
        ),
        # A service that was not asked has any.
        ({'name': f'{_ID}_disk'}, {}, {'servers': None}, []),
        ({'name': _ID}, {}, {'images': None}, []),
        # The remedies for orphans would remove what another cloud has.
        *(
            (
                {'name': name, 'owner': 'other', 'snapshots': _SNAPSHOTS},
                *({}, {}, ['image-of-another-cloud', 'other']),
            )
            for name in (f'volume-{_ID}', _OTHER)
        ),
        # Snapshots that Cinder did not name.
        (
            {
                'snapshots': (
                    facts.snapshot('mine'),
                    facts.snapshot(f'snapshot-{_OTHER}', namespace='trash'),
                )
            },
            *({}, {}, []),
        ),
        ({'stale_lock': 'address'}, {}, {}, ['stale-lock', 'address']),
        ({'name': 'precious'}, {}, {}, ['unknown-name', '1 images']),
        (
            {},
            {'pool': 'host@two#two'},
            {'backends': {'host@two#two': 'other'}},
            ['second-image-of-volume', 'the volume is in other'],
        ),
        # Without a write for a day.
        *(
            (
                {'name': _ID, 'modified': _NOW - hours * _HOUR},
                *({}, {**_SAVING, **values}, expected),
            )
            for hours, values, expected in (
                (23, {}, []),
                (25, {}, [_UPLOAD, 'the Glance image is saving']),
                # An import still copies the data to another store.
                (25, {'located': {_ID: frozenset({'volumes'})}}, []),
                (25, {'incomplete': {}}, []),
            )
        ),
        # Of a volume whose image lacks it.
        ({}, {'status': 'in-use'}, _AVAILABLE, [_LOST, 'available in']),
        ({'snapshots': _SNAPSHOTS[:1]}, {}, _AVAILABLE, []),
        # With another snapshot_name_template.
        (
            {'snapshots': (facts.snapshot(f'cinder-{_OTHER}-snap'),)},
            *({}, _AVAILABLE, []),
        ),
        # A service is changing the image, or it is that of another cloud.
        ({}, {'status': 'retyping'}, _AVAILABLE, []),
        ({'owner': 'other'}, {}, _AVAILABLE, ['image-of-another-cloud', '']),
        # The remedy would delete the snapshot there: the back end has another
        # pool, is on another cluster, or is down.
        (
            *({}, {}, {**_AVAILABLE, 'backends': {_POOL: 'other'}}),
            ['second-image-of-volume', ''],
        ),
        ({}, {}, {**_AVAILABLE, 'backends': {_POOL: None}}, []),
        ({}, {}, {**_AVAILABLE, 'backends': {'host@o#o': 'volumes'}}, []),
        (
            {'size': rules.MANY_OBJECTS * 4 * 2**20, 'map_state': _NO_MAP},
            *({}, {}, ['slow-deletion', f'{rules.MANY_OBJECTS} objects']),
        ),
        ({'size': rules.MANY_OBJECTS * 4 * 2**20}, {}, {}, []),
    )
    @ddt.unpack
    def test_image_of_a_cloud_with_a_volume(
        self,
        image: dict[str, Any],
        volume: dict[str, Any],
        known: dict[str, Any],
        expected: list[str],
    ) -> None:
        pool = facts.pool(facts.image(**image))
        found = self.found(pool, facts.known(facts.volume(**volume), **known))
        codes, details = [x for x, _ in found], [x for _, x in found]
        self.assertEqual(expected[:1], codes)
        self.assertIn(expected[-1] if expected else '', *details or [''])

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
        source = objects.TrashSource
        entries = (
            _entry('a1', source.USER),
            _entry('a2', source.USER, _NOW + _HOUR),
            _entry('a3', source.USER_PARENT),
            _entry('a4', source.MIGRATION),
            _entry('a5', source.REMOVING),
        )
        self.assertEqual(
            [
                ('expired-trash', 'a1, since 2026-01-02 00:00'),
                ('interrupted-removal', 'a5, since 2026-01-02 00:00'),
            ],
            self.found(facts.pool(trash=entries), None),
        )

    def test_what_is_told_of_a_pool(self) -> None:
        broken = findings.Finding(findings.ID_LOST, 'volumes', 'half', 'why')
        pool = facts.pool(
            *(facts.image(f'csi-vol-{n}') for n in range(3)),
            namespaces={'tenant': 4},
            unreadable={'half': broken},
        )
        self.assertEqual(
            [
                ('id-object-lost', 'why'),
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
        self.assertEqual(number, len([*rules.ghosts([facts.pool()], known)]))

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
        known = facts.known(facts.volume(image_id=_OTHER))
        pool = facts.pool(facts.image(f'volume-{_OTHER}'))
        self.assertEqual([], list(rules.ghosts([pool], known)))

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
            facts.volume(_OTHER, **values),
            backends={_POOL: 'volumes', 'host@lost#lost': 'lost'},
            elsewhere=frozenset({'host@lvm#lvm'}),
        )
        unaudited = list(rules.unaudited([facts.pool()], known, is_whole))
        self.assertEqual(pools, [each.pool for each in unaudited])
        for each in unaudited:
            self.assertIn(f'2 volumes of {values["pool"]}', each.detail)

    def test_volume_of_a_finding(self) -> None:
        """Each has it, also if the image has the ID of a migration."""
        snapshot = facts.snapshot('mine', map_state=_INVALID)
        pool = facts.pool(
            facts.image(
                f'volume-{_OTHER}',
                map_state=_INVALID,
                overrides={'rbd_cache': 'false'},
                snapshots=(snapshot,),
            ),
            facts.image(_ID, map_state=_INVALID),
        )
        known = facts.known(
            facts.volume(image_id=_OTHER), images=frozenset({_ID})
        )
        volume = (_ID, 'project')
        self.assertEqual(
            [volume, volume, volume, ('', '')],
            [
                (each.volume, each.project)
                for each in rules.of_pool(pool, known, _NOW)
            ],
        )
        # The name of the image, if no service was asked. An orphan has none.
        without = dataclasses.replace(known, volumes={}, images=None)
        for records_of, volumes in ((None, {_OTHER, ''}), (without, {''})):
            reported = rules.of_pool(pool, records_of, _NOW)
            self.assertEqual(volumes, {each.volume for each in reported})
