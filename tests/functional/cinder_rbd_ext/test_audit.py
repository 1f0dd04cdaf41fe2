# SPDX-License-Identifier: Apache-2.0

"""The audit reports planted problems, and none in a healthy pool."""

import contextlib
import datetime
import json
import os
import subprocess
from typing import Any
import uuid

import fixtures
import rados
import rbd
import testtools

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import rules
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from tests.functional import ceph

_MIB = 2**20
_LOCKED = features.to_mask({features.LAYERING, features.EXCLUSIVE_LOCK})
_MAPPED = features.to_mask(
    {features.LAYERING, features.DEEP_FLATTEN, *features.MAP_ON}
)
_POOL = 'sandbox@rbd#rbd'


class AuditTestCase(testtools.TestCase):
    """Images in a pool, and records of volumes."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.addCleanup(self._empty_trash)
        self.volumes: dict[str, records.Volume] = {}
        self.snapshots: set[str] = set()
        self.audited = scan.Cluster(rados, rbd, self.cluster.conf, 'admin')

    def _empty_trash(self) -> None:
        ioctx = self.cluster.ioctx()
        for entry in list(rbd.RBD().trash_list(ioctx)):
            with contextlib.suppress(rbd.Error):
                rbd.RBD().trash_remove(ioctx, entry['id'], force=True)

    def make(
        self, name: str, mask: int = _MAPPED, size: int = 8 * _MIB
    ) -> str:
        """Create an image."""
        rbd.RBD().create(
            self.cluster.ioctx(), name, size, old_format=False, features=mask
        )
        return name

    def volume(self, mask: int = _MAPPED, **values: Any) -> str:
        """Create a volume's image and its record; return the image's name."""
        ident = str(uuid.uuid4())
        self.record(ident, **values)
        return self.make(f'volume-{ident}', mask)

    def record(self, ident: str, **values: Any) -> None:
        """Record a volume."""
        fields = {'status': 'available', **values}
        self.volumes[ident] = records.Volume(
            ident, ident, 'project', 'type', _POOL, **fields
        )

    def snapshot(self, name: str, snapshot: str) -> None:
        """Take a snapshot of an image."""
        with self.cluster.image(name) as image:
            image.create_snap(snapshot)
            image.protect_snap(snapshot)
        self.addCleanup(self._unprotect, name, snapshot)

    def _unprotect(self, name: str, snapshot: str) -> None:
        with (
            contextlib.suppress(rbd.Error),
            self.cluster.image(name) as image,
        ):
            image.unprotect_snap(snapshot)

    def clone(
        self, source: str, snapshot: str, name: str, mask: int = _MAPPED
    ) -> None:
        """Clone a snapshot."""
        ioctx = self.cluster.ioctx()
        rbd.RBD().clone(ioctx, source, snapshot, ioctx, name, features=mask)

    def audit(self, cloud: bool = True) -> report.Report:
        """Audit the pool."""
        known = records.Records(
            self.volumes,
            frozenset(self.snapshots),
            frozenset(),
            {_POOL: 'volumes'},
            frozenset(),
            frozenset(),
        )
        return run.run(
            self.audited,
            ['volumes'],
            lambda: known if cloud else None,
            workers=2,
        )

    def found(self, cloud: bool = True) -> set[tuple[str, str]]:
        """Return the codes of the findings and the images."""
        return {
            (each.kind.code, each.image) for each in self.audit(cloud).found
        }


class HealthyTest(AuditTestCase):
    """No findings in a healthy pool."""

    def test_nothing_is_found(self) -> None:
        source = self.volume(
            made={definitions.ATTRIBUTE_OBJECT_SIZE: 4 * _MIB}
        )
        clone = f'volume-{uuid.uuid4()}'
        self.record(clone.removeprefix('volume-'))
        self.snapshot(source, f'{clone}.clone_snap')
        self.clone(source, f'{clone}.clone_snap', clone)
        ident = str(uuid.uuid4())
        self.snapshots.add(ident)
        self.snapshot(clone, f'snapshot-{ident}')
        # Its clone needs the source, which Cinder has deleted.
        rbd.RBD().rename(self.cluster.ioctx(), source, f'{source}.deleted')
        self.addCleanup(
            rbd.RBD().rename, self.cluster.ioctx(), f'{source}.deleted', source
        )
        del self.volumes[source.removeprefix('volume-')]
        for status in ('creating', 'error'):
            self.record(str(uuid.uuid4()), status=status)
        self.assertEqual(set(), self.found())
        self.assertEqual(set(), self.found(cloud=False))

    def test_counts_by_type_and_map_state(self) -> None:
        self.volume()
        self.volume()
        self.volume(_LOCKED)
        counts = {
            (each.volume_type, each.map_state): (each.number, each.size)
            for each in self.audit().counts
            if each.owner is names.Owner.VOLUME
        }
        self.assertEqual(
            {
                ('type', images.MapState.VALID): (2, 16 * _MIB),
                ('type', images.MapState.NONE): (1, 8 * _MIB),
            },
            counts,
        )

    def test_used_space(self) -> None:
        """As rbd du counts it; unknown without a valid fast-diff map."""
        plain, stale, mapped = (
            self.volume(mask) for mask in (_LOCKED, _LOCKED, _MAPPED)
        )
        for name in (plain, stale, mapped):
            with self.cluster.image(name) as image:
                image.write(b'x', 0)
        with self.cluster.image(stale) as image:
            missing = features.MAP_ON - {features.EXCLUSIVE_LOCK}
            image.update_features(features.to_mask(missing), True)
        self.snapshot(mapped, 'one')
        clone = f'volume-{uuid.uuid4()}'
        self.clone(mapped, 'one', clone)
        with self.cluster.image(mapped) as image:
            image.write(b'x', 0)
            image.write(b'x', 4 * _MIB)
        self.snapshot(mapped, 'two')
        used = self._used()
        self.assertEqual(
            {plain: None, stale: None, mapped: 12 * _MIB, clone: 0}, used
        )
        command = ['rbd', '--conf', self.cluster.conf, 'du', '--format=json']
        shown = subprocess.check_output([*command, f'volumes/{mapped}'])
        rows = json.loads(shown)['images']
        self.assertEqual(used[mapped], sum(row['used_size'] for row in rows))

    def _used(self) -> dict[str, int | None]:
        (scanned,) = run.run(
            self.audited, ['volumes'], lambda: None, with_usage=True
        ).scans
        return {image.name: image.used for image in scanned.found}

    def test_progress_and_cancel(self) -> None:
        for _ in range(3):
            self.volume()
        seen: list[tuple[int, int]] = []
        self.audited.scan('volumes', lambda *at: seen.append(at), workers=2)
        self.assertEqual((3, 3), seen[-1])

        def interrupt(done: int, total: int) -> None:
            raise KeyboardInterrupt

        self.assertRaises(
            KeyboardInterrupt, self.audited.scan, 'volumes', interrupt, 2
        )


class PermissionsTest(AuditTestCase):
    """Audits as Ceph users of the documentation."""

    def audit_as(
        self, *caps: str, pools: tuple[str, ...] = ('volumes', 'volumes2')
    ) -> report.Report:
        """Audit pools as a user with the given capabilities."""
        with self.cluster.user('audit', *caps) as conf:
            known = records.Records(
                self.volumes,
                frozenset(),
                frozenset(),
                {_POOL: 'volumes', 'sandbox@rbd2#rbd2': 'volumes2'},
                frozenset(),
                frozenset(),
            )
            limited = scan.Cluster(rados, rbd, conf, 'audit')
            return run.run(limited, pools, lambda: known)

    def test_pool_that_may_not_be_listed_is_named_and_others_audited(
        self,
    ) -> None:
        self.volume()
        self.volume(mask=_LOCKED)
        # Its image may be in the pool that cannot be read.
        ident = str(uuid.uuid4())
        self.volumes[ident] = records.Volume(
            ident, ident, 'project', 'type', 'sandbox@rbd2#rbd2', 'available'
        )
        audited = self.audit_as(
            *('mon', 'profile rbd', 'osd', 'profile rbd pool=volumes')
        )
        (finding,) = audited.found
        self.assertEqual(findings.FORBIDDEN, finding.kind)
        self.assertEqual(('volumes2', ''), (finding.pool, finding.image))
        self.assertIn('client.audit may not list', finding.detail)
        self.assertEqual(2, audited.number)
        self.assertFalse(audited.is_complete)

    def test_image_whose_clones_may_not_be_read_is_not_half_removed(
        self,
    ) -> None:
        source = f'volume-{uuid.uuid4()}.deleted'
        self.make(source)
        snapshot = f'volume-{uuid.uuid4()}.clone_snap'
        self.snapshot(source, snapshot)
        rbd.RBD().clone(
            *(self.cluster.ioctx(), source, snapshot),
            *(self.cluster.ioctx('volumes2'), 'clone'),
            features=_MAPPED,
        )
        audited = self.audit_as(
            *('mon', 'profile rbd', 'osd', 'profile rbd pool=volumes'),
            pools=('volumes',),
        )
        self.assertEqual(
            [(findings.FORBIDDEN, source)],
            [(each.kind, each.image) for each in audited.found],
        )

    def test_image_with_metadata_that_is_no_text_is_named(self) -> None:
        self.volume()
        name = self.volume()
        with self.cluster.image(name) as image:
            header = f'rbd_header.{image.id()}'
        ioctx = self.cluster.ioctx()
        with rados.WriteOpCtx() as operation:
            ioctx.set_omap(operation, ('metadata_a',), (b'\xff',))
            ioctx.operate_write_op(operation, header)
        audited = self.audit()
        (finding,) = audited.found
        self.assertEqual(findings.FORBIDDEN, finding.kind)
        self.assertEqual(name, finding.image)
        self.assertIn('not UTF-8', finding.detail)
        self.assertEqual(1, audited.number)

    def test_image_with_a_name_that_is_no_text_is_named(self) -> None:
        self.volume()
        program = 'rbd', '--conf', self.cluster.conf
        path = os.fsdecode(b'volumes/volume-\xff')
        subprocess.run((*program, 'create', '--size=1', path), check=True)
        remove = (*program, 'remove', '--no-progress', path)
        self.addCleanup(subprocess.run, remove, check=True)
        audited = self.audit()
        (finding,) = audited.found
        self.assertEqual(findings.FORBIDDEN, finding.kind)
        self.assertEqual('volume-\\xff', finding.image)
        self.assertIn('its name is not UTF-8', finding.detail)
        self.assertEqual(1, audited.number)

    def test_read_only_user_of_the_page_reads_everything(self) -> None:
        self.volume()
        audited = self.audit_as(
            *('mon', 'profile rbd-read-only'),
            *('osd', 'profile rbd-read-only'),
            pools=tuple(ceph.POOLS),
        )
        self.assertEqual((), audited.found)
        self.assertEqual(1, audited.number)

    def test_missing_pool_is_named_with_the_pools_that_exist(self) -> None:
        error = self.assertRaises(scan.NoPool, self.audited.scan, 'none-such')
        self.assertIn('no pool none-such', str(error))
        self.assertIn('volumes2', str(error))


class PlantedTest(AuditTestCase):
    """One test for each kind of finding."""

    def check(self, kind: findings.Kind, image: str) -> None:
        """Check that there is exactly this finding."""
        self.assertEqual({(kind.code, image)}, self.found())

    def test_invalid_map(self) -> None:
        name = self.volume(_LOCKED)
        with self.cluster.image(name) as image:
            image.write(b'x' * 4096, 0)
            image.update_features(
                features.to_mask({features.OBJECT_MAP}), True
            )
        self.check(findings.MAP_INVALID, name)

    def test_invalid_map_of_a_snapshot(self) -> None:
        name = self.volume(_LOCKED)
        ident = str(uuid.uuid4())
        self.snapshots.add(ident)
        with self.cluster.image(name) as image:
            image.write(b'x' * 4096, 0)
            image.create_snap(f'snapshot-{ident}')
            image.update_features(
                features.to_mask({features.OBJECT_MAP}), True
            )
            image.rebuild_object_map()
        self.check(findings.SNAPSHOT_MAP_INVALID, f'{name}@snapshot-{ident}')

    def test_reports_overriding_conf_rbd_cache(self) -> None:
        name = self.volume()
        with self.cluster.image(name) as image:
            image.metadata_set('conf_rbd_cache', 'false')
            image.metadata_set('colour', 'blue')
        self.check(findings.OVERRIDE, name)

    def test_reports_images_and_snapshots_without_owner(self) -> None:
        ident = str(uuid.uuid4())
        image = self.volume()
        self.snapshot(image, f'snapshot-{ident}')
        self.snapshot(image, f'backup.{ident}.snap.1700000000.25')
        for name in (f'volume-{ident}', ident, f'{ident}_disk.config'):
            self.make(name)
        expected = {
            ('orphan-volume', f'volume-{ident}'),
            ('orphan-image', ident),
            ('orphan-disk', f'{ident}_disk.config'),
            ('orphan-snapshot', f'{image}@snapshot-{ident}'),
            (
                'orphan-backup-snapshot',
                f'{image}@backup.{ident}.snap.1700000000.25',
            ),
        }
        self.assertEqual(expected, self.found())
        self.assertEqual(set(), self.found(cloud=False))

    def test_volume_without_image(self) -> None:
        ident = str(uuid.uuid4())
        self.record(ident)
        self.check(findings.GHOST, f'volume-{ident}')
        self.assertEqual(findings.Severity.ERROR, self.audit().severity)

    def test_source_that_nobody_needs(self) -> None:
        name = f'volume-{uuid.uuid4()}.deleted'
        self.make(name)
        self.check(findings.DELETED_SOURCE, name)

    def test_snapshot_of_a_clone_that_is_gone(self) -> None:
        name = self.volume()
        snapshot = f'volume-{uuid.uuid4()}.clone_snap'
        self.snapshot(name, snapshot)
        self.check(findings.CLONE_SNAPSHOT, f'{name}@{snapshot}')

    def test_half_removed(self) -> None:
        name = self.volume()
        with self.cluster.image(name) as image:
            ident = image.id()
        self.cluster.ioctx().remove_object(f'rbd_header.{ident}')
        self.check(findings.HALF_REMOVED, name)

    def test_damaged_id_object_is_as_a_lost_one(self) -> None:
        key = f'rbd_id.{(name := self.volume())}'
        ioctx = self.cluster.ioctx()
        self.addCleanup(ioctx.write_full, key, ioctx.read(key))
        ioctx.write_full(key, b'\x08\x00')
        self.check(findings.ID_LOST, name)

    def test_reports_expired_trash_only(self) -> None:
        ioctx = self.cluster.ioctx()
        expired, kept = self.make('expired'), self.make('kept')
        rbd.RBD().trash_move(ioctx, expired, 0)
        rbd.RBD().trash_move(ioctx, kept, 3600)
        self.check(findings.IN_TRASH, expired)

    def test_migration_of_librbd(self) -> None:
        ioctx = self.cluster.ioctx()
        name = self.volume()
        rbd.RBD().migration_prepare(ioctx, name, ioctx, name)
        self.addCleanup(rbd.RBD().migration_abort, ioctx, name)
        self.check(findings.RBD_MIGRATION, name)

    def test_migration_of_cinder(self) -> None:
        name = self.volume(migrating=True)
        self.check(findings.CINDER_MIGRATION, name)

    def test_reports_lock_on_multiattach_volume(self) -> None:
        name = self.volume(multiattach=True)
        self.check(findings.MULTIATTACH, name)

    def test_reports_attributes_that_contradict_the_image(self) -> None:
        name = self.volume(made={definitions.ATTRIBUTE_OBJECT_SIZE: 8 * _MIB})
        self.check(findings.CONTRADICTION, name)

    def test_no_deep_flatten(self) -> None:
        source = self.volume()
        name = f'volume-{uuid.uuid4()}'
        self.record(name.removeprefix('volume-'))
        self.snapshot(source, f'{name}.clone_snap')
        self.clone(source, f'{name}.clone_snap', name, _LOCKED)
        ident = str(uuid.uuid4())
        self.snapshots.add(ident)
        self.snapshot(name, f'snapshot-{ident}')
        self.check(findings.NO_DEEP_FLATTEN, name)

    def test_slow_deletion(self) -> None:
        # Removal of the real number of objects would take too long.
        self.useFixture(fixtures.MockPatchObject(rules, 'MANY_OBJECTS', 2))
        name = self.volume(_LOCKED)
        self.volume()
        self.check(findings.SLOW_DELETION, name)

    def test_json_describes_image(self) -> None:
        name = self.volume(_LOCKED)
        plain = json.loads(''.join(self.audit().as_json()))
        (image,) = plain['images']
        self.assertEqual(name, image['name'])
        self.assertEqual(2, image['objects_to_visit_on_deletion'])
        self.assertEqual('none', image['object_map'])
        taken = datetime.datetime.fromisoformat(plain['taken'])
        self.assertIsNotNone(taken.tzinfo)
