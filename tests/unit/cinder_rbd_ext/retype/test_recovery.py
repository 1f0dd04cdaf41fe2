# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
import os
import threading
from typing import Any
from unittest import mock

from cinder.db import api as db
import ddt
from oslo_utils import timeutils

from cinder_rbd_ext import locks
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import recovery
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext import base


@ddt.ddt
class RecoveryTest(base.DriverTestCase):
    """Interrupted retypes without a copy; the others need real Ceph."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.driver.host = self.volume.host
        stale = mock.patch.object(marker, 'STALE', 0.0)
        stale.start()
        self.addCleanup(stale.stop)

    def _interrupted(self, **changes: object) -> None:
        new_type = self.make_type(rbd_object_map='false')
        self.update(
            self.volume,
            {
                'status': 'retyping',
                'previous_status': 'in-use',
                **changes,
            },
        )
        marker.write(
            self.volume.id, marker.Marker('req-1', new_type.id, '123')
        )

    def test_request_that_voided_the_marker_is_waited_for(self) -> None:
        self._interrupted()
        marker.disown(self.volume.id, 'req-1')
        own = self.driver._recovery
        long_ago = timeutils.utcnow() - datetime.timedelta(hours=1)
        for changed, began, status in (
            # It was accepted, or this service has started, a moment ago.
            (timeutils.utcnow(), long_ago, 'retyping'),
            (long_ago, timeutils.utcnow(), 'retyping'),
            (long_ago, long_ago, 'in-use'),
        ):
            own._began = began
            db.volume_update(
                self.admin, self.volume.id, {'updated_at': changed}
            )
            with mock.patch.object(marker, 'STALE', 70.0):
                self.assertEqual(status == 'retyping', own.recover_all())
            self.volume.refresh()
            self.assertEqual(status, self.volume.status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_copy_by_cinder_after_a_void_marker_is_no_lost_request(
        self,
    ) -> None:
        """An administrator has reset the migration status."""
        self._interrupted()
        self.new_volume(migration_status=f'target:{self.volume.id}')
        marker.disown(self.volume.id, 'req-1')
        self.driver._recovery.recover_all()
        self.volume.refresh()
        self.assertEqual('retyping', self.volume.status)

    @ddt.data(None, 'success', 'error')
    def test_volume_gets_its_former_status(
        self, last_migration: str | None
    ) -> None:
        self._interrupted(migration_status=last_migration)
        self.assertFalse(self.driver._recovery.recover_all())
        self.volume.refresh()
        self.assertEqual('in-use', self.volume.status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_features_that_multiattach_disabled_are_not_forgotten(
        self,
    ) -> None:
        shared = self.make_type(multiattach='<is> True')
        self.volume = self.made_volume(volume_type=shared)
        saved = self.volume.provider_location
        self._interrupted()
        self.driver._recovery.recover_all()
        self.volume.refresh()
        self.assertEqual('in-use', self.volume.status)
        self.assertEqual(saved, self.volume.provider_location)

    def test_volume_whose_type_is_no_longer_valid_gets_its_former_status(
        self,
    ) -> None:
        """An operator has lowered a limit of the back end."""
        kind = self.make_type(rbd_stripe_unit='64K', rbd_stripe_count='8')
        self.update(self.volume, {'volume_type_id': kind.id})
        self._interrupted()
        lowered = self.make_driver(rbd_max_stripe_count=4)
        lowered.host = self.volume.host
        lowered._recovery.recover_all()
        self.volume.refresh()
        self.assertEqual('in-use', self.volume.status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    @ddt.data(
        {'migration_status': 'starting'},
        {'status': 'available'},
        {'status': 'deleting'},
    )
    def test_status_of_another_operation_is_kept(
        self, changes: dict[str, str]
    ) -> None:
        self._interrupted(**changes)
        before = self.volume.status
        self.driver._recovery.recover_all()
        self.volume.refresh()
        self.assertEqual(before, self.volume.status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    @ddt.data(
        ({'status': 'retyping'}, None),
        ({'status': 'retyping', 'migration_status': 'starting'}, 'error'),
        ({'status': 'maintenance', 'migration_status': 'migrating'}, 'error'),
    )
    @ddt.unpack
    def test_volume_whose_request_was_lost_gets_its_former_status(
        self, changes: dict[str, str], migration_status: str | None
    ) -> None:
        self.update(self.volume, {'previous_status': 'available', **changes})
        self._search(1)
        self.assertEqual('available', self.volume.status)
        self.assertEqual(migration_status, self.volume.migration_status)

    def test_request_that_may_still_arrive_is_waited_for(self) -> None:
        self.update(self.volume, {'status': 'retyping'})
        # It was accepted after the service had started.
        self._search(-5)
        self.assertEqual('retyping', self.volume.status)

    def _copied_by_cinder(self, **changes: object) -> Any:
        """Leave a volume as a copy of its data by Cinder does."""
        requested = {
            'migration_status': 'migrating',
            'previous_status': 'available',
        }
        self.update(self.volume, {**requested, **changes})
        return self.new_volume(migration_status=f'target:{self.volume.id}')

    @ddt.data('available', 'maintenance', 'retyping')
    def test_volume_of_an_interrupted_copy_by_cinder_can_be_attached(
        self, status: str
    ) -> None:
        target = self._copied_by_cinder(status=status)
        self._search(1)
        self.assertEqual('available', self.volume.status)
        self.assertEqual('error', self.volume.migration_status)
        self.update(self.volume, {'status': 'attaching'})
        self.driver.initialize_connection(self.volume, {'host': 'compute'})
        target.refresh()
        self.assertEqual(f'target:{self.volume.id}', target.migration_status)

    @ddt.data('error', 'starting')
    def test_target_of_an_earlier_copy_does_not_keep_a_lost_request(
        self, migration_status: str
    ) -> None:
        self._copied_by_cinder(
            status='retyping', migration_status=migration_status
        )
        self._search(1)
        self.assertEqual('available', self.volume.status)

    def test_failed_search_is_repeated(self) -> None:
        self._copied_by_cinder()
        with mock.patch.object(
            open_image, 'watchers_of', autospec=True, side_effect=OSError
        ):
            self._search(1)
        self.assertEqual('migrating', self.volume.migration_status)
        self._search(1)
        self.assertEqual('error', self.volume.migration_status)

    @ddt.data(
        {'previous_status': 'in-use'},
        {'status': 'retyping', 'migration_status': 'completing'},
    )
    def test_copy_of_which_nova_or_its_end_may_run_is_no_lost_request(
        self, changes: dict[str, str]
    ) -> None:
        self._copied_by_cinder(**changes)
        before = self.volume.migration_status
        self._search(1)
        self.assertEqual(before, self.volume.migration_status)

    def test_copy_by_another_service_of_a_cluster_is_no_lost_request(
        self,
    ) -> None:
        self._copied_by_cinder(cluster_name='cluster@ceph')
        self.driver.cluster_name = 'cluster@ceph'
        self._search(1)
        self.assertEqual('migrating', self.volume.migration_status)

    def test_copy_that_began_after_the_service_is_no_lost_request(
        self,
    ) -> None:
        self._copied_by_cinder()
        self._search(-5)
        self.assertEqual('migrating', self.volume.migration_status)

    def test_interrupted_copy_ends_when_nobody_uses_the_volume(self) -> None:
        self._copied_by_cinder()
        with self.driver.images.opened(self.volume.name):
            self._search(1)
        self.assertEqual('migrating', self.volume.migration_status)
        locked = locks.VolumeLocked(volume_id=self.volume.id)
        with mock.patch.object(
            locks, 'exclusive', autospec=True, side_effect=locked
        ):
            self._search(1)
        self.assertEqual('migrating', self.volume.migration_status)
        self.update(self.volume, {'status': 'reserved'})
        self._search(1)
        self.assertEqual('migrating', self.volume.migration_status)
        self.update(self.volume, {'status': 'available'})
        self._search(1)
        self.assertEqual('error', self.volume.migration_status)

    def test_service_that_is_forked_again_begins_then(self) -> None:
        """Requests were lost with a process that was killed."""
        own = self.driver._recovery
        own._began -= datetime.timedelta(hours=1)
        forked = timeutils.utcnow()
        child = os.fork()
        if not child:
            os._exit(0 if own._began >= forked else 1)
        self.assertEqual((child, 0), os.waitpid(child, 0))

    def _search(self, seconds: int) -> None:
        """Search as a service that started after the last request."""
        own = self.driver._recovery
        own._began = timeutils.utcnow() + datetime.timedelta(seconds=seconds)
        with mock.patch.object(marker, 'STALE', -60.0):
            own.return_lost()
        self.volume.refresh()

    def test_refusal_by_the_cluster_is_logged_once_in_full(self) -> None:
        self._interrupted(status='available')
        refusal = mock.patch.object(
            trash,
            'discard',
            autospec=True,
            side_effect=PermissionError('refused'),
        )
        with refusal, self.assertLogs(level='ERROR') as logged:
            self.driver._recovery.recover_all()
            self.driver._recovery.recover_all()
        tracebacks = [bool(line.exc_info) for line in logged.records]
        self.assertEqual([True, False], tracebacks)

    def test_record_has_the_features_of_the_image(self) -> None:
        """The service was killed between the features and the type."""
        self._interrupted()
        with self.driver.images.opened(self.volume.name) as image:
            image.update_features(0b11000, False)
        self.driver._recovery.recover_all()
        self.assertNotIn(
            'object-map', self.recorded(self.volume)['rbd:features']
        )

    def test_kept_sources_are_removed_early_if_the_pool_is_full(self) -> None:
        full: list[bool] = []
        own = self.driver._recovery
        with (
            mock.patch.object(
                trash,
                'remove_expired',
                lambda driver, is_full: full.append(is_full),
            ),
            mock.patch.object(
                own, 'recover_all', autospec=True, return_value=False
            ),
            mock.patch.object(threading, 'Thread', autospec=True) as thread,
        ):
            for free, total in ((9, 100), (11, 100), ('unknown', 'unknown')):
                own.start(free, total)
                _, kwargs = thread.call_args
                kwargs['target'](*kwargs['args'])
        self.assertEqual([True, False, False], full)

    def _migrating(self, **changes: Any) -> marker.Marker:
        """Leave the marker of a migration whose copy is complete."""
        self.update(self.volume, {'migration_status': 'migrating'})
        mark = marker.Marker(
            *('req-1', '', 'image', 'copy'),
            pool='volumes2',
            left=self.volume.host,
            destination='there@ceph2',
        )
        mark = dataclasses.replace(mark, **changes)
        return marker.write(self.volume.id, mark)

    def test_failed_migration_does_not_end_the_next_one(self) -> None:
        """Cinder copies the data, without the driver."""
        self._migrating(is_void=True)
        with mock.patch.object(trash, 'discard', autospec=True):
            self.assertFalse(self.driver._recovery.recover_all())
        self.volume.refresh()
        self.assertEqual('migrating', self.volume.migration_status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_copy_that_cinder_may_save_is_not_removed(self) -> None:
        """An administrator has reset the status meanwhile."""
        mark = self._migrating()
        self.update(self.volume, {'migration_status': None})
        with mock.patch.object(trash, 'discard', autospec=True) as discard:
            with mock.patch.object(marker, 'STALE', 70.0):
                self.assertTrue(self.driver._recovery.recover_all())
            self.assertEqual(mark, marker.of_volume(self.volume.id))
            discard.assert_not_called()
            self.assertFalse(self.driver._recovery.recover_all())
            discard.assert_called_once()
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_former_image_of_a_migration_is_not_an_earlier_one(self) -> None:
        """Otherwise, that of a retype before would end its time."""
        self._migrating(left='here@ceph', destination=self.volume.host)
        self.update(self.volume, {'migration_status': 'success'})
        self.driver.host = 'here@ceph'
        marker.note_kept(self.volume.id, 'earlier')
        with mock.patch.object(swap, 'run', autospec=True, return_value=True):
            self.assertFalse(self.driver._recovery.recover_all())
        recorded = self.recorded(self.volume)
        self.assertEqual('image', recorded[wire.RECORD_KEPT])

    def test_retype_is_possible_after_a_move_to_a_third_back_end(self) -> None:
        """Nothing proves which image is that of the volume: both stay."""
        self._migrating(left='here@ceph')
        self.driver.host = 'here@ceph'
        with (
            mock.patch.object(trash, 'discard', autospec=True) as discard,
            mock.patch.object(trash, 'keep', autospec=True) as keep,
        ):
            self.assertFalse(self.driver._recovery.recover_all())
        discard.assert_not_called()
        keep.assert_not_called()
        self.assertIsNone(marker.of_volume(self.volume.id))
        self.assertIn('is now on', self.log.output)

    def test_kept_sources_are_removed_while_an_image_has_a_watcher(
        self,
    ) -> None:
        own = self.driver._recovery
        with (
            mock.patch.object(
                own,
                'recover_all',
                autospec=True,
                # A search that does not end fails.
                side_effect=[True, OSError],
            ),
            mock.patch.object(trash, 'remove_expired', autospec=True) as purge,
            mock.patch.object(recovery, 'PAUSE', 0.0),
        ):
            own._run(is_full=False)
        purge.assert_called_once_with(self.driver, False)

    def test_retypes_are_recovered_while_an_image_is_removed(self) -> None:
        own = self.driver._recovery
        with (
            mock.patch.object(
                own, 'recover_all', autospec=True, return_value=False
            ) as recover_all,
            mock.patch.object(
                trash,
                'remove_expired',
                autospec=True,
                side_effect=lambda driver, is_full: own._run(is_full),
            ) as purge,
        ):
            own._run(is_full=False)
        self.assertEqual(2, recover_all.call_count)
        purge.assert_called_once_with(self.driver, False)
