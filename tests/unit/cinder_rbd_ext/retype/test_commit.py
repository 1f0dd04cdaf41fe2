# SPDX-License-Identifier: Apache-2.0

"""The commit of a copy, and what can come in between."""

import contextlib
import datetime
import errno
import os
import sys
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder.db import api as db
import ddt
from oslo_db import exception as db_exception

from cinder_rbd_ext import locks
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import recovery
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.retype import retypes
from cinder_rbd_ext.trash import entries
from rbd_volume_options import image_record
from tests import runs
from tests.unit.cinder_rbd_ext.retype import copying

_BOTH = ddt.data(False, True)

# Lines at which a service is killed or paused: the first one, and the distance
# to the next. All of them take minutes; continuous integration tries fewer.
_FIRST = int(os.environ.get('RBD_FIRST_LINE', '1'))
_FEW = os.environ.get(runs.RUN) == runs.DEFAULT
_STEP = int(os.environ.get('RBD_LINES_STEP', '21' if _FEW else '7'))


@ddt.ddt
class CommitTest(copying.CopyingTestCase):
    """Each test forces one of the cases that could lose an image."""

    def _before_commit(self, act: Any) -> Any:
        stock = commit.commit

        def late(*args: Any) -> bool:
            act()
            return stock(*args)

        return mock.patch.object(commit, 'commit', late)

    @_BOTH
    def test_row_names_the_copy_and_the_other_image_is_kept(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)
        self.assertTrue(self.run_request(volume))
        row = self.row()
        self.assertNotEqual(self.former, row.name)
        self.assertEqual(row.name, volume.name)
        self.assertEqual(set(), volume.obj_what_changed())
        self.driver._recovery.recover_all()
        self.check_settled()

    @_BOTH
    def test_late_commit_of_a_paused_service_fails(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)
        other = self.another_service()
        with self._before_commit(other._recovery.recover_all):
            self.assertFalse(self.run_request(volume))
        self.assertEqual(self.former, self.row().name)
        self.check_settled()

    @_BOTH
    def test_commit_to_an_image_that_was_removed_fails(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)

        def removed() -> None:
            mark = marker.of_volume(volume.id)
            assert mark is not None  # noqa: S101
            del self.cluster.pools[mark.pool].images[mark.name]

        with self._before_commit(removed):
            self.assertFalse(self.run_request(volume))
        self.check_settled()

    @_BOTH
    def test_commit_to_another_image_of_the_name_fails(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)

        def replaced() -> None:
            mark = marker.of_volume(volume.id)
            assert mark is not None  # noqa: S101
            self.cluster.stored(mark.name, mark.pool).ident = 'another'

        with self._before_commit(replaced):
            self.assertFalse(self.run_request(volume))
        self.assertEqual(self.former, self.row().name)

    def test_failure_after_the_commit_is_not_raised(self) -> None:
        """Cinder would copy the former image, and delete the new one."""
        volume = self.requested()
        with mock.patch.object(
            retypes.Retypes,
            'complete',
            autospec=True,
            side_effect=ValueError('made to fail'),
        ):
            self.assertTrue(self.run_request(volume))
        self.assertEqual(self.row().name, volume.name)
        self.driver._recovery.recover_all()
        self.check_settled()

    def test_failure_after_the_commit_of_a_migration_is_not_raised(
        self,
    ) -> None:
        volume = self.requested(is_migrated=True)
        self.mock_object(record, 'remove_keys', side_effect=OSError)
        self.assertTrue(self.run_request(volume))
        self.assertEqual('there@ceph2#ceph2', self.row().host)
        self.driver._recovery.recover_all()
        self.check_settled()

    @ddt.data('deleting', 'in-use')
    def test_status_of_a_later_request_is_not_overwritten(
        self, status: str
    ) -> None:
        """The service was paused between its end and the manager's save."""
        volume = self.requested()
        done, _ = self.driver.retype(
            self.context, volume, self.new_type, {}, None
        )
        self.assertTrue(done)
        self.another_service()._recovery.recover_all()
        self.assertEqual('available', self.row().status)
        self.save_row(status=status)
        self.update(
            volume,
            {'status': 'available', 'volume_type_id': self.new_type.id},
        )
        row = self.row()
        self.assertEqual(status, row.status)
        self.assertEqual(self.new_type.id, row.volume_type_id)

    def test_late_failure_does_not_release_the_status_either(self) -> None:
        volume = self.requested()
        self.save_row(status='in-use')
        self.assertFalse(self.run_request(volume))
        self.assertEqual('in-use', self.row().status)
        self.assertEqual([self.former], self.images())

    @ddt.data((False, True), (False, False), (True, True), (True, False))
    @ddt.unpack
    def test_update_without_an_answer_is_looked_up(
        self, is_migrated: bool, has_effect: bool
    ) -> None:
        volume = self.requested(is_migrated)
        stock = objects.Volume.conditional_update

        def update(own: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
            if '_name_id' not in values:
                return stock(own, values, *args, **kwargs)
            if has_effect:
                kwargs['reflect_changes'] = False
                stock(own, values, *args, **kwargs)
            raise RuntimeError('the server has gone away')

        with mock.patch.object(objects.Volume, 'conditional_update', update):
            self.assertEqual(has_effect, self.run_request(volume))
        self.assertEqual(has_effect, self.row().name != self.former)
        self.assertEqual(self.row().name, volume.name)
        self.driver._recovery.recover_all()
        self.check_settled()

    @_BOTH
    def test_database_that_does_not_answer_leaves_both_images(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)
        stock = objects.Volume.conditional_update

        def update(own: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
            if '_name_id' in values:
                raise RuntimeError('the server has gone away')
            return stock(own, values, *args, **kwargs)

        with (
            mock.patch.object(commit, '_PAUSE', 0),
            mock.patch.object(
                commit, 'outcome', autospec=True, side_effect=RuntimeError
            ),
            mock.patch.object(objects.Volume, 'conditional_update', update),
        ):
            self.assertFalse(self.run_request(volume))
        self.assertEqual(2, len(self.images()))
        self.another_service()._recovery.recover_all()
        self.assertEqual(self.former, self.row().name)
        self.check_settled()

    @_BOTH
    def test_copy_goes_on_while_the_database_does_not_respond(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)
        make = copies.Copy.make

        def without_database(copy: Any, target: Any, report: Any) -> None:
            with mock.patch.object(
                record,
                'stored_volume',
                autospec=True,
                side_effect=db_exception.DBConnectionError,
            ):
                report(10)
            make(copy, target, report)

        with mock.patch.object(copies.Copy, 'make', without_database):
            self.assertTrue(self.run_request(volume))
        self.driver._recovery.recover_all()
        self.check_settled()

    @_BOTH
    def test_end_that_the_database_did_not_save_is_saved_later(
        self, is_migrated: bool
    ) -> None:
        """The service is not restarted."""
        volume = self.requested(is_migrated)
        stock = objects.Volume.conditional_update

        def update(own: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
            if values.keys() & {'status', 'migration_status'}:
                raise db_exception.DBConnectionError
            return stock(own, values, *args, **kwargs)

        with (
            mock.patch.object(replacement, '_SAVING', 0.0),
            mock.patch.object(objects.Volume, 'conditional_update', update),
        ):
            self.assertRaises(
                db_exception.DBConnectionError, self.run_request, volume
            )
        self.assertNotEqual(self.former, self.row().name)
        self.assertFalse(self.driver._recovery.recover_all())
        self.check_settled()

    @_BOTH
    def test_type_of_a_retype_that_migrates_is_saved_after_a_kill(
        self, was_refused: bool
    ) -> None:
        """Cinder's manager saves the type after the driver's commit.

        It has tried a retype first if the host is the same.
        """
        volume = self.requested()
        # As the API extension leaves it.
        record.write(
            volume.id, {image_record.RECORD_NEW_TYPE: self.new_type.id}
        )
        if was_refused:
            self.obstacle.return_value = 'the image has clones'
            self.assertEqual(
                (False, None),
                self.driver.retype(
                    self.context, volume, self.new_type, {}, None
                ),
            )
            self.obstacle.return_value = None
        self.is_migrated = True
        self.update(volume, {'migration_status': 'migrating'})
        with mock.patch.object(
            self.driver._migrations,
            '_complete',
            autospec=True,
            side_effect=copying.Killed,
        ):
            self.assertRaises(copying.Killed, self.run_request, volume)
        self.another_service()._recovery.recover_all()
        row = self.row()
        self.assertEqual(
            ('available', 'success', self.new_type.id),
            (row.status, row.migration_status, row.volume_type_id),
        )
        self.check_settled()

    def test_request_in_the_source_meets_that_the_host_has_moved(self) -> None:
        volume = self.requested(is_migrated=True)
        snapshot = self.new_snapshot(volume)
        stale = objects.Volume.get_by_id(self.admin, volume.id)
        self.assertTrue(self.run_request(volume))
        for use in (
            lambda: self.driver.extend_volume(stale, 2),
            lambda: self.driver.create_cloned_volume(self.new_volume(), stale),
            lambda: self.driver.delete_snapshot(snapshot),
        ):
            self.assertIsInstance(
                self.raised(use),
                (exception.VolumeIsBusy, exception.SnapshotIsBusy),
            )

    @_BOTH
    def test_start_of_another_service_leaves_a_running_request_alone(
        self, is_migrated: bool
    ) -> None:
        volume = self.requested(is_migrated)
        other = self.another_service()
        other._replacements.is_alive = lambda mark: True
        with self._before_commit(other._recovery.recover_all):
            self.assertTrue(self.run_request(volume))
        self.assertNotEqual(self.former, self.row().name)

    def test_destination_completes_if_the_source_is_gone(self) -> None:
        volume = self.requested(is_migrated=True)
        with mock.patch.object(
            self.driver._migrations,
            '_complete',
            autospec=True,
            side_effect=copying.Killed,
        ):
            self.assertRaises(copying.Killed, self.run_request, volume)
        self.assertEqual('migrating', self.row().migration_status)
        there = self.make_driver(rbd_pool='volumes2')
        there.host = 'there@ceph2'
        there._recovery.recover_all()
        self.check_settled()

    def test_start_of_the_source_waits_for_the_next_migration(self) -> None:
        """The volume is on another back end, where it is locked."""
        volume = self.requested(is_migrated=True)
        self.assertTrue(self.run_request(volume))
        self.save_row(migration_status='migrating')
        source = self.another_service()
        with self.locked(volume, pool='volumes2'):
            source._recovery.recover_all()
            self.assertEqual('migrating', self.row().migration_status)
        source._recovery.recover_all()
        self.assertEqual('success', self.row().migration_status)
        self.check_settled()

    @_BOTH
    def test_use_of_the_image_after_the_lock_was_lost_ends_the_request(
        self, is_migrated: bool
    ) -> None:
        """The copy lacks what another service has changed since."""
        volume = self.requested(is_migrated)
        other = self.another_service()

        def use() -> None:
            with locks.exclusive(other, self.row(), 0.0) as lock:
                commit.void(lock.volume)

        with self._before_commit(use):
            self.assertFalse(self.run_request(volume))
        self.assertEqual(self.former, self.row().name)
        self.driver._recovery.recover_all()
        self.check_settled()

    def test_service_that_was_paused_does_not_end_a_later_request(
        self,
    ) -> None:
        """Its own had not begun the copy."""
        volume = self.requested()
        begin = commit.begin

        def late(*args: Any) -> None:
            self.save_row(provider_geometry='later')
            begin(*args)

        with mock.patch.object(commit, 'begin', late):
            self.assertFalse(self.run_request(volume))
        row = self.row()
        self.assertEqual('later', row.provider_geometry)
        self.assertEqual([self.former], self.images())

    def test_token_that_a_killed_service_left_does_not_refuse_a_request(
        self,
    ) -> None:
        volume = self.requested()
        self.save_row(provider_geometry='earlier')
        self.assertTrue(self.run_request(volume))
        self.driver._recovery.recover_all()
        self.check_settled()

    def test_retype_in_place_ends_with_its_lock(self) -> None:
        """Recovery can have given the volume back with its former type."""
        volume = self.requested()
        self.new_type = self.make_type(rbd_object_map='false')
        image = self.cluster.stored(volume.name)
        before, plan = image.mask, retypes.Retypes.make_plan

        def paused(*args: Any) -> Any:
            decided = plan(*args)
            for lockers in self.cluster.pools['volumes'].locks.held.values():
                lockers.clear()
            return decided

        with mock.patch.object(retypes.Retypes, 'make_plan', paused):
            self.assertFalse(self.run_request(volume))
        self.assertEqual(before, image.mask)

    def test_both_images_stay_if_the_row_names_neither(self) -> None:
        volume = self.requested()
        self.assertTrue(self.run_request(volume))
        self.save_row(_name_id='00000000-1111-4222-8333-444444444444')
        before = self.images()
        self.driver._recovery.recover_all()
        self.assertEqual(before, self.images())
        self.assertEqual([], self.kept)

    @_BOTH
    def test_deletion_settles_first(self, is_migrated: bool) -> None:
        volume = self.requested(is_migrated)
        self.assertTrue(self.run_request(volume))
        driver = self.driver
        if is_migrated:
            driver = self.make_driver(rbd_pool='volumes2')
            driver.host = 'there@ceph2'
        self.save_row(status='deleting')
        driver.delete_volume(self.row())
        self.assertEqual([], self.images())
        self.assertEqual([self.former], self.kept)

    @_BOTH
    def test_failover_leaves_a_request_to_the_failback(
        self, is_migrated: bool
    ) -> None:
        """The images of another cluster say nothing about it."""
        volume = self.requested(is_migrated)

        def killed() -> None:
            raise copying.Killed

        with self._before_commit(killed):
            self.assertRaises(copying.Killed, self.run_request, volume)
        pools = self.cluster.pools['volumes'], self.cluster.pools['volumes2']
        images = [pool.images for pool in pools]
        for pool in pools:
            pool.images = {}
        self.assertTrue(self.another_service()._recovery.recover_all())
        self.assertIsNotNone(marker.of_volume(volume.id))
        self.assertEqual(self.former, self.row().name)
        for pool, content in zip(pools, images, strict=True):
            pool.images = content
        self.another_service()._recovery.recover_all()
        self.check_settled()

    def test_transfer_settles_first(self) -> None:
        volume = self.requested()
        self.assertTrue(self.run_request(volume))
        self.save_row(status='awaiting-transfer')
        row = db.volume_get(self.admin, volume.id)
        self.driver.accept_transfer(self.admin, row, 'user', 'project')
        self.assertEqual([self.row().name], self.images())
        self.assertEqual([self.former], self.kept)

    def test_deletion_leaves_an_image_to_the_back_end_that_may_remove_it(
        self,
    ) -> None:
        """The service of the pool that the volume has left is down."""
        volume = self.requested(is_migrated=True)
        self.assertTrue(self.run_request(volume))
        there = self.make_driver(rbd_pool='volumes2')
        there.host = 'there@ceph2'
        self.save_row(status='deleting')
        refused = PermissionError(errno.EPERM, 'refused')
        with mock.patch.object(
            entries, 'keep', autospec=True, side_effect=refused
        ):
            there.delete_volume(self.row())
            self.row().destroy()
            self.assertEqual([self.former], self.images())
            there._replacements.settle_deleted()
        own = self.driver._replacements
        own.settle_deleted()
        self.assertEqual([], self.images())
        self.assertEqual([self.former], self.kept)
        own.settle_deleted()
        self.assertEqual([self.former], self.kept)

    def test_copy_by_cinder_of_a_former_image_is_refused(self) -> None:
        """It has an object of the volume from before the commit."""
        volume = self.requested()
        stale = objects.Volume.get_by_id(self.admin, volume.id)
        self.assertTrue(self.run_request(volume))
        target = self.new_volume(migration_status=f'target:{volume.id}')
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.before_volume_copy,
            *(self.admin, stale, target),
        )

    def test_copy_by_cinder_begins_when_an_earlier_request_is_settled(
        self,
    ) -> None:
        """Later, the volume would have neither image, or not there."""
        volume = self.requested()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        busy = mock.patch.object(
            entries,
            'discard',
            autospec=True,
            side_effect=self.librbd.ImageBusy('busy'),
        )
        removed = mock.Mock(side_effect=commit.CopyFailed(reason='made up'))

        def copied() -> None:
            self.driver.before_volume_copy(self.admin, self.row(), target)

        with busy:
            with self._before_commit(removed):
                self.assertFalse(self.run_request(volume))
            self.save_row(
                migration_status='migrating', previous_status='available'
            )
            self.assertRaises(self.librbd.ImageBusy, copied)
        self.assertEqual(2, len(self.images()))
        copied()
        self.assertEqual([self.former], self.images())
        self.assertIsNone(marker.of_volume(volume.id))


@ddt.ddt
class EachLineTest(copying.CopyingTestCase):
    """A service is killed or paused at each line; another one recovers."""

    def _lines(self, is_migrated: bool) -> int:
        volume = self.requested(is_migrated)
        lines = 0

        def trace(frame: Any, event: str, _argument: Any) -> Any:
            nonlocal lines
            if not frame.f_code.co_filename.startswith(copying.CODE):
                return None
            lines += event == 'line'
            return trace

        self._traced(trace, volume)
        self._recover()
        self.check_settled()
        self._clear(volume)
        return lines

    def _traced(self, trace: Any, volume: Any) -> None:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            self.run_request(volume)
        finally:
            sys.settrace(before)

    def _recover(self) -> None:
        other = self.another_service()
        other._recovery.recover_all()
        with mock.patch.object(recovery, 'LOST', -2 * 86400.0):
            other._recovery._began += datetime.timedelta(days=1)
            other._recovery.return_lost()

    def _clear(self, volume: Any) -> None:
        self.kept.clear()
        for pool in ('volumes', 'volumes2'):
            self.cluster.pools[pool].images.clear()

    @_BOTH
    def test_service_that_is_killed_leaves_one_image(
        self, is_migrated: bool
    ) -> None:
        def kill() -> None:
            raise copying.Killed

        for line in range(_FIRST, self._lines(is_migrated) + 1, _STEP):
            with self.subTest(line=line):
                volume = self.requested(is_migrated)
                with contextlib.suppress(copying.Killed):
                    self._traced(copying.at_line(line, kill), volume)
                for image in list(self.cluster.open_images):
                    image.close()
                self._recover()
                self.check_settled()
                self._clear(volume)

    @_BOTH
    def test_service_that_is_paused_leaves_one_image(
        self, is_migrated: bool
    ) -> None:
        for line in range(_FIRST, self._lines(is_migrated) + 1, _STEP):
            with self.subTest(line=line):
                volume = self.requested(is_migrated)
                self._traced(copying.at_line(line, self._recover), volume)
                self._recover()
                self.check_settled()
                self._clear(volume)
