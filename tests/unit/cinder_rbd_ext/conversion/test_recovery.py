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


"""Conversions that a killed service interrupted."""

import datetime
import threading
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder import quota_utils
from cinder.db import api as db
from cinder.tests.unit import utils
import ddt
from oslo_utils import timeutils

from cinder_rbd_ext.conversion import marker
from cinder_rbd_ext.conversion import recovery
from rbd_volume_options import keys
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base

_SPECS = {
    'rbd_object_size': '1M',
    'rbd_stripe_unit': '64K',
    'rbd_stripe_count': '8',
}


@ddt.ddt
class RecoveryTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.new_type = self.make_type(**_SPECS)
        self.volume = self.made_volume()
        self.new_snapshot(self.volume)
        self.driver.host = self.volume.host
        self.recovery = self.driver._recovery
        self.former = self._stored()
        self._interrupted()

    def _stored(self) -> Any:
        return self.cluster.stored(self.volume.name)

    def _interrupted(self) -> None:
        self.update(
            self.volume,
            {'status': 'retyping', 'previous_status': 'available'},
        )
        marker.begin(
            self.volume.id,
            marker.Marker(self.new_type.id, self.former.ident),
        )

    def _prepared(self) -> None:
        found = marker.Marker(self.new_type.id, self.former.ident)
        work = self.driver._conversions.steps_of(self.volume, found)
        with mock.patch.object(marker, 'forget', autospec=True):
            begun = self.driver._in_place.begin(self.volume, self.new_type)
            work.prepare(begun.retype.conversion(begun.state).target)

    def _now(self) -> Any:
        return objects.Volume.get_by_id(self.admin, self.volume.id)

    def _check(self, status: str, type_id: str) -> None:
        found = self._now()
        self.assertEqual(
            (status, type_id), (found.status, found.volume_type_id)
        )

    def _completed(self) -> None:
        self.recovery.resume_all()
        self._check('available', self.new_type.id)
        for each in self._now().snapshots:
            self.assertEqual(self.new_type.id, each.volume_type_id)
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))
        self.assertIsNone(marker.read(self.recorded(self.volume)))
        self.assertEqual('8', self.recorded(self.volume)[keys.STRIPE_COUNT])

    def test_before_the_first_step(self) -> None:
        self._completed()

    def test_prepared(self) -> None:
        self._prepared()
        self._completed()

    def test_metadata_that_the_owner_changes_meanwhile(self) -> None:
        """The retype removes the cache mode, and nothing else."""
        mode = {keys.CACHE_MODE: 'unsafe'}
        before = {**mode, 'colour': 'blue', 'a': 'b'}
        db.volume_metadata_update(self.admin, self.volume.id, before, True)
        retype = self.driver.retype

        def changed_by_the_owner(*args: Any) -> Any:
            done = retype(*args)
            after = {'colour': 'red', 'new': '1'}
            db.volume_metadata_update(self.admin, self.volume.id, after, False)
            db.volume_metadata_delete(self.admin, self.volume.id, 'a')
            return done

        with mock.patch.object(
            self.driver,
            'retype',
            autospec=True,
            side_effect=changed_by_the_owner,
        ):
            self._completed()
        self.assertEqual({'colour': 'red', 'new': '1'}, self._now().metadata)

    def test_volumes_that_are_not_resumed(self) -> None:
        for change in (
            {'status': 'available'},
            {'host': 'elsewhere@rbd#x'},
            {'volume_type_id': self.new_type.id},
        ):
            self._interrupted()
            before = {name: self.volume[name] for name in change}
            self.update(self.volume, change)
            self.recovery.resume_all()
            self.assertIs(self.former, self._stored())
            self.update(self.volume, before)
        marker.forget(self.volume.id)
        self.recovery.resume_all()
        self.assertIs(self.former, self._stored())

    def test_running_conversion(self) -> None:
        with self.driver._conversions.locks.locked(self.volume.id):
            self.recovery.resume_all()
        # The same if Cinder's manager is about to save the type.
        self.driver._conversions.ended.add(self.volume.id)
        self.recovery.resume_all()
        self._check('retyping', self.volume.volume_type_id)

    def test_cluster(self) -> None:
        """Another service of the cluster may be converting the image."""
        self.update(self.volume, {'cluster_name': 'cluster@rbd#rbd'})
        self.driver.cluster_name = 'cluster@rbd'
        self.recovery.resume_all()
        self._check('retyping', self.volume.volume_type_id)
        later = timeutils.utcnow() + datetime.timedelta(minutes=4)
        with mock.patch.object(
            timeutils, 'utcnow', autospec=True, return_value=later
        ):
            self.recovery.resume_all()
        self._check('available', self.new_type.id)

    def test_failed_step(self) -> None:
        self._prepared()
        self.cluster.fail('RBD.migration_commit', fake_images.ImageBusy('x'))
        self.recovery.resume_all()
        self._check('retyping', self.volume.volume_type_id)
        self.assertIn('Could not resume', self.log.output)
        self._completed()

    def test_deleted_type(self) -> None:
        self._prepared()
        self.new_type.destroy()
        self.recovery.resume_all()
        self._check('available', self.volume.volume_type_id)
        self.assertEqual('8', self.recorded(self.volume)[keys.STRIPE_COUNT])

    def test_refused(self) -> None:
        self._stored().group = 'group'
        self.recovery.resume_all()
        self._check('available', self.volume.volume_type_id)
        self.assertIs(self.former, self._stored())
        self.assertIsNone(marker.read(self.recorded(self.volume)))

    def test_exceeded_quota(self) -> None:
        with mock.patch.object(
            quota_utils,
            'get_volume_type_reservation',
            autospec=True,
            side_effect=exception.VolumeLimitExceeded(allowed=1),
        ):
            self._completed()
        self.assertIn('quota sync', self.log.output)

    def test_saved_type(self) -> None:
        """The marker is removed when the type is saved."""
        ended = self.driver._conversions.ended
        deleted = utils.create_volume(self.context).id
        objects.Volume.get_by_id(self.admin, deleted).destroy()
        ended |= {self.volume.id, deleted}
        self.recovery.resume_all()
        self.assertEqual({self.volume.id}, ended)
        self.update(self.volume, {'status': 'available'})
        self.recovery.resume_all()
        self.assertEqual(set(), ended)
        self.assertIsNone(marker.read(self.recorded(self.volume)))

    def test_started(self) -> None:
        """When the service starts, and then at most once a minute."""
        clock = mock.Mock(spec=(), side_effect=iter([0, 1, 1, 30, 70, 70]))
        found = recovery.Recovery(self.driver, self.driver._conversions, clock)
        with mock.patch.object(threading, 'Thread', autospec=True) as started:
            for number in (1, 1, 2):
                found.start()
                self.assertEqual(number, started.call_count)
                found._running = False
        with mock.patch.object(
            found, 'resume_all', autospec=True, side_effect=ValueError
        ):
            found._run()
        self.assertIn('Could not search', self.log.output)

    def test_not_started_outside_of_a_service(self) -> None:
        self.driver.host = None
        with mock.patch.object(threading, 'Thread', autospec=True) as started:
            self.recovery.start()
        started.assert_not_called()

    def test_started_with_the_statistics(self) -> None:
        """Cinder requests them at the start, and then periodically."""
        with mock.patch.object(
            recovery.Recovery, 'start', autospec=True
        ) as started:
            self.driver.get_volume_stats(refresh=True)
        started.assert_called_once_with(self.driver._recovery)
