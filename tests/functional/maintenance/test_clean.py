# SPDX-License-Identifier: Apache-2.0

"""What is provably this cloud's garbage is removed, and nothing else.

Each thing is planted on a real cluster, and the most careless operator removes
what the plan has: all pools, all kinds, no limit, nothing deleted from it.
"""

from collections.abc import Iterator
import contextlib
import datetime
import itertools
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any
import uuid

import fixtures
import rados
import rbd
import sqlalchemy
import testtools

from rbd_operator.audit import names
from rbd_operator.audit import objects
from rbd_operator.audit import records
from rbd_operator.audit import run as audit
from rbd_operator.audit import scan
from rbd_operator.maintenance import databases
from rbd_operator.maintenance import evidence
from rbd_operator.maintenance import journal
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import pace
from rbd_operator.maintenance import plans
from rbd_operator.maintenance import removal
from rbd_operator.maintenance import run
from rbd_volume_options import features
from rbd_volume_options import ownership
from rbd_volume_options import wire
from tests.functional import ceph
from tests.functional import interruptions

# Replaced by the time when all is planted.
_EARLY = '2020-01-01 00:00:00'
CLOUD, OTHER_CLOUD = str(uuid.uuid4()), str(uuid.uuid4())
HOST = 'host@rbd#rbd'
_MASK = features.to_mask({features.LAYERING, *features.MAP_ON})
_DAY = datetime.timedelta(days=1)
_LOCK = """
import os, rados, rbd, signal, sys
with rados.Rados(conffile=sys.argv[1], rados_id='admin') as cluster:
    image = rbd.Image(cluster.open_ioctx('volumes'), sys.argv[2])
    image.write(b'x', 0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Services:
    """The APIs and the databases of a cloud.

    :ivar hidden: ids of resources that the lists of the APIs lack
    :ivar deleted_servers: ids of servers that Nova knows as deleted
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.volumes: dict[str, records.Volume] = {}
        self.images: set[str] = set()
        self.servers: set[str] = set()
        self.snapshots: set[str] = set()
        self.backups: set[str] = set()
        self.hidden: set[str] = set()
        self.deleted_servers: set[str] = set()
        self.deleted_at = datetime.datetime.now(datetime.timezone.utc)
        self.configs = {}
        for name in ('cinder', 'glance'):
            url = f'sqlite:///{folder}/{name}.sqlite'
            config = folder / f'{name}.conf'
            config.write_text(f'[database]\nconnection = {url}\n')
            self.configs[name] = str(config)
            engine = sqlalchemy.create_engine(url)
            with engine.begin() as connection:
                for table, columns in _TABLES.items():
                    connection.execute(
                        sqlalchemy.text(f'CREATE TABLE {table} ({columns})')
                    )
            setattr(self, f'_{name}', engine)

    _cinder: sqlalchemy.Engine
    _glance: sqlalchemy.Engine

    def insert(self, engine: sqlalchemy.Engine, table: str, *row: Any) -> None:
        """Insert a row."""
        columns = _TABLES[table].split(', ')
        there = sqlalchemy.table(table, *map(sqlalchemy.column, columns))
        values = dict(zip(columns, row, strict=True))
        with engine.begin() as connection:
            connection.execute(there.insert().values(values))

    def volume_row(
        self,
        ident: str,
        deleted: bool = True,
        at: str = _EARLY,
        name_id: str = '',
        host: str = HOST,
        is_recorded: bool = True,
    ) -> str:
        """Have Cinder know a volume as deleted; return its id."""
        self.insert(
            *(self._cinder, 'volumes', ident, deleted, at, name_id),
            *('project', host, None),
        )
        if is_recorded:
            self.insert(
                *(self._cinder, 'volume_admin_metadata', ident),
                *(wire.RECORD_RECORDED_BY, host.partition('#')[0]),
            )
        return ident

    def backup_row(
        self,
        ident: str,
        volume: str,
        deleted: bool = True,
        pool: str = 'images',
    ) -> None:
        """Have Cinder know a backup in a pool."""
        at = _EARLY
        self.insert(
            *(self._cinder, 'backups', ident, deleted, at),
            *('project', volume, pool),
        )

    def image_row(self, ident: str, pool: str, deleted: bool = True) -> str:
        """Have Glance know an image; return its id."""
        at = _EARLY
        status = 'deleted' if deleted else 'active'
        self.insert(
            *(self._glance, 'images', ident, deleted, at),
            *('project', status),
        )
        url = f'rbd://fsid/{pool}/{ident}/snap'
        self.insert(self._glance, 'image_locations', ident, url)
        return ident

    def delete_now(self) -> None:
        """Have the services delete now what the test has planted.

        An image that is younger than the deletion of its owner is no garbage.
        """
        self.deleted_at = datetime.datetime.now(datetime.timezone.utc)
        for engine, table in (
            (self._cinder, 'volumes'),
            (self._cinder, 'backups'),
            (self._glance, 'images'),
        ):
            with engine.begin() as connection:
                there = sqlalchemy.table(
                    table, sqlalchemy.column('deleted_at')
                )
                connection.execute(
                    there.update()
                    .where(there.c.deleted_at == _EARLY)
                    .values(
                        deleted_at=f'{self.deleted_at:%Y-%m-%d %H:%M:%S.%f}'
                    )
                )

    def known(self) -> records.Records:
        """Return the lists of the APIs."""
        return records.Records(
            dict(self.volumes),
            frozenset(self.snapshots),
            frozenset(self.backups),
            {HOST: 'volumes', 'host@two#two': 'volumes2'},
            frozenset(self.images),
            frozenset(self.servers),
            cloud_id=CLOUD,
            backed_up=frozenset(self.volumes),
            marking=frozenset({HOST}),
            cluster='fsid',
        )

    def has_record(self, owner: names.Owner, ident: str) -> bool:
        """Return whether the cloud has a resource."""
        return ident in {
            *(*self.hidden, *self.images, *self.servers),
            *(*self.snapshots, *self.backups),
        }

    def volume(self, ident: str) -> records.Volume | None:
        """Return a volume."""
        if ident in self.hidden:
            return records.Volume(ident, ident, 'p', 't', HOST, 'available')
        return self.volumes.get(ident)

    def server_deleted(self, ident: str) -> datetime.datetime | None:
        """Return when a server was deleted."""
        if ident in self.deleted_servers:
            return self.deleted_at
        return None


_TABLES = {
    'volumes': 'id, deleted, deleted_at, _name_id, project_id, host, '
    'cluster_name',
    'volume_admin_metadata': 'volume_id, key, value',
    'backups': 'id, deleted, deleted_at, project_id, volume_id, container',
    'images': 'id, deleted, deleted_at, owner, status',
    'image_locations': 'image_id, value',
}


class CleanTest(testtools.TestCase):
    """Pools of this cloud and of another one, with leftovers."""

    def setUp(self) -> None:
        super().setUp()
        self.ceph = ceph.shared_cluster()
        self.addCleanup(self.ceph.empty)
        self.addCleanup(self._empty_trash)
        self.cluster = scan.Cluster(rados, rbd, self.ceph.conf, 'admin')
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.services = Services(self.folder)
        self.approved: set[str] = set()
        self.began = datetime.datetime.now(datetime.timezone.utc)
        self.cut = self.began + datetime.timedelta(hours=1)
        self.now = self.began + 10 * _DAY
        self.breaks_locks = False
        self.journals = itertools.count()
        self.keep: dict[str, str] = {}
        self.names_gone: set[str] = set()
        self.trash_gone: set[str] = set()
        self.to_trash: set[str] = set()
        # Some of each kind that is in order.
        self.live = self.volume_of_cloud()
        self.image_of_cloud = self.image(self._uuid(self.services.images))
        self.services.image_row(self.image_of_cloud, 'volumes', deleted=False)
        self.disk = self.image(f'{self._uuid(self.services.servers)}_disk')

    def _uuid(self, place: set[str] | None = None) -> str:
        ident = str(uuid.uuid4())
        if place is not None:
            place.add(ident)
        return ident

    def _empty_trash(self) -> None:
        for pool in ceph.POOLS:
            ioctx = self.ceph.ioctx(pool)
            for entry in objects.trash(rados, ioctx, pool):
                with contextlib.suppress(rbd.Error):
                    rbd.RBD().trash_remove(ioctx, entry.ident, force=True)

    # What is planted

    def image(
        self, name: str, mark: str = '', pool: str = 'volumes', data: int = -1
    ) -> str:
        """Make an image; return its name.

        :param mark: the cloud whose mark it gets
        :param data: number of an object that gets data
        """
        ioctx = self.ceph.ioctx(pool)
        rbd.RBD().create(ioctx, name, 2**25, old_format=False, features=_MASK)
        if mark:
            ownership.write_named(ioctx, name, mark)
        if data >= 0:
            with self.ceph.image(name, pool) as image:
                image.write(b'data', data * 2**22)
        return name

    def volume_of_cloud(self, status: str = 'available') -> str:
        """Make a volume that Cinder has; return the name of its image."""
        ident = self._uuid()
        self.services.volumes[ident] = records.Volume(
            ident, ident, 'project', 'type', HOST, status
        )
        self.services.volume_row(ident, deleted=False)
        return self.image(f'volume-{ident}', CLOUD)

    def deleted(self, mark: str = CLOUD, **row: Any) -> str:
        """Make the image of a volume that Cinder knows as deleted."""
        ident = self.services.volume_row(self._uuid(), **row)
        return self.image(f'volume-{ident}', mark)

    def unknown(self, mark: str = '', **how: Any) -> str:
        """Make the image of a volume that nobody knows."""
        return self.image(f'volume-{self._uuid()}', mark, **how)

    def marked(self, **how: Any) -> str:
        """Make an image of which only the mark is a proof."""
        ident = self.services.volume_row(self._uuid(), is_recorded=False)
        return self.image(f'volume-{ident}', CLOUD, **how)

    def id_of(self, name: str, pool: str = 'volumes') -> str:
        """Return librbd's id of an image."""
        with self.ceph.image(name, pool, read_only=True) as image:
            return str(image.id())

    def snapshot(self, name: str, snapshot: str, pool: str = 'volumes') -> str:
        """Take a protected snapshot; return it with its image."""
        with self.ceph.image(name, pool) as image:
            image.create_snap(snapshot)
            image.protect_snap(snapshot)
        return f'{name}@{snapshot}'

    def clone(self, name: str, pool: str = 'volumes') -> str:
        """Clone an image; return the clone's name."""
        self.snapshot(name, 'parent', pool)
        clone = f'volume-{self._uuid()}'
        ioctx = self.ceph.ioctx(pool)
        rbd.RBD().clone(ioctx, name, 'parent', ioctx, clone, features=_MASK)
        return clone

    def trashed(self, name: str, delay: int = 0, pool: str = 'volumes') -> str:
        """Move an image to the trash; return its id."""
        ident = self.id_of(name, pool)
        rbd.RBD().trash_move(self.ceph.ioctx(pool), name, delay)
        return ident

    def restored(self, name: str) -> str:
        """Move an image to the trash and restore it; return its name."""
        ident = self.trashed(name)
        rbd.RBD().trash_restore(self.ceph.ioctx(), ident, name)
        return name

    def renamed(self, name: str) -> str:
        """Rename an image and back; return its name."""
        rbd.RBD().rename(self.ceph.ioctx(), name, 'kept')
        rbd.RBD().rename(self.ceph.ioctx(), 'kept', name)
        return name

    def remove_objects(self, *keys: str) -> None:
        """Lose objects of the pool ``volumes``."""
        for key in keys:
            self.ceph.ioctx().remove_object(key)

    def interrupted(self, name: str) -> str:
        """Interrupt the removal of an image; return its id."""
        with self.ceph.image(name) as image:
            image.write(b'x' * 2**25, 0)
        ident = self.id_of(name)
        interruptions.kill_during_removal(self.ceph, name)
        return ident

    # The operator

    def examiner(self) -> removal.Examiner:
        """Return the examiner of ten days later."""
        proofs = evidence.Evidence(
            self.services.known(),
            self.services,
            databases.Databases(
                self.services.configs['cinder'],
                self.services.configs['glance'],
            ),
            frozenset(self.approved),
        )
        rules = removal.Rules(
            _DAY, self.now - self.cut, self.breaks_locks, lambda: self.now
        )
        return removal.Examiner(self.cluster, proofs, rules)

    def plan(self, **wanted: Any) -> dict[str, Any]:
        """Plan as carelessly as possible; return the results by image."""
        audited = audit.run(
            self.cluster, ceph.POOLS, self.services.known, workers=4
        )
        wanted = {'limit': 1000, **wanted}
        made = plans.made(audited, plans.Filter(**wanted), self.examiner())
        return {
            (
                f'{each.outcome.pool}/{each.outcome.image}'
                if isinstance(each, removal.Removal)
                else f'{each.pool}/{each.image}'
            ): each
            for each in made
        }

    def apply(self, planned: dict[str, Any]) -> dict[str, outcomes.Outcome]:
        """Write the plan, read it and apply it."""
        header = plans.Header('fsid', 'url', '', CLOUD, 'now', 1, 1)
        text = plans.text(
            header,
            [
                each.item
                for each in planned.values()
                if isinstance(each, removal.Removal)
            ],
        )
        _, items = plans.parsed(text)
        examiner = self.examiner()
        stop = threading.Event()
        path = self.folder / f'journal-{next(self.journals)}'
        with journal.Journal(path, 'clean apply', 'fsid') as written:
            runner = run.Runner(
                self.cluster, written, pace.Pace(stop), stop, lambda text: None
            )
            return {
                f'{each.pool}/{each.image}': each
                for each in runner.run(
                    [removal.Removal(each, examiner) for each in items],
                    lambda *where: None,
                )
            }

    def content(self) -> set[str]:
        """Return all images, snapshots and entries of the trash."""
        return set(self._content())

    def _content(self) -> Iterator[str]:
        for pool in ceph.POOLS:
            ioctx = self.ceph.ioctx(pool)
            for name, ident in objects.directory(rados, ioctx).items():
                yield f'{pool}/{name}'
                with (
                    contextlib.suppress(rbd.ImageNotFound),
                    rbd.Image(ioctx, image_id=ident, read_only=True) as image,
                ):
                    for each in image.list_snaps():
                        yield f'{pool}/{name}@{each["name"]}'
            for entry in objects.trash(rados, ioctx, pool):
                yield f'{pool} trash {entry.ident}'

    def expect(self, planned: dict[str, Any], image: str, code: str) -> None:
        """Check the reason against the removal of an image."""
        outcome = planned[f'volumes/{image}']
        self.assertIsInstance(outcome, outcomes.Outcome, image)
        self.assertEqual(code, outcome.code, outcome.detail)

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
        killed = subprocess.run(
            [sys.executable, '-c', _LOCK, self.ceph.conf, stale], check=False
        )
        self.assertEqual(-signal.SIGKILL, killed.returncode)
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
        # The audit does not call it an orphan.
        self.assertNotIn(f'volumes/{self.foreign}', planned)
        stale_locks = {
            image: each
            for image, each in planned.items()
            if isinstance(each, removal.Removal) and each.item.stale_lock
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
        again = self.plan()
        left = [x for x in again.values() if isinstance(x, removal.Removal)]
        self.assertEqual([], left)

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
        keep[self.unknown(CLOUD)] = 'never-recorded'
        keep[self.image(self._uuid(), CLOUD)] = 'never-recorded'
        keep[self.image(f'{self._uuid()}_disk', CLOUD)] = 'never-recorded'
        self.foreign = self.unknown(OTHER_CLOUD)
        parent = self.marked()
        keep[self.clone(parent)] = 'owner-unknown'
        keep[parent] = 'children'
        keep[self.unknown(ownership.RELEASED)] = 'unmanaged'
        released = self.deleted()
        ownership.write_named(self.ceph.ioctx(), released, ownership.RELEASED)
        keep[released] = 'unmanaged'
        keep[self.deleted('', is_recorded=False)] = 'owner-unknown'
        keep[self.deleted('')] = 'owner-unknown'
        # The stock driver of that back end has unmanaged it.
        keep[self.deleted(host='host@two#two')] = 'owner-unknown'
        keep[self.deleted('', host='host@two#two')] = 'owner-unknown'
        keep[self.deleted(host='gone@gone#gone')] = 'owner-unknown'
        # A new owner has copied a released image to its old name.
        source = self.deleted()
        ownership.write_named(self.ceph.ioctx(), source, ownership.RELEASED)
        with self.ceph.image(source) as image:
            image.deep_copy(self.ceph.ioctx(), 'y', _MASK)
        rbd.RBD().remove(self.ceph.ioctx(), source)
        rbd.RBD().rename(self.ceph.ioctx(), 'y', source)
        keep[source] = 'unmanaged'
        foreign = self.deleted(host=HOST)
        rbd.RBD().rename(self.ceph.ioctx(), foreign, 'x')
        with self.ceph.image('x') as image:
            image.deep_copy(self.ceph.ioctx('volumes2'), foreign, _MASK)
        rbd.RBD().remove(self.ceph.ioctx(), 'x')
        self.copied_mark = self.marked()
        with self.ceph.image(self.copied_mark) as image:
            image.deep_copy(
                self.ceph.ioctx('volumes2'), self.copied_mark, _MASK
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
        migrated = self.unknown(CLOUD)
        services.volume_row(
            self._uuid(), False, name_id=migrated.removeprefix('volume-')
        )
        keep[migrated] = 'recorded'
        hidden = self.unknown(CLOUD)
        services.hidden.add(hidden.removeprefix('volume-'))
        keep[hidden] = 'recorded'
        keep[with_snapshot := self.unknown(CLOUD)] = 'recorded'
        self.snapshot(
            with_snapshot, f'snapshot-{self._uuid(services.snapshots)}'
        )
        moving = self.unknown(CLOUD, data=0)
        rbd.RBD().migration_prepare(
            self.ceph.ioctx(), moving, self.ceph.ioctx(), moving
        )
        self.addCleanup(rbd.RBD().migration_abort, self.ceph.ioctx(), moving)
        keep[moving] = 'migrating'
        busy = self.volume_of_cloud('retyping')
        self.image(f'{busy}{wire.RETYPE_COPY}{uuid.uuid4()}', CLOUD)

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

        # The service died between the two renames of a retype.
        alone = self.volume_of_cloud()
        ident = self.id_of(alone)
        kept_name = f'{alone}{wire.RETYPE_SOURCE}{ident}'
        rbd.RBD().rename(self.ceph.ioctx(), alone, kept_name)
        keep[kept_name] = 'retype-not-complete'
        copy = self.image(f'{alone}{wire.RETYPE_COPY}{uuid.uuid4()}')
        keep[copy] = 'retype-not-complete'

    def _plant_trash(self) -> None:
        """Plant what must stay in the trash."""
        services = self.services
        self.trashed(self.image('precious-db-2'))
        self.trashed(self.unknown())
        self.trashed(self.unknown(OTHER_CLOUD))
        self.trashed(self.deleted(), 30 * 86400)
        self.interrupted(self.unknown())
        alone = services.volume_row(self._uuid())
        services.hidden.add(alone)
        kept = self.image(f'volume-{alone}.x', CLOUD)
        ident = self.id_of(kept)
        rbd.RBD().rename(
            self.ceph.ioctx(),
            kept,
            f'volume-{alone}{wire.RETYPE_SOURCE}{ident}',
        )
        self.trashed(f'volume-{alone}{wire.RETYPE_SOURCE}{ident}')

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
                self.image(f'{self._uuid(gone)}{suffix}', CLOUD)
                for suffix in ('_disk', '_disk.config.rescue', '_disk.swap')
            ),
            self.image(f'volume-{services.volume_row(self._uuid())}.deleted'),
            self.image(f'{self.live}{wire.RETYPE_COPY}{uuid.uuid4()}'),
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
        former = self.image('former')
        ident = self.id_of(former)
        kept_name = f'{self.live}{wire.RETYPE_SOURCE}{ident}'
        rbd.RBD().rename(self.ceph.ioctx(), former, kept_name)
        trash_gone.add(self.trashed(kept_name))

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
