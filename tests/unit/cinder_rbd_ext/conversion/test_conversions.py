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


"""Retypes that convert an image, and images that cannot be converted."""

from typing import Any
from unittest import mock

from cinder import objects
import ddt

from cinder_rbd_ext.conversion import conversions
from cinder_rbd_ext.conversion import marker
from cinder_rbd_ext.conversion import obstacles
from rbd_volume_options import keys
from tests.fakes import fake_images
from tests.fakes import fake_migration
from tests.unit.cinder_rbd_ext import base

_SPECS = {
    'rbd_object_size': '1M',
    'rbd_stripe_unit': '64K',
    'rbd_stripe_count': '8',
}


@ddt.ddt
class ConversionsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.work = self.driver._conversions
        self.slept: list[float] = []
        self.work._sleep = self.slept.append

    def _retype(self, new_type: Any = None, **specs: str) -> Any:
        new_type = new_type or self.make_type(**specs)
        done, update = self.driver.retype(
            self.context, self.volume, new_type, {}, None
        )
        self.update(self.volume, update)
        return done

    def _stored(self) -> Any:
        return self.cluster.stored(self.volume.name)

    def _refused(self, reason: str) -> None:
        before = self._stored()
        self.assertFalse(self._retype(**_SPECS))
        self.assertIs(before, self._stored())
        recorded = self.recorded(self.volume)
        self.assertIsNone(marker.read(recorded))
        self.assertIn(reason, marker.refusal(recorded) or '')
        self.assertIn('needs a migration', self.log.output)
        self.assertIn('rbd:object_size', self.log.output)

    def test_converted(self) -> None:
        self.new_snapshot(self.volume)
        self.assertTrue(self._retype(**_SPECS))
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))
        recorded = self.recorded(self.volume)
        self.assertEqual('8', recorded[keys.STRIPE_COUNT])
        self.assertIn('striping=volume_type', recorded['rbd:origins'])
        self.assertEqual({self.volume.id}, self.work.ended)

    def test_in_use(self) -> None:
        with self.driver.images.opened(self.volume.name):
            self._refused(obstacles.IN_USE)
        self.assertEqual([], self.slept)
        self.update(
            self.volume, {'status': 'retyping', 'previous_status': 'in-use'}
        )
        self._refused(obstacles.IN_USE)

    def test_obstacle(self) -> None:
        self._stored().group = 'group'
        self._refused(obstacles.GROUP)

    def test_refused_by_librbd(self) -> None:
        self.cluster.fail(
            'RBD.migration_prepare', fake_images.InvalidArgument('x')
        )
        self._refused('InvalidArgument')

    def test_types_with_other_features(self) -> None:
        """The stock driver changes features for multi-attach types."""
        self.assertFalse(self._retype(**_SPECS, multiattach='<is> True'))
        self.assertIsNone(marker.refusal(self.recorded(self.volume)))

    def test_later_retype(self) -> None:
        """The marker of an earlier conversion is removed."""
        self.assertTrue(self._retype(**_SPECS))
        self.assertIsNotNone(marker.read(self.recorded(self.volume)))
        self.assertTrue(self._retype(rbd_object_map='false', **_SPECS))
        self.assertIsNone(marker.read(self.recorded(self.volume)))

    def test_failed_step(self) -> None:
        """It is repeated while the status of the volume is ``retyping``."""
        self.update(
            self.volume,
            {'status': 'retyping', 'previous_status': 'available'},
        )
        self.cluster.fail(
            'RBD.migration_execute', fake_images.ImageBusy('x'), times=2
        )
        self.assertTrue(self._retype(**_SPECS))
        self.assertEqual([conversions.REPEAT] * 2, self.slept)

    def test_reset_status(self) -> None:
        """The next retype completes the conversion."""
        self.cluster.fail('RBD.migration_execute', fake_images.ImageBusy('x'))
        new_type = self.make_type(**_SPECS)
        self.assertRaises(fake_images.ImageBusy, self._retype, new_type)
        self.assertEqual(fake_migration.EXECUTING, self._stored().state)
        self.assertTrue(self._retype(new_type))
        self.assertIsNone(self._stored().source)
        self.assertIn(
            'striping=volume_type', self.recorded(self.volume)['rbd:origins']
        )

    @ddt.data(3, 100)
    def test_watch_of_a_killed_client(self, attempts: int) -> None:
        """The OSD keeps it until it expires."""
        self.work.resumed.add(self.volume.id)
        self.cluster.fail(
            'RBD.migration_prepare', fake_images.ImageBusy('x'), times=attempts
        )
        self.assertEqual(attempts < 10, bool(self._retype(**_SPECS)))
        self.cluster.forgive()
        self.assertEqual(min(attempts, 12), len(self.slept))

    def _interrupted(self) -> Any:
        """Interrupt a conversion while it copies; return the former image."""
        former = self._stored()
        self.new_snapshot(self.volume)
        self.cluster.fail('RBD.migration_execute', fake_images.ImageBusy('x'))
        self.assertRaises(fake_images.ImageBusy, self._retype, **_SPECS)
        self.update(self.volume, {'status': 'deleting'})
        # Cinder reads it again.
        self.volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        return former

    def test_deleted(self) -> None:
        """An interrupted conversion is aborted, without copying data."""
        former = self._interrupted()
        (snapshot,) = self.volume.snapshots
        self.driver.delete_snapshot(snapshot)
        self.assertIs(former, self._stored())
        self.assertIsNone(marker.read(self.recorded(self.volume)))
        self.driver.delete_volume(self.volume)
        self.assertNotIn(self.volume.name, self.cluster.names())

    def test_deleted_by_a_tenant(self) -> None:
        """Cinder has not read the admin metadata."""
        former = self._interrupted()
        self.volume = objects.Volume.get_by_id(self.context, self.volume.id)
        self.work.discard(self.volume)
        self.assertIs(former, self._stored())

    def test_deleted_and_kept(self) -> None:
        """What the trash or clones keep has all data."""
        self._interrupted()
        self.driver.configuration.enable_deferred_deletion = True
        self.work.discard(self.volume)
        self.assertIsNone(self._stored().source)
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_deleted_with_clones(self) -> None:
        self._interrupted()
        with mock.patch.object(
            obstacles, 'has_clones', autospec=True, return_value=True
        ):
            self.work.discard(self.volume)
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_deleted_while_it_runs(self) -> None:
        """The deletion waits for the conversion."""
        self._interrupted()
        running = self.work.locks.locked(self.volume.id)
        running.__enter__()

        def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            marker.forget(self.volume.id)
            running.__exit__(None, None, None)

        self.work._sleep = sleep
        self.work.discard(self.volume)
        self.assertEqual([conversions._PAUSE], self.slept)

    def test_deleted_while_a_killed_client_is_seen(self) -> None:
        self._interrupted()
        self.cluster.fail(
            'RBD.migration_abort', fake_images.ImageBusy('x'), times=2
        )
        self.work.discard(self.volume)
        self.assertEqual([conversions._PAUSE] * 2, self.slept)

    def test_deleted_without_an_image(self) -> None:
        self._interrupted()
        del self.cluster.pools['volumes'].images[self.volume.name]
        self.work.discard(self.volume)
        self.assertIsNone(marker.read(self.recorded(self.volume)))

    def test_status(self) -> None:
        self.assertFalse(conversions.is_retyping(self.volume.id))
        volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        volume.update({'status': 'retyping'})
        volume.save()
        self.assertTrue(conversions.is_retyping(self.volume.id))
