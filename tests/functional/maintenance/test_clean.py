#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Leftovers that the audit finds are removed, and nothing else."""

import contextlib
import datetime
import pathlib
import threading
from typing import Any
import uuid

import fixtures
import rados
import rbd
import testtools

from rbd_operator.audit import findings
from rbd_operator.audit import records
from rbd_operator.audit import run as audit
from rbd_operator.audit import scan
from rbd_operator.maintenance import cleaning
from rbd_operator.maintenance import journal
from rbd_operator.maintenance import kinds
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import pace
from rbd_operator.maintenance import removal
from rbd_operator.maintenance import run
from rbd_volume_options import features
from tests.functional import ceph
from tests.functional import interruptions

_MASK = features.to_mask({features.LAYERING, *features.MAP_ON})
_DAY = datetime.timedelta(days=1)
_NOW = datetime.timedelta()


class CleanTest(testtools.TestCase):
    """A pool with an image of each owner, and leftovers."""

    def setUp(self) -> None:
        super().setUp()
        self.ceph = ceph.shared_cluster()
        self.addCleanup(self.ceph.empty)
        self.addCleanup(self._empty_trash)
        self.ioctx = self.ceph.ioctx()
        self.cluster = scan.Cluster(rados, rbd, self.ceph.conf, 'admin')
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.journal = folder / 'journal'
        self.ident = str(uuid.uuid4())
        self.hidden = ''
        volume = records.Volume(
            *(self.ident, self.ident, 'project', 'type'),
            *('host@rbd#rbd', 'available'),
        )
        self.known = records.Records(
            {self.ident: volume},
            frozenset(),
            frozenset(),
            {},
            frozenset({self.ident}),
            frozenset({self.ident}),
        )
        self.volume = self.make(f'volume-{self.ident}')
        self.kept = {
            self.volume,
            self.make(self.ident),
            self.make(f'{self.ident}_disk'),
        }

    def _empty_trash(self) -> None:
        for entry in list(rbd.RBD().trash_list(self.ioctx)):
            with contextlib.suppress(rbd.Error):
                rbd.RBD().trash_remove(self.ioctx, entry['id'], force=True)

    def make(self, name: str) -> str:
        """Make an image."""
        rbd.RBD().create(
            self.ioctx, name, 2**23, old_format=False, features=_MASK
        )
        return name

    def snapshot(self, name: str, snapshot: str) -> None:
        """Take a protected snapshot."""
        with self.ceph.image(name) as image:
            image.create_snap(snapshot)
            image.protect_snap(snapshot)

    def clean(
        self,
        *wanted: findings.Kind,
        execute: bool = True,
        older_than: datetime.timedelta = _NOW,
    ) -> dict[str, outcomes.Outcome]:
        """Clean the pool; return the outcomes by image."""
        found = audit.run(
            self.cluster, ['volumes'], lambda: self.known, workers=2
        )
        planned = list(
            cleaning.planned(
                found,
                self.known,
                frozenset(wanted or kinds.WAYS),
                rados,
                rbd,
                removal.Rules(_DAY, older_than),
                lambda owner, ident: ident == self.hidden,
            )
        )
        changes = [x for x in planned if isinstance(x, removal.Removal)]
        done = [x for x in planned if isinstance(x, outcomes.Outcome)]
        if not execute:
            done += [each.outcome for each in changes]
            return {each.image: each for each in done}
        stop = threading.Event()
        with journal.Journal(self.journal, 'clean', 'fsid') as written:
            runner = run.Runner(
                self.cluster, written, pace.Pace(stop), stop, lambda text: None
            )
            done += runner.run(changes, lambda *where: None)
        return {each.image: each for each in done}

    def trash(self) -> dict[str, datetime.timedelta]:
        """Return how long each image stays in the trash."""
        now = datetime.datetime.now(datetime.timezone.utc)
        return {
            each['name']: each['deferment_end_time'].replace(
                tzinfo=datetime.timezone.utc
            )
            - now
            for each in rbd.RBD().trash_list(self.ioctx)
        }

    def snapshots(self) -> list[str]:
        """Return the snapshots of the volume."""
        with self.ceph.image(self.volume, read_only=True) as image:
            return [each['name'] for each in image.list_snaps()]

    def state(self) -> tuple[Any, ...]:
        """Return what is in the pool."""
        return self.ceph.names(), sorted(self.trash()), self.snapshots()

    def test_unfinished_migrations(self) -> None:
        """They are finished, with what was written to the new images."""
        api, data = rbd.RBD(), b'x' * 4096
        orphans = [self.make(f'volume-{uuid.uuid4()}') for _ in range(2)]
        for name in orphans:
            with self.ceph.image(name) as image:
                image.write(data, 0)
            api.migration_prepare(self.ioctx, name, self.ioctx, name)
            with self.ceph.image(name) as image:
                image.write(data, 4096)
        api.migration_execute(self.ioctx, orphans[1])
        found = self.clean(findings.ORPHAN_VOLUME)
        for name in orphans:
            self.assertEqual(outcomes.Status.DONE, found[name].status)
            self.assertIn('finished its migration', found[name].detail)
        self.assertEqual(set(orphans), set(self.trash()))
        for entry in list(api.trash_list(self.ioctx)):
            with rbd.Image(self.ioctx, image_id=entry['id']) as image:
                self.assertEqual(data * 2, image.read(0, 8192))

    def test_each_kind(self) -> None:
        other = str(uuid.uuid4())
        images = {
            self.make(f'volume-{other}'),
            self.make(other),
            self.make(f'{other}_disk'),
            self.make(f'volume-{uuid.uuid4()}.deleted'),
        }
        rest = self.make(f'volume-{uuid.uuid4()}')
        with self.ceph.image(rest) as image:
            ident = image.id()
        self.ioctx.remove_object(f'rbd_header.{ident}')
        snapshots = {
            f'volume-{uuid.uuid4()}.clone_snap',
            f'backup.{uuid.uuid4()}.snap.1700000000.25',
        }
        for each in snapshots:
            self.snapshot(self.volume, each)
        rbd.RBD().trash_move(self.ioctx, self.make('expired'), 0)
        before = self.state()
        planned = self.clean(execute=False)
        self.assertEqual(before, self.state())
        expected = images | {rest, 'expired'}
        expected |= {f'{self.volume}@{each}' for each in snapshots}
        self.assertEqual(expected, set(planned))
        self.assertEqual(
            {outcomes.Status.PLANNED}, {x.status for x in planned.values()}
        )
        done = self.clean()
        self.assertEqual(
            {outcomes.Status.DONE},
            {x.status for x in done.values()},
            str({k: v.detail for k, v in done.items()}),
        )
        self.assertEqual(self.kept, set(self.ceph.names()))
        self.assertEqual(images, set(self.trash()))
        for left in self.trash().values():
            self.assertGreater(left, _DAY - datetime.timedelta(minutes=9))
        self.assertEqual([], self.snapshots())
        text = self.journal.read_text()
        for name in expected:
            self.assertIn(name, text)
        self.assertEqual({}, self.clean())

    def refused(self, name: str, reason: outcomes.Reason, **kw: Any) -> None:
        """Check that an image is refused and nothing is changed."""
        before = self.state()
        outcome = self.clean(**kw)[name]
        self.assertEqual(
            (outcomes.Status.REFUSED, reason.code),
            (outcome.status, outcome.code),
            outcome.detail,
        )
        self.assertEqual(before, self.state())

    def test_record_that_no_list_had(self) -> None:
        """Such as of a hidden image of Glance, or one that is new."""
        name = self.make(f'volume-{uuid.uuid4()}')
        self.hidden = name[7:]
        self.refused(name, removal.RECORDED)

    def test_in_use(self) -> None:
        name = self.make(f'volume-{uuid.uuid4()}')
        with self.ceph.image(name):
            self.refused(name, removal.IN_USE)
        snapshot = f'volume-{uuid.uuid4()}.clone_snap'
        self.snapshot(self.volume, snapshot)
        self.clean(findings.ORPHAN_VOLUME)
        with self.ceph.image(self.volume):
            self.refused(f'{self.volume}@{snapshot}', removal.IN_USE)

    def test_children(self) -> None:
        """One in the trash counts as well."""
        name = self.make(f'volume-{uuid.uuid4()}')
        self.snapshot(name, 'one')
        rbd.RBD().clone(
            *(self.ioctx, name, 'one', self.ioctx, 'clone'), features=_MASK
        )
        self.addCleanup(self._unprotect, name)
        self.refused(name, removal.CHILDREN)
        rbd.RBD().trash_move(self.ioctx, 'clone', 3600)
        self.refused(name, removal.CHILDREN)

    def _unprotect(self, name: str) -> None:
        self._empty_trash()
        with self.ceph.image(name) as image:
            image.unprotect_snap('one')

    def test_too_young(self) -> None:
        name = self.make(f'volume-{uuid.uuid4()}')
        self.refused(name, removal.TOO_YOUNG, older_than=_DAY)

    def test_rest_with_data(self) -> None:
        name = self.make(f'volume-{uuid.uuid4()}')
        with self.ceph.image(name) as image:
            image.write(b'x' * 4096, 0)
            ident = image.id()
        self.ioctx.remove_object(f'rbd_header.{ident}')
        self.refused(name, removal.NOT_A_REST)

    def test_interrupted_removal(self) -> None:
        name = self.make(f'volume-{uuid.uuid4()}')
        self.useFixture(interruptions.ShortWatch(self.ceph))
        with self.ceph.image(name) as image:
            image.resize(2**25)
            image.write(b'x' * 2**25, 0)
            prefix = image.block_name_prefix()
        interruptions.kill_during_removal(self.ceph, name)
        self.assertNotEqual(0, interruptions.objects(self.ceph, prefix))
        self.clean(findings.HALF_REMOVED)
        self.assertEqual(0, interruptions.objects(self.ceph, prefix))
        self.assertEqual(sorted(self.kept), self.ceph.names())

    def test_pool_of_another_cloud(self) -> None:
        name = self.make(f'volume-{uuid.uuid4()}')
        rbd.RBD().remove(self.ioctx, self.volume)
        self.volume = self.ident
        self.refused(name, cleaning.FOREIGN)

    def test_kind_that_is_not_removed(self) -> None:
        snapshot = f'snapshot-{uuid.uuid4()}'
        self.snapshot(self.volume, snapshot)
        found = self.clean(findings.ORPHAN_SNAPSHOT)
        outcome = found[f'{self.volume}@{snapshot}']
        self.assertEqual('not-cleanable', outcome.code)
        self.assertIn('rbd snap rm', outcome.remedy)
        self.assertEqual([snapshot], self.snapshots())
