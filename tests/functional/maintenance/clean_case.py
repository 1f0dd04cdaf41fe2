# SPDX-License-Identifier: Apache-2.0

"""Pools with leftovers, a cloud that has deleted their owners, an operator.

Each thing is planted on a real cluster, and the most careless operator removes
what the plan has: all pools, all kinds, no limit, nothing deleted from it.
"""

from collections.abc import Iterator
import contextlib
import datetime
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any
import uuid

import fixtures
import rados
import rbd
import sqlalchemy
import testtools

from rbd_volume_options import features
from rbd_volume_options import ownership
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import run as audit
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import plan_file
from tests.functional import ceph
from tests.functional import interruptions
from tests.functional.maintenance import clean_process

# Replaced by the time when all is planted.
_EARLY = '2020-01-01 00:00:00'
CLOUD, OTHER_CLOUD = str(uuid.uuid4()), str(uuid.uuid4())
HOST = 'host@rbd#rbd'
MASK = features.to_mask({features.LAYERING, *features.MAP_ON})
_DAY = datetime.timedelta(days=1)
_CLIENT = """
import os, rados, rbd, sys
with rados.Rados(conffile=sys.argv[1], rados_id='admin') as cluster:
    image = rbd.Image(cluster.open_ioctx('volumes'), sys.argv[2])
    image.write(b'x', 0)
    os.kill(os.getpid(), int(sys.argv[3]))
    image.write(b'y', 0)
    image.close()
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
        sql_table = sqlalchemy.table(table, *map(sqlalchemy.column, columns))
        values = dict(zip(columns, row, strict=True))
        with engine.begin() as connection:
            connection.execute(sql_table.insert().values(values))

    def volume_row(
        self,
        ident: str,
        deleted: bool = True,
        at: str | None = _EARLY,
        name_id: str = '',
        host: str = HOST,
        is_recorded: bool = True,
    ) -> str:
        """Have Cinder know a volume as deleted; return its id."""
        back_end = host.partition('#')[0]
        record = f'{name_id or ident} [1,4096,4096,1,1,"","{back_end}",""]'
        self.insert(
            *(self._cinder, 'volumes', ident, deleted, at, name_id),
            *(record if is_recorded else None, 'project', host, None),
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
                sql_table = sqlalchemy.table(
                    table, sqlalchemy.column('deleted_at')
                )
                connection.execute(
                    sql_table.update()
                    .where(sql_table.c.deleted_at == _EARLY)
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
    'volumes': 'id, deleted, deleted_at, _name_id, provider_id, project_id, '
    'host, cluster_name',
    'backups': 'id, deleted, deleted_at, project_id, volume_id, container',
    'images': 'id, deleted, deleted_at, owner, status',
    'image_locations': 'image_id, value',
}


class CleanTestCase(testtools.TestCase):
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
        rbd.RBD().create(ioctx, name, 2**25, old_format=False, features=MASK)
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
        rbd.RBD().clone(ioctx, name, 'parent', ioctx, clone, features=MASK)
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

    def cut_off(
        self, name: str, sent: signal.Signals
    ) -> subprocess.Popen[bytes]:
        """Have a client of an image send itself a signal, and lose its watch.

        It holds the lock. After SIGSTOP, it can be continued.
        """
        client = subprocess.Popen(
            [sys.executable, '-c', _CLIENT, self.ceph.conf, name, str(+sent)]
        )
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        ended = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        os.waitid(os.P_PID, client.pid, ended)
        with self.ceph.image(name, read_only=True) as image:
            for _ in range(200):
                if not list(image.watchers_list()):
                    return client
                time.sleep(0.1)
        raise AssertionError('the client has not lost its watch')

    # The operator

    def sources(self) -> evidence.Sources:
        """Return what an operator sees ten days later."""
        cloud: Any = self.services
        configs = self.services.configs
        return evidence.Sources(
            *(self.cluster, self.services.known(), cloud),
            databases.Databases(configs['cinder'], configs['glance']),
            *(_DAY, self.now - self.cut),
            *(frozenset(self.approved), self.breaks_locks),
            lambda: self.now,
        )

    def plan(self, **wanted: Any) -> dict[str, outcomes.Outcome]:
        """Plan as carelessly as possible; return the results by image."""
        audited = audit.run(
            self.cluster, ceph.POOLS, self.services.known, workers=4
        )
        wanted = {'limit': 1000, **wanted}
        made = removal.planned(audited, self.sources(), **wanted)
        return {f'{each.pool}/{each.image}': each for each in made}

    def apply(
        self, planned: dict[str, outcomes.Outcome]
    ) -> dict[str, outcomes.Outcome]:
        """Write the plan, read it and apply it."""
        taken = plan_file.now().isoformat()
        header = plan_file.Header('clean', 'fsid', 'url', '', taken)
        text = plan_file.text(header, items_of(planned).values())
        header, items = plan_file.parsed(text, 'clean')
        path = self.folder / f'journal-{next(self.journals)}'
        made = clean_process.applied(
            *(header, items, self.sources(), path), tolerated=health.FULL
        )
        return {f'{each.pool}/{each.image}': each for each in made}

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

    def expect(
        self, planned: dict[str, outcomes.Outcome], image: str, code: str
    ) -> None:
        """Check the reason against the removal of an image."""
        outcome = planned[f'volumes/{image}']
        self.assertEqual(code, outcome.code, outcome.detail)


def items_of(
    examined: dict[str, outcomes.Outcome],
) -> dict[str, outcomes.Outcome]:
    """Return what a plan has of what was examined."""
    planned = outcomes.Status.PLANNED
    return {k: v for k, v in examined.items() if v.status is planned}
