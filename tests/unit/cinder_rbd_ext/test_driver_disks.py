# SPDX-License-Identifier: Apache-2.0

"""Properties of a volume's disk, which depend on its data."""

import functools
from typing import Any

from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import utils as cinder_utils
from cinder.volume import driver as cinder_driver
from cinder.volume.drivers import rbd as stock_rbd
import ddt

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import commit
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import creation_paths
from tests.unit.cinder_rbd_ext import base

_KEY = keys.SECTOR_SIZE
_GEOMETRY = 'disk_geometry'
_CONNECTOR = {'host': 'compute-1'}
_CAN_DO_ALL = {
    'modes': ['none'],
    'keys': [keys.DETECT_ZEROES, keys.DISCARD_GRANULARITY],
}
_LARGE = ('4096', '4096')
_EMULATED = ('512', '4096')
_OTHERS = (None, None)

#: Ways of creation whose source is no volume.
_WITHOUT_SOURCE = (
    creation_paths.Create,
    creation_paths.CreateEncrypted,
    creation_paths.CloneGlanceImage,
    creation_paths.ImportGlanceImage,
)


@ddt.ddt
class SectorSizeTest(base.DriverTestCase):
    def sectors(self, volume: Any) -> tuple[Any, Any]:
        """Return logical and physical block size of a connection."""
        data = self.driver.initialize_connection(volume, _CONNECTOR)['data']
        return data.get('logical_block_size'), data.get('physical_block_size')

    @ddt.data(*_WITHOUT_SOURCE)
    def test_each_way_of_creation_records_the_request(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self, metadata={_KEY: '512e'})
        path.make()
        self.assertEqual('512e', self.recorded(path.volume)[_KEY])
        self.assertEqual(_EMULATED, self.sectors(path.volume))

    @ddt.data(
        creation_paths.CloneFromSnapshot,
        creation_paths.CloneAndFlattenSnapshot,
        creation_paths.CloneVolume,
        creation_paths.FullCopy,
    )
    def test_clone_has_sector_size_of_its_source_whatever_its_type(
        self, way: type[creation_paths.Path]
    ) -> None:
        made = self.made_volume
        for own, expected in (('4096', _LARGE), (None, _OTHERS)):
            metadata = {_KEY: own} if own else {}
            self.mock_object(
                self, 'made_volume', functools.partial(made, metadata)
            )
            path = way(self, volume_type=self.make_type(rbd_sector_size='512'))
            path.make()
            self.assertEqual(expected, self.sectors(path.volume))

    def test_clone_refuses_another_sector_size_than_its_source(self) -> None:
        for own in ({}, {_KEY: '512'}):
            source = self.made_volume(own)
            clone = self.new_volume({_KEY: '4096'}, source_volid=source.id)
            error = self.raised(
                self.driver.create_cloned_volume, clone, source
            )
            self.assertIn('differs from the source volume', str(error))
        clone = self.new_volume({_KEY: '512'}, source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)

    def test_changed_type_and_back_end_do_not_change_a_volume(self) -> None:
        kind = self.make_type(rbd_sector_size='4096')
        volume = self.made_volume(volume_type=kind)
        plain = self.made_volume()
        db.volume_type_extra_specs_update_or_create(
            self.admin, kind.id, {_KEY: '512'}
        )
        other = self.make_driver(rbd_volume_sector_size='512e')
        for each, expected in ((volume, _LARGE), (plain, _OTHERS)):
            stored = objects.Volume.get_by_id(self.admin, each.id)
            data = other.initialize_connection(stored, _CONNECTOR)['data']
            self.assertEqual(expected[0], data.get('logical_block_size'))

    def test_retype_keeps_the_sector_size(self) -> None:
        volume = self.made_volume({_KEY: '4096'})
        new_type = self.make_type(rbd_sector_size='512')
        with self.retyping(volume):
            done = self.driver.retype(self.admin, volume, new_type, {}, None)
        self.assertTrue(done[0] if isinstance(done, tuple) else done)
        volume.volume_type_id = new_type.id
        volume.save()
        self.assertEqual(_LARGE, self.sectors(volume))

    def test_target_of_a_migration_has_that_of_its_source(self) -> None:
        for own, expected in (('4096', '4096'), (None, None)):
            source = self.made_volume({_KEY: own} if own else {})
            target = self.new_volume(
                volume_type=self.make_type(rbd_sector_size='512'),
                migration_status=f'target:{source.id}',
            )
            self.driver.create_volume(target)
            self.assertEqual(expected, self.recorded(target).get(_KEY))

    def test_volume_that_is_used_since_the_request_is_not_copied(self) -> None:
        """Cinder would copy its data without Nova."""
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        self.driver.before_volume_copy(self.admin, volume, target)
        db.volume_update(self.admin, volume.id, {'status': 'in-use'})
        self.assertRaises(
            commit.CopyFailed,
            self.driver.before_volume_copy,
            *(self.admin, volume, target),
        )

    def test_volume_extended_since_the_request_is_not_copied(self) -> None:
        """The copy would have the size in the request."""
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        # Recovery took the request for lost, and it is received later.
        db.volume_update(self.admin, volume.id, {'size': volume.size + 1})
        error = self.assertRaises(
            commit.CopyFailed,
            self.driver.before_volume_copy,
            *(self.admin, volume, target),
        )
        self.assertIn('when its migration was requested', str(error))

    def test_volume_whose_migration_has_ended_is_not_copied(self) -> None:
        """Another service of the same host took it for interrupted."""
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        volume.migration_status = 'migrating'
        volume.save()
        self.driver.before_volume_copy(self.admin, volume, target)
        db.volume_update(self.admin, volume.id, {'migration_status': 'error'})
        for check in (
            self.driver.before_volume_copy,
            self.driver.after_volume_copy,
        ):
            error = self.assertRaises(
                commit.CopyFailed, check, self.admin, volume, target
            )
            self.assertIn('has ended', str(error))

    def test_volume_with_a_snapshot_is_not_copied(self) -> None:
        """Cinder would delete the former image, and its snapshots with it."""
        volume = self.made_volume()
        target = self.new_volume(migration_status=f'target:{volume.id}')
        copied = functools.partial(
            self.driver.before_volume_copy, self.admin, volume, target
        )
        # Recovery took the request for lost, and it is received later.
        snapshot = self.new_snapshot(volume)
        error = self.assertRaises(commit.CopyFailed, copied)
        self.assertIn('has snapshots', str(error))
        attached = cinder_utils.attach_volume(
            self.admin, volume, volume.id, 'compute', '/dev/vdb'
        )
        self.assertRaises(
            commit.CopyFailed,
            self.driver.before_volume_copy,
            *(self.admin, attached, target),
        )
        snapshot.destroy()
        self.driver.before_volume_copy(self.admin, attached, target)

    def test_data_of_4096_do_not_leave_the_driver(self) -> None:
        report = {'storage_protocol': 'iSCSI'}
        host = {'host': 'there@lvm#lvm', 'capabilities': report}
        for own, is_large in (('4096', True), ('512e', False), (None, False)):
            volume = self.made_volume({_KEY: own} if own else {})
            moved = functools.partial(
                self.driver.migrate_volume, self.admin, volume, host
            )
            target = self.new_volume(migration_status=f'target:{volume.id}')
            copied = functools.partial(
                self.driver.before_volume_copy, self.admin, volume, target
            )
            for leave in (moved, copied):
                if is_large:
                    error = self.assertRaises(
                        exceptions.VolumeOptionRefused, leave
                    )
                    self.assertIn(_KEY, str(error))
                else:
                    leave()
            # The target of a back end with this driver has the same disk.
            self.driver.create_volume(target)
            copied()

    def test_disk_geometry_is_recorded_at_creation(self) -> None:
        if _GEOMETRY not in {each.name for each in cinder_driver.volume_opts}:
            self.skipTest('Cinder has the option since 2026.1')
        self.driver = self.make_driver(disk_geometry='4k')
        volume = self.made_volume()
        self.assertEqual('4096', self.recorded(volume)[_KEY])
        self.driver = self.make_driver(disk_geometry='512')
        self.assertEqual(_LARGE, self.sectors(volume))

    def test_repeated_reimage_keeps_the_sector_size(self) -> None:
        self._patch('cinder_rbd_ext.releases.REIMAGE_KEEPS_IMAGE', False)
        volume = self.made_volume({_KEY: '512e'})
        self.driver.images.discard(volume.name)
        volume.metadata = {_KEY: '4096'}
        with self.driver._maker.filling(volume, has_data=True):
            stock_rbd.RBDDriver.create_volume(self.driver, volume)
        self.assertEqual('512e', self.recorded(volume)[_KEY])

    def test_edited_record_refuses_the_attachment(self) -> None:
        volume = self.made_volume({_KEY: '4096'})
        db.volume_admin_metadata_update(
            self.admin, volume.id, {_KEY: '8192'}, False
        )
        error = self.assertRaises(
            exceptions.AttachmentRefused, self.sectors, volume
        )
        self.assertIn("'8192'", str(error))

    def test_managed_image_has_what_its_administrator_says(self) -> None:
        kind = self.make_type(rbd_sector_size='512')
        for own, expected in (({_KEY: '4096'}, _LARGE), ({}, _OTHERS)):
            former = self.made_volume()
            volume = self.new_volume(own, volume_type=kind)
            self.driver.manage_existing(volume, {'source-name': former.name})
            self.assertEqual(expected, self.sectors(volume))

    def test_managed_image_of_a_type_with_4096_needs_the_key(self) -> None:
        large = self.make_type(rbd_sector_size='4096')
        former = self.made_volume()
        reference = {'source-name': former.name}
        unsaid = self.new_volume(volume_type=large)
        error = self.assertRaises(
            exception.ManageExistingVolumeTypeMismatch,
            self.driver.manage_existing,
            unsaid,
            reference,
        )
        self.assertIn(f"{_KEY} = '4096'", str(error))
        self.assertIn(former.name, self.cluster.names())
        said = self.new_volume({_KEY: '512'}, volume_type=large)
        self.driver.manage_existing(said, reference)
        self.assertEqual(('512', '512'), self.sectors(said))

    def test_bootable_volume_of_4096_needs_a_type_that_says_so(self) -> None:
        large = self.make_type(rbd_sector_size='4096')
        refused = creation_paths.CloneGlanceImage(self, volume_type=large)
        self.assertIn('cannot boot', str(self.raised(refused.make)))
        # The second volume is made from the same Glance image.
        self.mock_object(self, 'glance_image', return_value=refused.location)
        # Cinder downloads the image of an encrypted volume without a clone.
        filled = creation_paths.ImportGlanceImage(self, volume_type=large)
        refusing = functools.partial(
            self.driver.copy_image_to_volume,
            self.context,
            filled.volume,
            None,
            'image',
        )
        self.assertIn('cannot boot', str(self.raised(refusing)))
        boots = self.make_type(
            rbd_sector_size='4096', rbd_boot_from_4096='true'
        )
        path = creation_paths.CloneGlanceImage(self, volume_type=boots)
        path.make()
        self.assertEqual(_LARGE, self.sectors(path.volume))


class DiscardTest(base.DriverTestCase):
    def discard(self, volume: Any) -> Any:
        """Return whether a new connection of a volume accepts discards."""
        stored = objects.Volume.get_by_id(self.admin, volume.id)
        info = self.driver.initialize_connection(stored, _CONNECTOR)
        return info['data']['discard']

    def test_volume_before_type_before_back_end(self) -> None:
        refusing = self.make_type(rbd_discard='false')
        self.assertTrue(self.discard(self.made_volume()))
        self.assertFalse(self.discard(self.made_volume(volume_type=refusing)))
        chosen = {keys.DISCARD: 'true'}
        own = self.made_volume(chosen, volume_type=refusing)
        self.assertTrue(self.discard(own))
        self.driver = self.make_driver(rbd_volume_discard='off')
        self.assertFalse(self.discard(self.made_volume()))
        self.assertTrue(self.discard(own))

    def test_change_applies_to_the_next_connection(self) -> None:
        volume = self.made_volume({keys.DISCARD: 'false'})
        self.assertFalse(self.discard(volume))
        changed = {keys.DISCARD: 'true'}
        db.volume_metadata_update(self.admin, volume.id, changed, False)
        record.accepted(volume.id, changed)
        self.assertTrue(self.discard(volume))

    def test_what_tenants_may_not_set_is_ignored_and_logged(self) -> None:
        for of_type, values in (
            (True, ('false', 'perhaps')),
            (False, ('true', 'never')),
        ):
            volume = self.made_volume(
                volume_type=self.make_type(
                    rbd_tenant_options='', rbd_discard=str(of_type).lower()
                )
            )
            for value in values:
                changed = {keys.DISCARD: value}
                db.volume_metadata_update(
                    self.admin, volume.id, changed, False
                )
                self.assertEqual(of_type, self.discard(volume))
                self.assertIn(f"{keys.DISCARD} = '{value}'", self.log.output)

    def test_shared_volume_has_the_request_of_its_type(self) -> None:
        shared = self.make_type(multiattach='<is> True', rbd_discard='false')
        volume = self.made_volume(volume_type=shared, multiattach=True)
        self.assertFalse(self.discard(volume))


class DetectZeroesTest(base.DriverTestCase):
    def items(self, volume: Any, **connector: Any) -> dict[str, Any]:
        """Return the item of a new connection to a host, if it has one."""
        info = self.driver.initialize_connection(
            volume, {**_CONNECTOR, **connector}
        )
        return {k: v for k, v in info['data'].items() if 'zeroes' in k}

    def test_connection_has_the_value_on_a_host_with_the_plug_in(self) -> None:
        kind = self.make_type(rbd_detect_zeroes='on')
        for volume, expected in (
            (self.made_volume(), {}),
            (self.made_volume(volume_type=kind), {'detect_zeroes': 'on'}),
            (
                self.made_volume(
                    {keys.DETECT_ZEROES: 'off'}, volume_type=kind
                ),
                {'detect_zeroes': 'off'},
            ),
        ):
            items = self.items(volume, rbd_host=_CAN_DO_ALL)
            self.assertEqual(expected, items)

    def test_only_a_server_on_a_host_without_the_plug_in_is_refused(
        self,
    ) -> None:
        volume = self.made_volume({keys.DETECT_ZEROES: 'unmap'})
        self.assertEqual({}, self.items(volume))
        objects.VolumeAttachment(
            self.context,
            volume_id=volume.id,
            attach_status='reserved',
            instance_uuid='6d1a4b6c-7c0e-4d0e-9f3e-3a8a8a0f1d27',
        ).create()
        volume.status = 'reserved'
        volume.save()
        self.assertRaises(exceptions.AttachmentRefused, self.items, volume)
        self.driver = self.make_driver(rbd_cache_mode_enforcement='lenient')
        self.assertEqual({'detect_zeroes': 'unmap'}, self.items(volume))
        self.assertIn(f"{keys.DETECT_ZEROES} = 'unmap'", self.log.output)


class DiscardGranularityTest(base.DriverTestCase):
    def granularity(self, volume: Any, **connector: Any) -> Any:
        """Return the item of a new connection; None if it has none."""
        connector = {
            **_CONNECTOR,
            'rbd_host': _CAN_DO_ALL,
            **connector,
        }
        data = self.driver.initialize_connection(volume, connector)['data']
        return data.get('discard_granularity')

    def test_nothing_is_requested_by_default(self) -> None:
        self.assertIsNone(self.granularity(self.made_volume()))

    def test_size_of_the_layout_is_that_of_an_object_set(self) -> None:
        kind = self.make_type(rbd_discard_granularity='layout')
        striped = {
            keys.OBJECT_SIZE: '1M',
            keys.STRIPE_UNIT: '64K',
            keys.STRIPE_COUNT: '8',
        }
        for metadata, expected in (
            ({}, 4 << 20),
            (striped, 8 << 20),
            ({keys.DISCARD_GRANULARITY: '32K'}, 32768),
        ):
            volume = self.made_volume(metadata, volume_type=kind)
            self.assertEqual(expected, self.granularity(volume))

    def test_volume_without_a_record_has_none_of_its_layout(self) -> None:
        volume = self.made_volume({keys.DISCARD_GRANULARITY: 'layout'})
        record.forget(volume.id)
        self.assertIsNone(self.granularity(volume))
        self.assertIn('its image is not recorded', self.log.output)
