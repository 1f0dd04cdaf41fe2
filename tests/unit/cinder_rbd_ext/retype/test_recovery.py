# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
import os
from typing import Any
from unittest import mock

from cinder.db import api as db
import ddt
from oslo_utils import timeutils

from cinder_rbd_ext import locks
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import recovery
from cinder_rbd_ext.trash import entries
from tests.unit.cinder_rbd_ext import base


@ddt.ddt
class RecoveryTest(base.DriverTestCase):
    """Interrupted retypes without a copy; the others need real Ceph."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.driver.host = self.volume.host

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
        # Of a process that was killed.
        mark = marker.Marker('image', self.driver.host, new_type.id)
        marker.write(self.volume.id, mark)

    def test_recovery_that_was_paused_does_not_release_a_later_request(
        self,
    ) -> None:
        self._interrupted()

        def later(*args: Any) -> None:
            values = {'provider_geometry': 'later'}
            db.volume_update(self.admin, self.volume.id, values)

        with mock.patch.object(self.driver._recovery, '_complete', later):
            self.assertTrue(self.driver._recovery.recover_all())
        self.volume.refresh()
        self.assertEqual('retyping', self.volume.status)
        self.assertEqual('later', self.volume.provider_geometry)

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
        with mock.patch.object(recovery, 'LOST', -60.0):
            own.return_lost()
        self.volume.refresh()

    def test_request_that_was_given_up_leaves_the_next_status_alone(
        self,
    ) -> None:
        """Its copy could not be removed, and another request was accepted."""
        self._interrupted()
        mark = marker.of_volume(self.volume.id)
        assert mark is not None  # noqa: S101
        begun = dataclasses.replace(
            mark,
            former=self.volume.id,
            former_id='an-id',
            former_pool='volumes',
            pool='volumes',
        )
        marker.write(self.volume.id, begun)
        with mock.patch.object(entries, 'discard', autospec=True):
            self.assertFalse(self.driver._recovery.recover_all())
        self.volume.refresh()
        self.assertEqual('retyping', self.volume.status)
        self.assertIsNone(marker.of_volume(self.volume.id))

    def test_record_has_the_features_of_the_image(self) -> None:
        """The service was killed between the features and the type."""
        self._interrupted()
        with self.driver.images.opened(self.volume.name) as image:
            image.update_features(0b11000, False)
        self.driver._recovery.recover_all()
        self.assertNotIn(
            'object-map', self.recorded(self.volume)['rbd:features']
        )
