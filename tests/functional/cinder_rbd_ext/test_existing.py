# SPDX-License-Identifier: Apache-2.0

"""Operations on existing images, such as extend, retype and manage."""

import functools
import threading
from typing import Any

from cinder import exception
from cinder.db import api as db
from cinder.objects import volume_type
from cinder.volume import manager
from cinder.volume import rpcapi
from cinder.volume import volume_utils
from cinder.volume.drivers import rbd as stock
import fixtures
from os_brick.initiator.connectors import rbd as connector
from oslo_utils import units
import rbd
import testtools

from benchmarks import counts
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext.imaging import open_image
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests import feature_bits
from tests.functional.cinder_rbd_ext import base

_MAP = {'exclusive-lock', 'object-map', 'fast-diff'}


class ExtendTest(base.DriverTestCase):
    """Extending keeps the layout and the features, within their limits."""

    def test_layout_and_map_are_kept(self) -> None:
        volume = self.made_volume(base.ASKED)
        self.driver.extend_volume(volume, 3)
        self.assertEqual(base.MADE, self.layout_of(volume))
        self.assertEqual(0, self.flags_of(volume))
        self.assertEqual(3 * units.Gi, self.size_of(volume))

    def test_late_request_truncates_nothing(self) -> None:
        volume = self.made_volume()
        self.driver.extend_volume(volume, 3)
        self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.extend_volume,
            volume,
            2,
        )
        self.assertEqual(3 * units.Gi, self.size_of(volume))

    def test_too_many_objects_for_an_object_map(self) -> None:
        volume = self.made_volume(
            {keys.OBJECT_SIZE: '4K', keys.OBJECT_MAP: 'true'}
        )
        error = self.assertRaises(
            exceptions.VolumeOptionRefused,
            self.driver.extend_volume,
            volume,
            2048,
        )
        self.assertIn('536,870,912 objects', str(error))
        self.assertEqual(units.Gi, self.size_of(volume))

    def test_partial_stripes(self) -> None:
        lenient = self.make_driver(rbd_require_whole_stripes=False)
        volume = self.made_volume(
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}, driver=lenient
        )
        error = self.assertRaises(
            exceptions.VolumeOptionRefused,
            self.driver.extend_volume,
            volume,
            2,
        )
        self.assertIn('2 GiB is not a multiple of 64 KiB x 3', str(error))
        self.assertEqual(units.Gi, self.size_of(volume))
        lenient.extend_volume(volume, 2)
        self.assertEqual(2 * units.Gi, self.size_of(volume))


class RetypeTest(base.DriverTestCase):
    """A retype resolves the tenant's keys again, then the new type's."""

    def _retype(self, volume: Any, **specs: str) -> Any:
        new_type = volume_type.VolumeType.get_by_id(
            self.admin, self.make_type(**specs)
        )
        with volume.obj_as_admin(), self.retyping(volume):
            result = self.driver.retype(
                self.context, volume, new_type, {}, {'host': volume.host}
            )
        if result[0]:
            self.update(volume, result[1])
            volume.update({'volume_type_id': new_type.id})
            volume.save()
            volume.refresh()
        return result

    def test_object_map_is_added_and_valid(self) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_features='layering')
        )
        self.new_snapshot(volume)
        done, _ = self._retype(volume, rbd_object_map='true')
        self.assertTrue(done)
        self.assertLessEqual(_MAP, self.features_of(volume))
        self.assertEqual(0, self.flags_of(volume))
        self._check_snapshots_valid(volume)
        self.assertIn('object-map', self.recorded(volume)[keys.FEATURES])

    def _check_snapshots_valid(self, volume: Any) -> None:
        with self.cluster.image(volume.name) as image:
            names = [s['name'] for s in image.list_snaps()]
        self.assertNotEqual([], names)
        for name in names:
            with self.cluster.image(volume.name, snapshot=name) as at:
                self.assertEqual(0, at.flags(), name)

    def test_object_map_is_taken_away(self) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_object_map='on')
        )
        self._retype(volume, rbd_object_map='false')
        self.assertEqual({'exclusive-lock'}, self.features_of(volume) & _MAP)

    def test_the_tenants_own_key_stays(self) -> None:
        volume = self.made_volume({keys.OBJECT_MAP: 'false'})
        self._retype(volume, rbd_object_map='true')
        self.assertNotIn('object-map', self.features_of(volume))

    def test_a_type_that_says_nothing_changes_nothing(self) -> None:
        volume = self.made_volume(base.ASKED)
        before = self.features_of(volume)
        done, _ = self._retype(volume)
        self.assertTrue(done)
        self.assertEqual(before, self.features_of(volume))

    def test_an_open_image_needs_a_migration(self) -> None:
        volume = self.made_volume()
        for specs in (
            {'rbd_object_size': '8M'},
            {'rbd_data_pool': 'volumes-data'},
        ):
            with self.cluster.image(volume.name):
                done, _ = self._retype(volume, **specs)
            self.assertFalse(done)
        self.assertEqual(4 * units.Mi, self.layout_of(volume)['object_size'])

    def test_multiattach_and_back_leaves_valid_maps(self) -> None:
        volume = self.made_volume(base.ASKED, volume_type=self.make_type())
        done, _ = self._retype(volume, multiattach='<is> True')
        self.assertTrue(done)
        self.assertEqual(set(), self.features_of(volume) & _MAP)
        metadata = dict(base.ASKED)
        del metadata[keys.OBJECT_MAP]
        self.assertEqual(metadata, volume.metadata)

        volume = self.made_volume(
            volume_type=self.make_type(rbd_object_map='true')
        )
        self.new_snapshot(volume)
        self._retype(volume, multiattach='<is> True')
        self.assertEqual(set(), self.features_of(volume) & _MAP)
        self.assertNotIn('object-map', self.recorded(volume)[keys.FEATURES])
        self._retype(volume, rbd_object_map='true')
        self.assertLessEqual(_MAP, self.features_of(volume))
        self.assertEqual(0, self.flags_of(volume))
        self._check_snapshots_valid(volume)


class MultiattachTest(base.DriverTestCase):
    """Requests that contradict a multi-attach type are refused."""

    def test_what_contradicts(self) -> None:
        for key, value in (
            (keys.OBJECT_MAP, 'true'),
            (keys.FEATURES, 'layering,exclusive-lock'),
            (keys.CACHE_MODE, 'writeback'),
        ):
            volume = self.new_volume(
                {key: value}, self.make_type(multiattach='<is> True')
            )
            error = self.assertRaises(
                exceptions.VolumeOptionRefused,
                self.driver.create_volume,
                volume,
            )
            self.assertIn(key, str(error))
            self.assertIn('multi-attach', str(error))
            self.assertEqual([], self.cluster.names())

    def test_a_clone_has_the_features_that_the_type_took(self) -> None:
        shared = self.made_volume(
            volume_type=self.make_type(multiattach='<is> True')
        )
        self.assertEqual(set(), self.features_of(shared) & _MAP)
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, shared)
        self.assertLessEqual(_MAP, self.features_of(clone))

    def test_a_full_copy_of_a_multiattach_type(self) -> None:
        """The exclusive lock is off; the stock driver leaves it on."""
        self.override_backend(self.driver, 'rbd_max_clone_depth', 0)
        source = self.made_volume()
        copy = self.new_volume(
            volume_type=self.make_type(multiattach='<is> True')
        )
        update = self.driver.create_cloned_volume(copy, source)
        self.assertIn('saved_features', update['provider_location'])
        self.assertEqual(set(), self.features_of(copy) & _MAP)


class ManageTest(base.DriverTestCase):
    """A managed image is recorded as it is."""

    def setUp(self) -> None:
        super().setUp()
        rbd.RBD().create(
            self.cluster.ioctx(),
            'found',
            units.Gi,
            order=21,
            features=feature_bits.LAYERING | feature_bits.LOCK,
            stripe_unit=65536,
            stripe_count=4,
        )

    def _manage(self, volume: Any) -> None:
        self.driver.manage_existing(volume, {'source-name': 'found'})

    def test_name_that_is_no_text_is_an_invalid_reference(self) -> None:
        """librbd's Python binding would end the process."""
        for name in ('\ud800', 5):
            self.assertRaises(
                exception.ManageExistingInvalidReference,
                self.driver.manage_existing_get_size,
                self.new_volume(),
                {'source-name': name},
            )

    def test_what_is_there_is_recorded(self) -> None:
        volume = self.new_volume()
        self._manage(volume)
        self.assertEqual(
            {
                keys.OBJECT_SIZE: '2097152',
                keys.STRIPE_UNIT: '65536',
                keys.STRIPE_COUNT: '4',
                keys.FEATURES: 'exclusive-lock,layering,striping',
            },
            {
                k: v
                for k, v in self.recorded(volume).items()
                if k in registry.OPTIONS
            },
        )

    def test_what_agrees_is_taken(self) -> None:
        self._manage(
            self.new_volume(
                {
                    keys.OBJECT_SIZE: '2M',
                    keys.STRIPE_UNIT: '64K',
                    keys.STRIPE_COUNT: '4',
                    keys.OBJECT_MAP: 'false',
                }
            )
        )

    def test_what_contradicts_is_refused(self) -> None:
        for metadata in (
            {keys.OBJECT_SIZE: '4M'},
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'},
            {keys.OBJECT_MAP: 'true'},
            {keys.FEATURES: 'layering'},
        ):
            error = self.assertRaises(
                exception.ManageExistingVolumeTypeMismatch,
                self._manage,
                self.new_volume(metadata),
            )
            self.assertIn('differs from the image', str(error))
            self.assertEqual(['found'], self.cluster.names())

    @testtools.skipUnless(
        hasattr(stock.RBDDriver, '_is_valid_type'),
        'this Cinder sets up no volume that it manages',
    )
    def test_a_failure_gives_the_name_back(self) -> None:
        replicated = self.make_type(replication_enabled='<is> True')
        # Setting up fails: mirroring is not enabled on this pool.
        self.assertRaises(
            exception.ReplicationError,
            self._manage,
            self.new_volume(volume_type=replicated),
        )
        self.assertEqual(['found'], self.cluster.names())


class ManageableTest(base.DriverTestCase):
    """The lists of what can be managed are those of the stock driver."""

    def _listed(self, made: Any, method: str, managed: Any) -> Any:
        return getattr(made, method)(
            [managed], None, 1000, 0, ['size'], ['asc']
        )

    def test_as_the_stock_driver(self) -> None:
        managed = self.made_volume()
        snapshot = self.new_snapshot(managed)
        for name in ('free', 'used', 'kept.deleted'):
            self.rbd('create', '--size', '2G', f'volumes/{name}')
        self.rbd('snap', 'create', 'volumes/free@point')
        stock_driver = self.make_driver(stock.RBDDriver)
        with self.cluster.image('used'):
            # One open for each image of the pool, and a second one for each
            # that can be a volume.
            for method, each, opens in (
                ('get_manageable_volumes', managed, 7),
                ('get_manageable_snapshots', snapshot, 4),
            ):
                expected = self._listed(stock_driver, method, each)
                with counts.counting(self.driver) as counted:
                    listed = self._listed(self.driver, method, each)
                self.assertCountEqual(expected, listed)
                self.assertEqual((opens, 0), (counted.opens, counted.commands))
                self.assertEqual({True, False}, _safe(listed))

    def test_image_of_a_migrated_volume_is_already_managed(self) -> None:
        """Its name has the id of a volume that Cinder does not have."""
        other, volume = self.made_volume(), self.new_volume()
        db.volume_update(self.admin, volume.id, {'_name_id': other.id})
        other.destroy()
        self.assertRaises(
            exception.ManageExistingAlreadyManaged,
            self.driver.manage_existing,
            self.new_volume(),
            {'source-name': other.name},
        )
        self.assertEqual([other.name], self.cluster.names())

    def test_snapshot_of_cinder_is_not_managed_again(self) -> None:
        snapshot = self.new_snapshot(self.made_volume())
        second = self.new_snapshot(snapshot.volume)
        self.driver.delete_snapshot(second)
        for reference in ({'source-name': snapshot.name}, snapshot.name):
            self.assertRaises(
                exception.ManageExistingInvalidReference,
                self.driver.manage_existing_snapshot,
                second,
                reference,
            )
        # Cinder no longer has this one.
        snapshot.destroy()
        reference = {'source-name': snapshot.name}
        self.driver.manage_existing_snapshot(second, reference)
        with self.cluster.image(second.volume_name) as image:
            names = [each['name'] for each in image.list_snaps()]
        self.assertEqual([second.name], names)

    def test_list_of_manageable_volumes_gives_reasons(self) -> None:
        self.rbd('create', '--size', '1G', 'volumes/one')
        volume = self.new_volume()
        list_volumes = functools.partial(
            self._listed, self.driver, 'get_manageable_volumes', volume
        )
        with self.cluster.image('one'):
            (entry,) = list_volumes()
        self.assertEqual('volume in use', entry['reason_not_safe'])
        (entry,) = list_volumes()
        self.assertTrue(entry['safe_to_manage'])


def _safe(listed: Any) -> set[bool]:
    return {each['safe_to_manage'] for each in listed}


class RevertTest(base.DriverTestCase):
    """Reverting to a snapshot keeps the layout and the features."""

    def test_layout_and_features_are_kept(self) -> None:
        volume = self.made_volume(base.ASKED)
        snapshot = self.new_snapshot(volume)
        with self.cluster.image(volume.name) as image:
            image.write(b'after', 0)
        self.driver.revert_to_snapshot(self.context, volume, snapshot)
        self.assertEqual(base.MADE, self.layout_of(volume))
        self.assertEqual(0, self.flags_of(volume))
        with self.cluster.image(volume.name) as image:
            self.assertEqual(b'\0' * 5, image.read(0, 5))

    def test_image_that_a_server_has_open_is_not_reverted(self) -> None:
        """Administrators reset the status of volumes that are attached."""
        self.useFixture(
            fixtures.MonkeyPatch(f'{open_image.__name__}.WATCHED_FOR', 1.0)
        )
        volume = self.made_volume()
        snapshot = self.new_snapshot(volume)
        with self.cluster.image(volume.name) as image:
            image.write(b'after', 0)
        # A server that reads only does not have librbd's exclusive lock.
        with self.cluster.image(volume.name) as image:
            self.check_not_reverted(locks.VolumeLocked, volume, snapshot)
            self.assertEqual(b'after', image.read(0, 5))

    def test_revert_waits_for_the_watch_of_a_killed_client(self) -> None:
        volume = self.made_volume()
        snapshot = self.new_snapshot(volume)
        opened = self.cluster.image(volume.name)
        opened.write(b'after', 0)
        timer = threading.Timer(1, opened.close)
        timer.start()
        self.addCleanup(timer.join)
        self.driver.revert_to_snapshot(self.context, volume, snapshot)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(b'\0' * 5, image.read(0, 5))

    def test_image_in_a_live_migration_is_not_reverted(self) -> None:
        """librbd would keep the data that it has not copied yet."""
        volume = self.made_volume()
        snapshot = self.new_snapshot(volume)
        with self.cluster.image(volume.name) as image:
            image.write(b'after', 0)
        path = f'volumes/{volume.name}'
        self.rbd('migration', 'prepare', path, path)
        self.check_not_reverted(exceptions.ImageMigrating, volume, snapshot)
        self.rbd('migration', 'execute', path)
        self.rbd('migration', 'commit', path)
        self.driver.revert_to_snapshot(self.context, volume, snapshot)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(b'\0' * 5, image.read(0, 5))


class ReimageTest(base.DriverTestCase):
    """A re-image from a snapshot, whose data Cinder's manager copies."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(f'{open_image.__name__}.WATCHED_FOR', 1.0)
        )
        self.useFixture(
            fixtures.MockPatchObject(
                volume_utils, 'brick_get_connector_properties', lambda *_: {}
            )
        )
        self.useFixture(
            fixtures.MockPatchObject(
                rpcapi.VolumeAPI, 'get_capabilities', lambda *_: {}
            )
        )
        # os-brick reads it in /etc/ceph.
        key = self.cluster.daemons.command('auth', 'get', 'client.admin')
        self.useFixture(
            fixtures.MockPatchObject(
                connector.RBDConnector,
                '_check_or_get_keyring_contents',
                lambda *_: key,
            )
        )
        source = self.made_volume()
        with self.cluster.image(source.name) as image:
            image.write(b'after', 0)
        self.snapshot = self.new_snapshot(source)
        self.volume = self.made_volume(status='downloading')
        with self.cluster.image(self.volume.name) as image:
            image.write(b'first', 0)

    def reimage(self) -> None:
        """Do what the manager does for a Glance image with a snapshot."""
        service = manager.VolumeManager.__new__(manager.VolumeManager)
        service.driver, service.db = self.driver, db
        service.configuration = self.driver.configuration
        service._revert_to_snapshot_generic(
            self.context, self.volume, self.snapshot
        )

    def data(self) -> bytes:
        with self.cluster.image(self.volume.name, read_only=True) as image:
            return bytes(image.read(0, 5))

    def test_unused_volume_gets_the_data_of_the_snapshot(self) -> None:
        self.reimage()
        self.assertEqual(b'after', self.data())

    def test_data_of_an_image_that_a_server_has_open_are_kept(self) -> None:
        with self.cluster.image(self.volume.name):
            self.assertRaises(locks.VolumeLocked, self.reimage)
        self.assertEqual(b'first', self.data())
        self.assertEqual(2, len(self.cluster.names()))


class CutShortTest(base.DriverTestCase):
    """After a kill, the volume can still be deleted."""

    def test_between_snapshot_and_clone(self) -> None:
        source = self.made_volume(base.ASKED)
        clone = self.new_volume(source_volid=source.id)
        with self.cluster.image(source.name) as image:
            image.create_snap(f'{clone.name}.clone_snap')
            image.protect_snap(f'{clone.name}.clone_snap')
        self.driver.delete_volume(clone)
        with self.cluster.image(source.name) as image:
            self.assertEqual([], list(image.list_snaps()))
        self.driver.delete_volume(source)
        self.assertEqual([], self.cluster.names())

    def test_after_the_clone(self) -> None:
        source = self.made_volume(base.ASKED)
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.driver.delete_volume(clone)
        self.assertNotIn(clone.name, self.cluster.names())
