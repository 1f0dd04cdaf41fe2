# SPDX-License-Identifier: Apache-2.0

"""What stands in the way of a removal, on a real cluster."""

import dataclasses
import datetime
import signal
import time

import ddt
import fixtures
import rados
import rbd

from rbd_volume_tools.audit import images
from rbd_volume_tools.command_line import outcomes
from tests.functional import filling
from tests.functional import interruptions
from tests.functional.maintenance import clean_case


class SnapshotTest(clean_case.CleanTestCase):
    """The snapshot of a deleted clone, of a volume that Cinder has."""

    def setUp(self) -> None:
        super().setUp()
        gone = self.services.volume_row(self._uuid())
        self.leftover = self.snapshot(self.live, f'volume-{gone}.clone_snap')
        self.services.delete_now()

    def test_client_that_is_cut_off_keeps_its_lock(self) -> None:
        """Its server may still run. librbd would blocklist it."""
        with interruptions.ShortWatch(self.ceph):
            client = self.cut_off(self.live, signal.SIGSTOP)
        self.breaks_locks = True
        planned = self.plan()
        self.apply(planned)
        client.send_signal(signal.SIGCONT)
        self.assertEqual(0, client.wait(60))
        self.expect(planned, self.leftover, 'lock-owner-gone')

    def test_group_and_status_of_the_volume_protect_it(self) -> None:
        """A retype opens the source for reading, which leaves no watch."""
        ident = self.live.removeprefix('volume-')
        volume = self.services.volumes[ident]
        busy = dataclasses.replace(volume, status='retyping')
        self.services.volumes[ident] = busy
        self.expect(self.plan(), self.leftover, 'busy')
        self.services.volumes[ident] = volume
        planned = self.plan()
        rbd.RBD().group_create(self.ceph.ioctx(), 'group')
        self.addCleanup(rbd.RBD().group_remove, self.ceph.ioctx(), 'group')
        group = rbd.Group(self.ceph.ioctx(), 'group')
        group.add_image(self.ceph.ioctx(), self.live)
        self.addCleanup(group.remove_image, self.ceph.ioctx(), self.live)
        (outcome,) = self.apply(planned).values()
        self.assertEqual('in-group', outcome.code, str(outcome))
        self.assertIn(f'volumes/{self.leftover}', self.content())


@ddt.ddt
class ZoneTest(clean_case.CleanTestCase):
    """An operator whose local time is not UTC."""

    @ddt.data('EST5', 'CET-1')
    def test_times_are_read_in_any_zone(self, zone: str) -> None:
        """Ceph's binding returns those of clients as local times."""
        self.addCleanup(time.tzset)
        self.useFixture(fixtures.EnvironmentVariable('TZ', zone))
        time.tzset()
        began = datetime.datetime.now(datetime.timezone.utc)
        began -= datetime.timedelta(seconds=2)
        with self.ceph.image(self.deleted(), read_only=True) as image:
            self.assertGreater(images.utc(image.create_timestamp()), began)
            for read in (image.modify_timestamp, image.access_timestamp):
                self.assertGreater(images.latest(read()), began)


class TrashTest(clean_case.CleanTestCase):
    """Expired entries of the trash."""

    def test_snapshot_in_the_trash_of_librbd_is_removed(self) -> None:
        """Cinder's user may not remove the snapshots of Glance's pool."""
        format_option = 'rbd_default_clone_format'
        self.ceph.rados.conf_set(format_option, '2')
        self.addCleanup(self.ceph.rados.conf_set, format_option, 'auto')
        parent = self.deleted()
        ioctx = self.ceph.ioctx()
        with self.ceph.image(parent) as image:
            image.create_snap('parent')
            rbd.RBD().clone(
                *(ioctx, parent, 'parent'),
                *(self.ceph.ioctx('volumes2'), 'clone'),
                features=clean_case.MASK,
            )
            image.remove_snap('parent')
        self.services.delete_now()
        ident = self.trashed(parent)
        caps = 'profile rbd pool=volumes2, profile rbd-read-only pool=volumes'
        with (
            self.ceph.user(
                'cinder', 'mon', 'profile rbd', 'osd', caps
            ) as conf,
            rados.Rados(conffile=conf, rados_id='cinder') as cinder,
            cinder.open_ioctx('volumes2') as volumes,
        ):
            rbd.RBD().remove(volumes, 'clone')
        with rbd.Image(ioctx, image_id=ident, read_only=True) as image:
            namespaces = [each['namespace'] for each in image.list_snaps()]
        self.assertEqual([rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH], namespaces)
        (outcome,) = self.apply(self.plan()).values()
        self.assertIs(outcomes.Status.DONE, outcome.status, str(outcome))
        self.assertNotIn(f'volumes trash {ident}', self.content())

    def test_image_with_metadata_that_is_no_text_stops_no_other(self) -> None:
        """The audit does not open what is in the trash."""
        damaged, expired = self.deleted(), self.deleted()
        self.services.delete_now()
        header = f'rbd_header.{self.id_of(damaged)}'
        self.trashed(damaged)
        ident = self.trashed(expired)
        with rados.WriteOpCtx() as operation:
            ioctx = self.ceph.ioctx()
            ioctx.set_omap(operation, ('metadata_a',), (b'\xff',))
            ioctx.operate_write_op(operation, header)
        planned = self.plan()
        outcome = planned.pop(f'volumes/{damaged}')
        self.assertIs(outcomes.Status.FAILED, outcome.status, str(outcome))
        self.apply(planned)
        self.assertNotIn(f'volumes trash {ident}', self.content())


@ddt.ddt
class FullTest(clean_case.CleanTestCase):
    """OSDs that are full, or a pool whose quota is used up."""

    def setUp(self) -> None:
        super().setUp()
        # Python's signal handlers cannot interrupt librbd.
        self.useFixture(fixtures.Timeout(300, gentle=False))
        self.monitor = filling.Monitor(self.ceph)
        self.addCleanup(self.monitor.reset, 'volumes')
        self.orphan = self.deleted()
        # The first removal creates the trash directory of the pool.
        self.expired = self.trashed(self.deleted())
        self.services.delete_now()

    def fill(self, by_quota: bool = False) -> None:
        """Have Ceph report that the pool is full."""
        if by_quota:
            self.monitor.set_quota('volumes', 1)
        else:
            # Far below what an empty cluster uses.
            self.monitor.set_full_ratios(1e-9)
        self.monitor.wait('volumes', full=True)

    @ddt.data(False, True)
    def test_leftovers_are_removed(self, by_quota: bool) -> None:
        self.fill(by_quota)
        results = self.apply(self.plan())
        self.assertEqual(
            [outcomes.Status.DONE] * 2,
            [each.status for each in results.values()],
            str(results),
        )
        content = self.content()
        self.assertNotIn(f'volumes trash {self.expired}', content)
        self.assertNotIn(f'volumes/{self.orphan}', content)

    def test_pool_without_a_trash_keeps_the_image(self) -> None:
        """librbd reports that the image does not exist."""
        planned = {
            image: each
            for image, each in self.plan().items()
            if image == f'volumes/{self.orphan}'
        }
        self._empty_trash()
        self.ceph.ioctx().remove_object('rbd_trash')
        self.fill()
        (outcome,) = self.apply(planned).values()
        self.assertIs(outcomes.Status.FAILED, outcome.status, str(outcome))
        self.assertIn(f'volumes/{self.orphan}', self.content())
