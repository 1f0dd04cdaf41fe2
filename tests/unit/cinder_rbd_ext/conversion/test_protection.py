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


"""Locks of conversions, and snapshots of volumes that are converted."""

from typing import Any
from unittest import mock

from cinder import coordination
from cinder import exception

from cinder_rbd_ext.conversion import marker
from cinder_rbd_ext.conversion import protection
from tests.unit.cinder_rbd_ext import base


class LocksTest(base.DriverTestCase):
    def test_one_thread(self) -> None:
        one = protection.Locks()
        with one.locked('a'):
            self.assertRaises(protection.Busy, one.locked('a').__enter__)
            with one.locked('b'):
                pass
        with one.locked('a'):
            pass

    def test_lock_file_is_removed(self) -> None:
        with mock.patch.object(
            coordination, 'synchronized_remove', autospec=True
        ) as removed:
            self.driver.clean_volume_file_locks('a')
        removed.assert_called_once_with('rbd-conversion-a')

    def test_another_process(self) -> None:
        # Cinder's test base has replaced the coordinator's method.
        get_lock: Any = coordination.COORDINATOR.get_lock
        lock = get_lock.return_value
        lock.acquire.return_value = False
        one = protection.Locks().locked('a')
        error = self.assertRaises(protection.Busy, one.__enter__)
        self.assertIn('volume a', str(error))
        get_lock.assert_called_once_with('rbd-conversion-a')
        lock.acquire.assert_called_once_with(blocking=False)
        lock.release.assert_not_called()


class SnapshotsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.snapshot = self.new_snapshot(self.volume)
        self.snapshot.volume = self.volume
        self.update(self.volume, {'status': 'retyping'})

    def _check(self, error: Any, call: Any, *args: Any) -> None:
        found = marker.Marker(self.volume.volume_type_id, '10a')
        marker.begin(self.volume.id, found)
        self.assertRaises(error, call, *args)
        # A retype in place does not affect snapshots.
        marker.forget(self.volume.id)
        call(*args)

    def test_deletion(self) -> None:
        self._check(
            exception.SnapshotIsBusy,
            self.driver.delete_snapshot,
            self.snapshot,
        )
        self.assertEqual([], self.snapshots_of(self.volume.name))

    def test_volume_from_a_snapshot(self) -> None:
        volume = self.new_volume()
        self._check(
            exception.InvalidSnapshot,
            self.driver.create_volume_from_snapshot,
            volume,
            self.snapshot,
        )
        self.assertIn(volume.name, self.cluster.names())
