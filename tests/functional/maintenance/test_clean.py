# SPDX-License-Identifier: Apache-2.0

"""What is provably this cloud's garbage is removed, and nothing else."""

import datetime
import signal
import time
from typing import Any

import rados
import rbd

from rbd_volume_options import ownership
from rbd_volume_tools.audit import objects
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import outcomes
from tests.functional import interruptions
from tests.functional.maintenance import clean_case


class CleanTest(clean_case.CleanTestCase):
    """Pools of this cloud and of another one, with leftovers."""

    def test_only_provable_garbage_is_removed(self) -> None:
        """Whatever is planted."""
        self.useFixture(interruptions.ShortWatch(self.ceph))
        self._plant_foreign()
        self._plant_used()
        self._plant_recorded()
        self._plant_broken()
        self._plant_trash()
        self._plant_snapshots()
        self._plant_garbage()
        stale = self.deleted()
        self.cut_off(stale, signal.SIGKILL)
        restored, renamed = self.deleted(), self.marked()

        self.services.delete_now()
        time.sleep(1.1)
        self.cut = datetime.datetime.now(datetime.timezone.utc)
        time.sleep(1.1)
        later = f'{self.now:%Y-%m-%d %H:%M:%S}'
        self.keep |= {
            self.deleted(at=later): 'too-young',
            self.restored(restored): 'later-than-deletion',
            self.renamed(renamed): 'later-than-deletion',
            # Imported after the deletion.
            self.deleted(): 'later-than-deletion',
            self.marked(): 'later-than-deletion',
        }
        self.trashed(self.deleted())
        time.sleep(3)

        before = self.content()
        planned = self.plan()
        self.assertEqual(before, self.content())
        for image, code in self.keep.items():
            self.expect(planned, image, code)
        self._require_each_kind(planned)
        # The audit does not call it an orphan.
        self.assertNotIn(f'volumes/{self.foreign}', planned)
        stale_locks = {
            image: each
            for image, each in clean_case.items_of(planned).items()
            if each.seen['stale_lock']
        }
        # The killed processes of interrupted removals had the lock, too.
        self.assertIn(f'volumes/{stale}', stale_locks)
        self.assertEqual(3, len(stale_locks))
        for image, outcome in self.apply(planned).items():
            expected = outcomes.Status.DONE
            if image in stale_locks:
                expected = outcomes.Status.REFUSED
                self.assertEqual('stale-lock', outcome.code)
            self.assertEqual(expected, outcome.status, str(outcome))
        self.breaks_locks = True
        self.assertEqual(
            {outcomes.Status.DONE},
            {each.status for each in self.apply(stale_locks).values()},
        )
        self.to_trash.add(stale)
        after = self.content()
        moved = {
            entry.ident: entry.name
            for entry in objects.trash(rados, self.ceph.ioctx(), 'volumes')
            if f'volumes trash {entry.ident}' not in before
        }
        self.assertEqual(self.to_trash, set(moved.values()))
        lost = before - after
        snapshots_of_moved = {
            each
            for each in lost
            if each.partition('@')[0].partition('/')[2] in self.to_trash
        }
        self.assertEqual(
            {f'volumes trash {each}' for each in self.trash_gone}
            | self.names_gone
            | {f'volumes/{each}' for each in self.to_trash},
            lost
            - (snapshots_of_moved - {f'volumes/{x}' for x in self.to_trash}),
        )
        self.assertGreater(len(before), 70)
        # What went to the trash is complete.
        for ident, name in moved.items():
            with rbd.Image(self.ceph.ioctx(), image_id=ident) as image:
                if name == self.with_snapshots:
                    self.assertEqual(b'data', image.read(2 * 2**22, 4))
        self.assertEqual({}, clean_case.items_of(self.plan()))

    def _require_each_kind(self, planned: dict[str, Any]) -> None:
        """Check that something of each row of the table is planned."""
        kinds = {
            each.seen['kind'] for each in clean_case.items_of(planned).values()
        }
        self.assertEqual({each.code for each in leftovers.TABLE}, kinds)

    def _plant_foreign(self) -> None:
        """Plant what belongs to nobody, or to others."""
        services, keep = self.services, self.keep
        for _ in range(3):
            keep[self.unknown()] = 'owner-unknown'
        keep[self.image(self._uuid())] = 'owner-unknown'
        keep[self.image(f'{self._uuid()}_disk')] = 'owner-unknown'
        # Nova knows the server as deleted, but not the pool of its disk.
        gone = self._uuid(services.deleted_servers)
        keep[self.image(f'{gone}_disk')] = 'owner-unknown'
        # The databases of yesterday lack what was created since.
        keep[self.unknown(clean_case.CLOUD)] = 'never-recorded'
        keep[self.image(self._uuid(), clean_case.CLOUD)] = 'never-recorded'
        keep[self.image(f'{self._uuid()}_disk', clean_case.CLOUD)] = (
            'never-recorded'
        )
        self.foreign = self.unknown(clean_case.OTHER_CLOUD)
        parent = self.marked()
        keep[self.clone(parent)] = 'owner-unknown'
        keep[parent] = 'children'
        keep[self.unknown(ownership.RELEASED)] = 'unmanaged'
        released = self.deleted()
        ownership.write_named(self.ceph.ioctx(), released, ownership.RELEASED)
        keep[released] = 'unmanaged'
        keep[self.deleted('', is_recorded=False)] = 'owner-unknown'
        keep[self.deleted('')] = 'owner-unknown'
        # Somebody has changed the column ``deleted`` only.
        keep[self.deleted(at=None)] = 'never-recorded'
        # The stock driver of that back end has unmanaged it.
        keep[self.deleted(host='host@two#two')] = 'owner-unknown'
        keep[self.deleted('', host='host@two#two')] = 'owner-unknown'
        keep[self.deleted(host='gone@gone#gone')] = 'owner-unknown'
        # A new owner has copied a released image to its old name.
        source = self.deleted()
        ownership.write_named(self.ceph.ioctx(), source, ownership.RELEASED)
        with self.ceph.image(source) as image:
            image.deep_copy(self.ceph.ioctx(), 'y', clean_case.MASK)
        rbd.RBD().remove(self.ceph.ioctx(), source)
        rbd.RBD().rename(self.ceph.ioctx(), 'y', source)
        keep[source] = 'unmanaged'
        foreign = self.deleted(host=clean_case.HOST)
        rbd.RBD().rename(self.ceph.ioctx(), foreign, 'x')
        with self.ceph.image('x') as image:
            image.deep_copy(
                self.ceph.ioctx('volumes2'), foreign, clean_case.MASK
            )
        rbd.RBD().remove(self.ceph.ioctx(), 'x')
        self.copied_mark = self.marked()
        with self.ceph.image(self.copied_mark) as image:
            image.deep_copy(
                self.ceph.ioctx('volumes2'), self.copied_mark, clean_case.MASK
            )
        keep[self.image(services.image_row(self._uuid(), 'images'))] = (
            'owner-unknown'
        )
        self.image('precious-db')
        namespace = self.ceph.rados.open_ioctx('volumes')
        self.addCleanup(namespace.close)
        rbd.RBD().namespace_create(namespace, 'tenant')
        self.addCleanup(
            rbd.RBD().namespace_remove, self.ceph.ioctx(), 'tenant'
        )
        namespace.set_namespace('tenant')
        inside = f'volume-{services.volume_row(self._uuid())}'
        rbd.RBD().create(namespace, inside, 2**22)
        self.addCleanup(rbd.RBD().remove, namespace, inside)

    def _plant_used(self) -> None:
        """Plant what is used or needed."""
        keep = self.keep
        opened = self.deleted()
        self.addCleanup(self.ceph.image(opened).close)
        keep[opened] = 'in-use'
        locked = self.deleted()
        with self.ceph.image(locked) as image:
            image.lock_exclusive('by hand')
        self.addCleanup(self._unlock, locked)
        keep[locked] = 'locked'
        keep[of_trash := self.deleted()] = 'children'
        self.trashed(self.clone(of_trash), 3600)
        grouped = self.deleted()
        rbd.RBD().group_create(self.ceph.ioctx(), 'group')
        group = rbd.Group(self.ceph.ioctx(), 'group')
        group.add_image(self.ceph.ioctx(), grouped)
        self.addCleanup(rbd.RBD().group_remove, self.ceph.ioctx(), 'group')
        self.addCleanup(group.remove_image, self.ceph.ioctx(), grouped)
        keep[grouped] = 'in-group'

    def _plant_recorded(self) -> None:
        """Plant what the cloud has a record of."""
        services, keep = self.services, self.keep
        later = self.now - datetime.timedelta(hours=1)
        keep[self.deleted(at=f'{later:%Y-%m-%d %H:%M:%S}')] = 'too-young'
        migrated = self.unknown(clean_case.CLOUD)
        services.volume_row(
            self._uuid(), False, name_id=migrated.removeprefix('volume-')
        )
        keep[migrated] = 'recorded'
        hidden = self.unknown(clean_case.CLOUD)
        services.hidden.add(hidden.removeprefix('volume-'))
        keep[hidden] = 'recorded'
        keep[with_snapshot := self.unknown(clean_case.CLOUD)] = 'recorded'
        self.snapshot(
            with_snapshot, f'snapshot-{self._uuid(services.snapshots)}'
        )
        moving = self.unknown(clean_case.CLOUD, data=0)
        rbd.RBD().migration_prepare(
            self.ceph.ioctx(), moving, self.ceph.ioctx(), moving
        )
        self.addCleanup(rbd.RBD().migration_abort, self.ceph.ioctx(), moving)
        keep[moving] = 'migrating'

    def _plant_broken(self) -> None:
        """Plant what is broken and not empty."""
        keep = self.keep
        complete = self.deleted()
        self.remove_objects(f'rbd_id.{complete}')
        self.addCleanup(self._restore_id, complete, self._id_in(complete))
        headless = self.deleted()
        with self.ceph.image(headless) as image:
            image.write(b'data', 5 * 2**22)
        self.remove_objects(f'rbd_header.{self.id_of(headless)}')
        keep[headless] = 'not-a-rest'
        self.addCleanup(rbd.RBD().remove, self.ceph.ioctx(), headless)

    def _plant_trash(self) -> None:
        """Plant what must stay in the trash."""
        self.trashed(self.image('precious-db-2'))
        self.trashed(self.unknown())
        self.trashed(self.unknown(clean_case.OTHER_CLOUD))
        self.trashed(self.deleted(), 30 * 86400)
        self.interrupted(self.unknown())

    def _plant_snapshots(self) -> None:
        """Plant snapshots that are backups, and those of clones."""
        services, keep = self.services, self.keep
        names_gone = self.names_gone
        volume = self.live.removeprefix('volume-')
        keep[self.snapshot(self.live, f'volume-{self._uuid()}.clone_snap')] = (
            'owner-unknown'
        )
        keep[self.snapshot(self.live, f'backup.{self._uuid()}.snap.1.5')] = (
            'owner-unknown'
        )
        self.snapshot(self.live, f'snapshot-{self._uuid()}')
        base = self.image(f'volume-{volume}.backup.base', pool='images')
        for deleted in (False, True, None):
            backup = self._uuid()
            snapshot = f'backup.{backup}.snap.1.5'
            self.snapshot(base, snapshot, 'images')
            if deleted is None:
                services.backup_row(backup, self._uuid())
                continue
            services.backup_row(backup, volume, deleted)
            if deleted:
                names_gone.add(f'images/{base}@{snapshot}')
            else:
                services.backups.add(backup)
        others = self.image(
            f'volume-{self._uuid()}.backup.base', pool='images'
        )
        self.snapshot(others, f'backup.{self._uuid()}.snap.1.5', 'images')
        # In a copy of the pool, it is the only copy of the backup.
        services.backup_row(backup := self._uuid(), volume, pool='volumes2')
        self.snapshot(base, f'backup.{backup}.snap.1.5', 'images')
        gone = services.volume_row(self._uuid())
        names_gone.add(
            f'volumes/{self.snapshot(self.live, f"volume-{gone}.clone_snap")}'
        )
        unmanaged = self.deleted()
        ownership.write_named(self.ceph.ioctx(), unmanaged, ownership.RELEASED)
        keep[self.snapshot(unmanaged, f'volume-{gone}.clone_snap')] = (
            'owner-unknown'
        )

    def _plant_garbage(self) -> None:
        """Plant images and entries of the trash that must go."""
        services, to_trash = self.services, self.to_trash
        names_gone, trash_gone = self.names_gone, self.trash_gone
        gone = services.deleted_servers
        to_trash |= {
            self.deleted(),
            self.marked(),
            self.image(services.image_row(self._uuid(), 'volumes')),
            *(
                self.image(f'{self._uuid(gone)}{suffix}', clean_case.CLOUD)
                for suffix in ('_disk', '_disk.config.rescue', '_disk.swap')
            ),
            self.image(f'volume-{services.volume_row(self._uuid())}.deleted'),
            self.copied_mark,
        }
        listed = self.unknown()
        self.approved.add(f'volumes/{self.id_of(listed)}')
        to_trash.add(listed)
        self.with_snapshots = self.marked(data=2)
        self.snapshot(self.with_snapshots, 'one')
        to_trash.add(self.with_snapshots)
        for with_id in (True, False):
            rest = self.deleted()
            lost = [f'rbd_header.{self.id_of(rest)}']
            lost += [] if with_id else [f'rbd_id.{rest}']
            self.remove_objects(*lost)
            names_gone.add(f'volumes/{rest}')
        trash_gone.add(self.trashed(self.deleted()))
        purged = self.marked(data=1)
        self.snapshot(purged, 'one')
        trash_gone |= {
            self.trashed(purged),
            self.interrupted(self.deleted()),
        }
        killed = self.deleted()
        with self.ceph.image(killed) as image:
            image.write(b'x' * 2**25, 0)
        trash_gone.add(ident := self.trashed(killed))
        interruptions.kill_during_removal(self.ceph, killed, ident=ident)
        half = self.marked()
        directory = self._id_in(half)
        self.trashed(half, 86400)
        self._add_to_directory(half, directory)
        names_gone.add(f'volumes/{half}')

    def _unlock(self, name: str) -> None:
        with self.ceph.image(name) as image:
            image.unlock('by hand')

    def _id_in(self, name: str) -> str:
        """Return the id of an image in the directory."""
        return objects.directory(rados, self.ceph.ioctx())[name]

    def _restore_id(self, name: str, ident: str) -> None:
        self.ceph.ioctx().write_full(
            f'rbd_id.{name}', ownership.encoded(ident)
        )

    def _add_to_directory(self, name: str, ident: str) -> None:
        data = ownership.encoded(name) + ownership.encoded(ident)
        self.ceph.ioctx().execute(
            'rbd_directory', 'rbd', 'dir_add_image', data
        )
