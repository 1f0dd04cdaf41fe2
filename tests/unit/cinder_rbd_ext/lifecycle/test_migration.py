# SPDX-License-Identifier: Apache-2.0

"""Migration of volumes by the driver."""

import functools
import threading
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import utils as cinder_utils
from cinder.volume.drivers import rbd as stock_rbd
import ddt

from cinder_rbd_ext import admission
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext.lifecycle import migration
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.retype import retypes
from rbd_volume_options import errors
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base as unit_base
from tests.unit.cinder_rbd_ext import base
from tests.unit.cinder_rbd_ext import cinder_objects
from tests.unit.cinder_rbd_ext.retype import copying


@ddt.ddt
class MigrateTest(copying.CopyingTestCase):
    """The keys and the record of migrated volumes; copies need real Ceph."""

    def _moved(
        self, volume: Any, pool: str = 'volumes2', **report: Any
    ) -> Any:
        host = {
            'host': 'there@ceph2#ceph2',
            'capabilities': {
                'storage_protocol': 'ceph',
                'location_info': f'ceph::{self.cluster.fsid}:cinder:{pool}',
                **report,
            },
        }
        return self.driver.migrate_volume(self.context, volume, host)

    def _ours(self, *tenant_options: str) -> dict[str, Any]:
        return {
            'rbd_volume_options': True,
            'rbd_tenant_options': list(tenant_options),
            'rbd_allowed_cache_modes': ['none'],
        }

    def _keys_left(self, volume: Any) -> dict[str, str]:
        """Return the metadata after Cinder's manager has saved the volume."""
        self.update(volume, {'migration_status': 'success'})
        return dict(db.volume_metadata_get(self.admin, volume.id))

    def test_keys_and_record_that_remain(self) -> None:
        """Without our driver there, nobody would look at them."""
        mode = {keys.CACHE_MODE: 'writeback'}
        newer = {**self._ours(), 'rbd_volume_features': 'of-the-future'}
        for pool in ('volumes', 'volumes2'):
            for report, metadata, left, is_recorded in (
                ({}, {**base.ASKED, 'a': 'b'}, {'a': 'b'}, False),
                # All but a mode that is not allowed there.
                (self._ours(), {**base.ASKED, **mode}, base.ASKED, True),
                # A newer release of ours applies its own rules.
                (newer, base.ASKED, base.ASKED, True),
            ):
                with self.subTest(pool=pool, report=report):
                    volume = self.made_volume(metadata)
                    moved = self._moved(volume, pool, **report)
                    self.assertEqual((True, None), moved)
                    self.assertEqual(left, self._keys_left(volume))
                    self.assertEqual(left, volume.metadata)
                    layout = self.layout_of(volume.name, pool)
                    self.assertEqual(base.MADE, layout)
                    if is_recorded:
                        self.assertEqual(
                            'there@ceph2',
                            self.recorded(volume)['rbd:recorded_by'],
                        )
                    else:
                        # Recovery removes the marker with the former image.
                        self.assertLessEqual(
                            self.recorded(volume).keys(),
                            {*image_record.MARKER_RECORDS},
                        )

    @ddt.data(True, False)
    def test_retype_moves_to_where_the_layout_can_be_requested(
        self, is_possible: bool
    ) -> None:
        metadata = {**base.ASKED, keys.OBJECT_MAP: 'true'}
        volume = self.made_volume(metadata, status='retyping')
        allowed = base.ASKED if is_possible else [keys.OBJECT_SIZE]
        moved = self._moved(volume, **self._ours(*allowed))
        self.assertEqual((is_possible, None), moved)
        self.assertEqual(
            base.ASKED if is_possible else metadata, self._keys_left(volume)
        )

    @ddt.data('volumes', 'volumes2')
    def test_image_loses_limits_that_nobody_knows_of(self, pool: str) -> None:
        """A stock back end would keep them, without a key to remove them."""
        volume = self.made_volume({'rbd:iops_limit': '200'})
        stored = self.cluster.stored(volume.name).metadata
        self.assertEqual('200', stored['conf_rbd_qos_iops_limit'])
        stored['conf_other'] = '1'
        self.assertEqual((True, None), self._moved(volume, pool))
        stored = self.cluster.stored(volume.name, pool).metadata
        self.assertNotIn('conf_rbd_qos_iops_limit', stored)
        self.assertEqual('1', stored['conf_other'])

    def test_changes_of_the_owner_meanwhile(self) -> None:
        """Only the keys that are not accepted are removed."""
        volume = self.made_volume({**base.ASKED, 'colour': 'blue', 'a': 'b'})
        db.volume_metadata_update(
            self.admin, volume.id, {'colour': 'red', 'new': '1'}, False
        )
        for name in ('a', keys.OBJECT_SIZE):
            db.volume_metadata_delete(self.admin, volume.id, name)
        self.assertEqual((True, None), self._moved(volume))
        self.assertEqual(
            {'colour': 'red', 'new': '1'}, self._keys_left(volume)
        )

    def test_keys_that_can_not_be_removed(self) -> None:
        """The image has moved, so Cinder must save its new place."""
        volume = self.made_volume(base.ASKED)
        with mock.patch.object(
            objects.Volume,
            'delete_metadata_key',
            autospec=True,
            side_effect=OSError,
        ):
            self.assertEqual((True, None), self._moved(volume))
        self.assertIn('Could not remove the keys', self.log.output)
        self.assertEqual(base.ASKED, self._keys_left(volume))

    def test_same_pool_with_another_data_pool(self) -> None:
        volume = self.made_volume(base.ASKED)
        report = {**self._ours(), 'rbd_volume_data_pool': 'data'}
        moved = self._moved(volume, 'volumes', **report)
        self.assertEqual((False, None), moved)

    def _status_now(self, volume: Any, status: str) -> None:
        """Change the database after the volume was read for the request."""
        current = objects.Volume.get_by_id(self.admin, volume.id)
        self.update(current, {'status': status})

    @ddt.data('reserved', 'attaching', 'in-use', 'backing-up')
    def test_volume_used_since_the_request_is_not_left_to_cinder(
        self, status: str
    ) -> None:
        """Cinder would copy the data while they change."""
        volume = self.made_volume(base.ASKED)
        self.assertEqual([], list(volume.volume_attachment))
        self._status_now(volume, status)
        self.obstacle.return_value = image_handles.CLONES
        other_data_pool = {**self._ours(), 'rbd_volume_data_pool': 'data'}
        other_cluster = {'location_info': 'ceph::elsewhere:cinder:volumes'}
        for pool, report in (
            ('volumes2', {}),
            ('volumes', other_data_pool),
            ('volumes', other_cluster),
        ):
            self.assertRaises(
                commit.CopyFailed, self._moved, volume, pool, **report
            )
            self.assertIsNone(marker.of_volume(volume.id))
        self._status_now(volume, 'available')
        self.assertEqual((False, None), self._moved(volume))

    def test_without_room_for_a_copy_it_fails(self) -> None:
        """Cinder's own copy would fill the pool."""
        volume = self.made_volume(base.ASKED)
        self.reserve.return_value = admission.NO_ROOM
        self.assertRaises(commit.CopyFailed, self._moved, volume)
        self.assertIsNone(marker.of_volume(volume.id))

    def test_it_waits_however_many_retypes_wait(self) -> None:
        volume = self.made_volume(base.ASKED)
        places = self.driver._replacements.places._places = admission.Places(
            1, 1
        )
        places._free.take('b')
        places._waiting.take('b')
        threading.Timer(0.1, places._free.give_back, 'b').start()
        self.assertEqual((True, None), self._moved(volume))

    def test_retype_that_migrates_waits_only_if_few_wait(self) -> None:
        """Tenants can request any number, each in a thread."""
        volume = self.made_volume(base.ASKED, status='retyping')
        target = self._ours(*base.ASKED)
        places = self.driver._replacements.places._places = admission.Places(
            1, 1
        )
        places._free.take('b')
        places._waiting.take('b')
        self.assertRaises(commit.CopyFailed, self._moved, volume, **target)
        self.assertEqual(
            f'retype refused: {admission.TOO_MANY}',
            self.told(volume),
        )
        self.assertIsNone(marker.of_volume(volume.id))
        places._free.give_back('b')
        self.assertEqual((True, None), self._moved(volume, **target))

    def test_volume_with_a_client_is_not_left_to_cinder(self) -> None:
        volume = self.made_volume(base.ASKED)
        self.obstacle.return_value = image_handles.IN_USE
        with self.driver.images.opened(volume.name):
            self.assertRaises(commit.CopyFailed, self._moved, volume)

    def test_attachment_of_the_request_is_left_to_cinder(self) -> None:
        """Nova copies the data of an attached volume."""
        volume = self.made_volume(base.ASKED)
        volume = cinder_utils.attach_volume(
            self.admin, volume, volume.id, 'compute', '/dev/vdb'
        )
        self.obstacle.return_value = image_handles.IN_USE
        self.assertEqual((False, None), self._moved(volume))
        self.assertIsNone(marker.of_volume(volume.id))

    def test_failed_migration_leaves_no_marker(self) -> None:
        """It would apply to the status of the next migration."""
        volume = self.made_volume(base.ASKED)
        for failing, name in (
            (replacement, 'alone'),
            (self.driver._migrations, 'accepted'),
            (copies.Copy, 'make_verified'),
            (locks.Held, 'check'),
        ):
            with mock.patch.object(
                failing, name, autospec=True, side_effect=OSError
            ):
                self.assertRaises(OSError, self._moved, volume)
            self.assertIsNone(marker.of_volume(volume.id), name)
            self.assertEqual([volume.name], self.cluster.names())
            self.assertEqual([], self.cluster.names('volumes2'))
        self.assertEqual('test_host', self.recorded(volume)['rbd:recorded_by'])

    def test_pool_that_may_not_be_used_leaves_no_marker(self) -> None:
        """Recovery could not read it either."""
        volume = self.made_volume(base.ASKED)
        refused = errors.OptionError('pool', 'volumes2', 'no', 'other')
        with (
            mock.patch.object(
                self.driver.images,
                'check_data_pool',
                autospec=True,
                side_effect=refused,
            ),
            mock.patch.object(marker, 'write', autospec=True) as write,
        ):
            self.assertEqual((False, None), self._moved(volume))
        write.assert_not_called()


_STATE = options.image_values(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({'layering', 'deep-flatten', 'striping'}),
    'data',
)


class CopiedStateTest(unit_base.TestCase):
    def _plan(
        self, of_type: str | None, of_host: str | None
    ) -> options.Values:
        specs = {'rbd_data_pool': of_type} if of_type else {}
        volume = cinder_objects.volume(
            {'rbd:object_size': '8M'}, cinder_objects.volume_type(**specs)
        )
        host = {'capabilities': {'rbd_volume_data_pool': of_host}}
        return migration.copied_state(volume, host, _STATE)

    def test_data_pool_is_that_of_the_destination(self) -> None:
        for of_type, of_host, made in (
            (None, None, None),
            (None, 'theirs', 'theirs'),
            ('ours', 'theirs', 'ours'),
        ):
            expected = options.image_values(
                _STATE.layout, _STATE.image_features, made
            )
            self.assertEqual(expected, self._plan(of_type, of_host))
        # The name comes through RPC and is used in a command line.
        self.assertRaises(errors.OptionError, self._plan, None, 'a b')


@ddt.ddt
class CopyByCinderTest(base.DriverTestCase):
    """A volume whose data Cinder copies to a new volume."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.target = self.new_volume(
            migration_status=f'target:{self.volume.id}'
        )
        self.update(
            self.volume,
            {'migration_status': 'migrating', 'previous_status': 'available'},
        )
        self.driver.before_volume_copy(self.admin, self.volume, self.target)

    def _completed(self) -> None:
        self.driver.after_volume_copy(self.admin, self.volume, self.target)

    def _connected(self, status: str, **changes: Any) -> Any:
        db.volume_update(
            self.admin, self.volume.id, {'status': status, **changes}
        )
        return self.driver.initialize_connection(
            self.volume, {'host': 'compute'}
        )

    def test_unchanged_volume_is_migrated(self) -> None:
        # Cinder's own connection
        self._connected('available')
        self._completed()

    def test_volume_that_is_used_after_the_copy_is_not_migrated(self) -> None:
        db.volume_update(self.admin, self.volume.id, {'status': 'reserved'})
        self.assertRaises(commit.CopyFailed, self._completed)

    @ddt.data('maintenance', 'retyping')
    def test_status_that_a_volume_has_got_since_is_kept(
        self, requested: str
    ) -> None:
        """Cinder's manager would make the volume of a server available."""
        self.update(self.volume, {'status': requested})
        self._completed()
        db.volume_update(self.admin, self.volume.id, {'status': 'in-use'})
        report = {'storage_protocol': 'iSCSI'}
        host = {'host': 'there@lvm#lvm', 'capabilities': report}
        for end in (
            self._completed,
            functools.partial(
                self.driver.migrate_volume, self.admin, self.volume, host
            ),
        ):
            changes = {'migration_status': 'migrating'}
            db.volume_update(self.admin, self.volume.id, changes)
            self.assertRaises(exception.VolumeBackendAPIException, end)
            now = objects.Volume.get_by_id(self.admin, self.volume.id)
            self.assertEqual(
                ('in-use', 'error'), (now.status, now.migration_status)
            )

    def test_status_is_kept_if_the_retype_was_refused_before_the_copy(
        self,
    ) -> None:
        self.update(self.volume, {'status': 'retyping'})
        setattr(self.volume, retypes.NOT_COPIED, 'no room')
        begin = functools.partial(
            self.driver.before_volume_copy,
            self.admin,
            self.volume,
            self.target,
        )
        self.assertRaises(commit.CopyFailed, begin)
        db.volume_update(self.admin, self.volume.id, {'status': 'in-use'})
        self.assertRaises(exception.VolumeBackendAPIException, begin)

    def test_retype_whose_copy_a_limit_of_the_owner_makes_slow_is_refused(
        self,
    ) -> None:
        """Also if the limit is not in force yet. Administrators may copy."""
        key = 'rbd:write_bps_limit'
        db.volume_metadata_update(
            self.admin, self.volume.id, {key: '1M'}, False
        )
        begin = functools.partial(
            self.driver.before_volume_copy,
            self.admin,
            self.volume,
            self.target,
        )
        begin()
        self.update(self.volume, {'status': 'retyping'})
        error = self.assertRaises(commit.CopyFailed, begin)
        self.assertIn(f'{key}. Remove them', str(error))
        (message,) = db.message_get_all(self.context)
        self.assertEqual(self.volume.id, message['resource_uuid'])
        db.volume_metadata_delete(self.admin, self.volume.id, key)
        begin()

    def test_volume_whose_image_was_replaced_is_not_migrated(self) -> None:
        with stock_rbd.RADOSClient(self.driver) as client:
            self.librbd.RBD().remove(client.ioctx, self.volume.name)
            self.librbd.RBD().create(client.ioctx, self.volume.name, base.GIB)
        self.assertRaises(commit.CopyFailed, self._completed)

    def test_clients_cannot_connect_during_the_copy(self) -> None:
        for moving in ('migrating', 'completing'):
            for status in ('reserved', 'attaching', 'restoring-backup'):
                self.assertRaises(
                    exceptions.AttachmentRefused,
                    self._connected,
                    status,
                    migration_status=moving,
                )
        self._connected('reserved', migration_status='success')

    def test_attachment_is_refused_whatever_the_status(self) -> None:
        cinder_utils.attach_volume(
            self.admin, self.volume, self.volume.id, 'compute', '/dev/vdb'
        )
        self.assertRaises(
            exceptions.AttachmentRefused, self._connected, 'available'
        )

    def test_volume_in_use_can_be_connected_while_nova_copies(self) -> None:
        self._connected('in-use', previous_status='in-use')

    def test_deletion_of_the_former_image_keeps_a_volume_that_came_back(
        self,
    ) -> None:
        """The row of the former image has the name of the volume."""
        self.driver.host = 'test_host'
        for host, left in (('test_host', True), ('elsewhere@ceph', False)):
            former = self.new_volume(
                migration_status='deleting', _name_id=self.volume.id
            )
            self.assertEqual(self.volume.name, former.name)
            self.update(
                self.volume, {'host': host, 'migration_status': 'success'}
            )
            self.driver.delete_volume(former)
            self.assertIs(left, self.volume.name in self.cluster.names())

    def test_second_volume_of_an_interrupted_migration_keeps_the_image(
        self,
    ) -> None:
        """Operators delete it; the image can be that of the migrated volume.

        Nova has copied the data, and Cinder was killed between the two changes
        of its database. It then has both volumes with the image.
        """
        second = self.made_volume(
            use_quota=False, migration_status=f'target:{self.volume.id}'
        )
        self.update(
            self.volume, {'_name_id': second.id, 'migration_status': 'error'}
        )
        self.update(second, {'migration_status': None, 'status': 'deleting'})
        self.driver.delete_volume(second)
        self.assertIn(self.volume.name, self.cluster.names())
        self.driver.delete_volume(self.volume)
        self.assertNotIn(self.volume.name, self.cluster.names())

    def test_second_volume_stays_while_cinder_completes_its_migration(
        self,
    ) -> None:
        second = self.made_volume(use_quota=False)
        self.update(
            self.volume,
            {'_name_id': second.id, 'migration_status': 'completing'},
        )
        self.assertRaises(
            locks.VolumeLocked, self.driver.delete_volume, second
        )
        self.assertIn(second.name, self.cluster.names())

    def test_former_image_stays_while_its_volume_may_come_back(self) -> None:
        former = self.new_volume(
            migration_status='deleting', _name_id=self.volume.id
        )
        self.update(
            self.volume,
            {'host': 'elsewhere', 'migration_status': 'completing'},
        )
        # Not VolumeIsBusy, which makes the former volume available.
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.delete_volume,
            former,
        )
        self.assertIn(self.volume.name, self.cluster.names())

    def test_volume_can_be_used_while_its_former_image_is_deleted(
        self,
    ) -> None:
        former = self.new_volume(
            migration_status='deleting', _name_id=self.volume.id
        )
        self.update(self.volume, {'migration_status': 'success'})
        with (
            migration.image_needed(self.driver, former),
            locks.exclusive(self.driver, self.volume, 0),
        ):
            # By another service.
            name = self.name_locked(self.volume.name)
            self.assertRaises(AssertionError, name.__enter__)
