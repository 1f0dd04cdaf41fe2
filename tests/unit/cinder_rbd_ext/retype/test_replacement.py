# SPDX-License-Identifier: Apache-2.0

import dataclasses
import errno
import math
import time
from unittest import mock
import uuid

from cinder import exception
import ddt

from cinder_rbd_ext import locks
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.trash import entries
from tests.unit.cinder_rbd_ext import base
from tests.unit.cinder_rbd_ext.retype import copying


@ddt.ddt
class ReplacementsTest(copying.CopyingTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.volume_id = self.volume.id
        self.own = self.driver._replacements
        self.mark = marker.Marker(
            str(uuid.uuid4()),
            'test_host',
            'the-type',
            former=self.volume.id,
            former_id='an-id',
            former_pool='volumes',
            pool='volumes2',
        )
        marker.write(self.volume.id, self.mark)

    def test_nothing_is_removed_without_the_image_that_the_row_names(
        self,
    ) -> None:
        """The pool is wrong, or the database older than the images."""
        del self.cluster.pools['volumes'].images[self.volume.name]
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.unmanage,
            self.volume,
        )
        self.assertIsNotNone(marker.of_volume(self.volume.id))

    @ddt.data(errno.EPERM, errno.EACCES)
    def test_pool_that_may_no_longer_be_used_does_not_hold_a_volume(
        self, number: int
    ) -> None:
        refused = PermissionError(number, 'refused')
        with mock.patch.object(
            entries, 'discard', autospec=True, side_effect=refused
        ):
            self.own.settle(self.row())
        self.assertIsNone(marker.of_volume(self.volume.id))
        self.assertIn('Pool volumes2 cannot be used', self.log.output)

    def test_other_failure_keeps_the_marker(self) -> None:
        busy = self.librbd.ImageBusy('open')
        with mock.patch.object(
            entries, 'discard', autospec=True, side_effect=busy
        ):
            self.assertRaises(
                self.librbd.ImageBusy, self.own.settle, self.row()
            )
        self.assertIsNotNone(marker.of_volume(self.volume.id))

    def test_former_image_with_another_id_is_not_moved_to_the_trash(
        self,
    ) -> None:
        """Somebody has made another image with its name."""
        copied = dataclasses.replace(self.mark, pool='volumes')
        marker.write(self.volume.id, copied)
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().create(ioctx, copied.name, 1 << 30)
        self.save_row(_name_id=copied.image)
        self.own.settle(self.row())
        self.assertEqual([], self.kept)
        self.assertIn(self.volume.name, self.images())

    def test_running_request_is_not_settled_by_another_operation(self) -> None:
        self.save_row(status='retyping', provider_geometry=self.mark.image)
        self.own._runs_until[self.mark.image] = math.inf
        self.assertRaises(
            locks.VolumeLocked, self.own.settle_idle, self.volume.id
        )
        self.save_row(status='available')
        self.own.settle_idle(self.volume.id)
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_request_without_its_lock_does_not_settle_a_later_one(
        self,
    ) -> None:
        later = dataclasses.replace(
            self.mark, image='00000000-1111-4222-8333-444444444444'
        )
        marker.forget(self.volume.id, self.mark)
        marker.write(self.volume.id, later)
        self.own.give_up(self.volume.id, self.mark)
        mark = marker.of_volume(self.volume.id)
        self.assertEqual(later.image, mark and mark.image)

    def test_former_image_with_a_late_snapshot_is_kept(self) -> None:
        """A service that was paused has made it there."""
        snapshot = self.new_snapshot(self.volume)
        self.assertFalse(
            self.driver.keeps_former_image(
                self.volume.id, [snapshot.name, 'another']
            )
        )
        self.cluster.stored(self.volume.name).snapshots.clear()
        self.assertTrue(
            self.driver.keeps_former_image(self.volume.id, [snapshot.name])
        )
        self.assertIsNotNone(
            copies.image_id(self.driver, self.volume.name, 'volumes')
        )
        self.save_row(_name_id=self.mark.image)
        self.assertTrue(
            self.driver.keeps_former_image(self.volume.id, [snapshot.name])
        )
        snapshot.destroy()
        self.assertFalse(
            self.driver.keeps_former_image(self.volume.id, [snapshot.name])
        )


@ddt.ddt
class AloneTest(base.DriverTestCase):
    """Requests that Cinder has accepted before are served first."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.snapshot = self.new_snapshot(self.volume)

    def save_status(self, status: str) -> None:
        self.snapshot.status = status
        self.snapshot.save()

    def is_used_soon(self) -> bool:
        return replacement.is_used_soon(self.volume.id)

    def test_requests_for_snapshots_and_clones_are_found(self) -> None:
        self.assertFalse(self.is_used_soon())
        for status in ('creating', 'deleting', 'backing-up'):
            self.save_status(status)
            self.assertTrue(self.is_used_soon())
        self.save_status('available')
        for source in (
            {'source_volid': self.volume.id},
            {'snapshot_id': self.snapshot.id},
        ):
            clone = self.new_volume(status='creating', **source)
            self.assertTrue(self.is_used_soon())
            self.update(clone, {'status': 'available'})
            self.assertFalse(self.is_used_soon())

    def test_accepted_request_is_served_first(self) -> None:
        self.save_status('deleting')
        served = []

        def serve(_seconds: float) -> None:
            with volume_use.using_snapshot(self.driver, self.snapshot):
                served.append(True)
            self.save_status('available')

        clock = mock.Mock(monotonic=time.monotonic, sleep=serve)
        with (
            mock.patch.object(replacement, 'time', clock),
            replacement.alone(self.driver, self.volume),
        ):
            self.assertEqual([True], served)

    def test_request_of_a_killed_service_is_not_waited_for(self) -> None:
        self.save_status('deleting')
        with replacement.alone(self.driver, self.volume, 0.1) as held:
            held.check()
