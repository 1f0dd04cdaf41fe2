# SPDX-License-Identifier: Apache-2.0

"""Test migration to another pool, which keeps layout and features."""

import datetime
import os
import time
from typing import Any
from unittest import mock

from oslo_utils import timeutils
from oslo_utils import units
import rbd

from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import recovery
from rbd_volume_options import keys
from tests import runs
from tests.functional import interruptions
from tests.functional.cinder_rbd_ext import base


class MigrationTest(base.DriverTestCase):
    """Migration to another back end on the same cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.empty_trash)

    def _host(self, **capabilities: Any) -> dict[str, Any]:
        location = f'ceph:{self.cluster.conf}:{self.cluster.fsid}:admin'
        return {
            'host': 'host@other#other',
            'capabilities': {
                'storage_protocol': 'ceph',
                'location_info': f'{location}:volumes2',
                'rbd_volume_options': True,
                'rbd_tenant_options': [],
                **capabilities,
            },
        }

    def _migrate(self, volume: Any, **capabilities: Any) -> Any:
        self.left = volume.host
        self.update(volume, {'migration_status': 'migrating'})
        return self.driver.migrate_volume(
            self.context, volume, self._host(**capabilities)
        )

    def _save(self, volume: Any) -> None:
        """Save the new back end, as Cinder's manager does, and recover."""
        self.update(
            volume, {'host': 'host@other#other', 'migration_status': 'success'}
        )
        self.driver.host = self.left
        self.assertFalse(self.driver._recovery.recover_all())

    @runs.tags(runs.DEBIAN)
    def test_layout_features_and_content(self) -> None:
        volume = self.made_volume(base.ASKED)
        with self.cluster.image(volume.name) as image:
            image.write(b'content', 3 * units.Mi)
            image.metadata_set('conf_rbd_cache', 'false')
        before = self.features_of(volume)
        self.assertEqual((True, None), self._migrate(volume))
        self._save(volume)
        self.assertEqual([], self.cluster.names('volumes'))
        self.assertEqual(1, len(self._trash()))
        self.assertEqual(base.MADE, self.layout_of(volume, 'volumes2'))
        self.assertEqual(before, self.features_of(volume, 'volumes2'))
        self.assertEqual(0, self.flags_of(volume, 'volumes2'))
        with self.cluster.image(volume.name, 'volumes2') as image:
            self.assertEqual(b'content', image.read(3 * units.Mi, 7))
            self.assertNotIn('conf_rbd_cache', dict(image.metadata_list()))

    def test_deletion_right_after_a_migration_leaves_no_image(self) -> None:
        """The service of the source has not settled it yet."""
        there = self.make_driver(rbd_pool='volumes2')
        there.host = 'host@other'
        for _ in range(int(os.environ.get('RBD_TEST_FAMILIES', '1'))):
            source = self.made_volume()
            clone = self.new_volume(source_volid=source.id)
            self.update(clone, self.driver.create_cloned_volume(clone, source))
            self.delete_with_record(source, self.driver)
            self.assertEqual((True, None), self._migrate(clone))
            moved = {'host': 'host@other#other', 'status': 'deleting'}
            self.update(clone, {**moved, 'migration_status': 'success'})
            self.delete_with_record(clone, there)
        for driver in (there, self.driver):
            for _ in range(3):
                driver._trash_purge()
        self.assertEqual([], self._trash())
        for pool in ('volumes', 'volumes2'):
            self.assertEqual([], self.cluster.names(pool))

    def _trash(self) -> list[Any]:
        return list(rbd.RBD().trash_list(self.cluster.ioctx('volumes')))

    def test_the_data_pool_is_the_other_backends(self) -> None:
        volume = self.made_volume(base.ASKED, self.make_type(), size=1)
        self._migrate(volume, rbd_volume_data_pool='volumes-data')
        self.assertIn('data-pool', self.features_of(volume, 'volumes2'))
        self.assertEqual('volumes-data', self.recorded(volume)[keys.DATA_POOL])

    def test_a_data_pool_that_the_other_backend_lacks(self) -> None:
        owner = self.make_driver(rbd_volume_data_pool='volumes-data')
        volume = self.made_volume(driver=owner)
        self.assertIn(keys.DATA_POOL, self.recorded(volume))
        self._migrate(volume)
        self.assertNotIn('data-pool', self.features_of(volume, 'volumes2'))
        self.assertNotIn(keys.DATA_POOL, self.recorded(volume))

    def test_copy_of_a_clone_does_not_need_the_source(self) -> None:
        source = self.made_volume(base.ASKED)
        with self.cluster.image(source.name) as image:
            image.write(b'content', 3 * units.Mi)
        clone = self.new_volume(base.ASKED)
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        used, needed = copies.Copy.used, []

        def note(copy: copies.Copy, report: Any) -> int:
            needed.append(used(copy, report))
            return needed[-1]

        with mock.patch.object(copies.Copy, 'used', note):
            self.assertEqual((True, None), self._migrate(clone))
        # The copy has the data of the source, too.
        self.assertEqual([units.Mi], needed)
        with self.cluster.image(clone.name, 'volumes2') as image:
            self.assertEqual(b'content', image.read(3 * units.Mi, 7))
            self.assertRaises(rbd.ImageNotFound, image.get_parent_image_spec)

    def test_image_with_a_clone_is_left_to_cinder(self) -> None:
        volume = self.made_volume(base.ASKED)
        clone = self.new_volume(base.ASKED)
        self.update(clone, self.driver.create_cloned_volume(clone, volume))
        self.assertEqual((False, None), self._migrate(volume))
        self.assertEqual([], self.cluster.names('volumes2'))
        self.assertIsNone(marker.of_volume(volume.id))

    def test_failed_copy_leaves_the_volume_where_it_is(self) -> None:
        volume = self.made_volume(base.ASKED)
        self.driver.host = volume.host
        compare = mock.patch.object(
            copies.Copy, 'compare', autospec=True, side_effect=OSError
        )
        with compare:
            self.assertRaises(OSError, self._migrate, volume)
        self.assertEqual([], self.cluster.names('volumes2'))
        self.update(volume, {'migration_status': 'error'})
        self.assertFalse(self.driver._recovery.recover_all())
        self.assertEqual([volume.name], self.cluster.names('volumes'))
        self.assertIsNone(marker.of_volume(volume.id))


class HostAssistedTest(base.DriverTestCase):
    """The target volume of a host-assisted migration."""

    def setUp(self) -> None:
        super().setUp()
        self.strict = self.make_driver(pool='volumes2', rbd_tenant_options='')

    def _target(self, volume: Any, type_id: str) -> Any:
        return self.new_volume(
            base.ASKED, type_id, migration_status=f'target:{volume.id}'
        )

    def test_an_operator_moves_what_tenants_could_not_make(self) -> None:
        type_id = self.make_type()
        volume = self.made_volume(base.ASKED, type_id)
        target = self._target(volume, type_id)
        self.strict.create_volume(target)
        self.assertEqual(base.MADE, self.layout_of(target, 'volumes2'))

    def test_a_change_of_type_is_no_way_around(self) -> None:
        volume = self.made_volume(base.ASKED, self.make_type())
        target = self._target(volume, self.make_type())
        self.update(target, self.strict.create_volume(target))
        self.assertEqual({}, target.metadata)
        layout = self.layout_of(target, 'volumes2')
        self.assertEqual(4 * units.Mi, layout['object_size'])
        self.assertEqual(1, layout['stripe_count'])

    def test_a_clone_without_keys_keeps_layout_and_features(self) -> None:
        type_id = self.make_type()
        source = self.made_volume(base.ASKED, type_id)
        clone = self.new_volume(volume_type=type_id)
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        target = self.new_volume(
            None, type_id, migration_status=f'target:{clone.id}'
        )
        self.update(target, self.strict.create_volume(target))
        self.assertEqual(base.MADE, self.layout_of(target, 'volumes2'))
        self.assertEqual(
            self.features_of(clone), self.features_of(target, 'volumes2')
        )

    def test_interrupted_copy_ends_when_its_client_is_forgotten(self) -> None:
        volume = self.made_volume()
        self.new_volume(migration_status=f'target:{volume.id}')
        self.useFixture(interruptions.ShortWatch(self.cluster))
        self.update(
            volume,
            {'migration_status': 'migrating', 'previous_status': 'available'},
        )
        self.driver.host = volume.host
        own = self.driver._recovery
        interruptions.kill_while_open(self.cluster, volume.name)
        # As a service that started after the request, and has waited.
        own._began = timeutils.utcnow() + datetime.timedelta(seconds=1)
        with mock.patch.object(recovery, 'LOST', -60.0):
            own.return_lost()
            volume.refresh()
            self.assertEqual('migrating', volume.migration_status)
            until = time.monotonic() + 60
            while volume.migration_status == 'migrating':
                self.assertLess(time.monotonic(), until)
                time.sleep(0.5)
                own.return_lost()
                volume.refresh()
        self.assertEqual('error', volume.migration_status)
        self.update(volume, {'status': 'attaching'})
        self.driver.initialize_connection(volume, {'host': 'compute'})

    def test_encrypted_volume_is_not_migrated_without_its_end(self) -> None:
        """Cinder copies 1 GiB, and the data come after a LUKS header."""
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        copied = (self.context, volume, target)
        with self.cluster.image(volume.name) as image:
            image.resize(units.Gi + 2 * units.Mi)
            image.write(b'data', units.Gi - 4)
        self.driver.before_volume_copy(*copied)
        with self.cluster.image(volume.name) as image:
            image.write(b'end', units.Gi + 2 * units.Mi - 3)
        self.assertRaises(
            commit.CopyFailed, self.driver.before_volume_copy, *copied
        )
        self.driver.extend_volume(volume, 2)
        self.update(volume, {'size': 2})
        self.driver.before_volume_copy(*copied)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(2 * units.Gi, image.size())

    def test_volume_that_changes_during_the_copy_is_not_migrated(self) -> None:
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_mtime_update_interval', '1')
        copied = (self.context, volume, target)
        self.driver.before_volume_copy(*copied)
        with self.cluster.image(volume.name) as image:
            image.read(0, units.Mi)
        self.driver.after_volume_copy(*copied)
        # librbd compares the time of the last change with its interval.
        time.sleep(2)
        with self.cluster.image(volume.name) as image:
            image.write(b'late', 0)
            image.flush()
        self.assertRaises(
            commit.CopyFailed, self.driver.after_volume_copy, *copied
        )
