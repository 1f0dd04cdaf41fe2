# SPDX-License-Identifier: Apache-2.0

import functools
from typing import Any

from cinder import context
from cinder import exception
from cinder.db import api as db
import ddt
import fixtures

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext import policies
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import advisory_locks
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests import feature_bits
from tests.fakes import fake_images
from tests.functional.cinder_rbd_ext import creation_behaviour
from tests.functional.cinder_rbd_ext import creation_paths
from tests.unit import recorded
from tests.unit.cinder_rbd_ext import base


class FakeCreationTest(
    creation_behaviour.CreationBehaviour, base.DriverTestCase
):
    """What the functional tests run on Ceph."""

    data_pool = 'data'

    def check_content(self, path: creation_paths.Path) -> None:
        """Check nothing: the fake cluster does not copy the content."""

    def size_of(self, volume: Any) -> int:
        return int(self.cluster.stored(volume.name).size)


@ddt.ddt
class EveryWayTest(base.DriverTestCase):
    """Tests that apply to each creation path."""

    def test_policy_of_a_key_holds_without_the_extension(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(
                policies, 'settable', autospec=True, return_value=frozenset()
            )
        )
        volume = self.new_volume({keys.OBJECT_SIZE: '1M'})
        volume._context = context.RequestContext(
            'user', volume.project_id, is_admin=False, roles=['member']
        )
        error = self.raised(self.driver.create_volume, volume)
        self.assertIn('tenants may not set this key', str(error))
        self.assertEqual([], self.cluster.names())

    @ddt.data(
        *(
            p
            for p in creation_paths.ALL
            if p is not creation_paths.ImportGlanceImage
        )
    )
    def test_invalid_key_is_refused_before_anything_is_made(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self, metadata={keys.OBJECT_SIZE: '3M'})
        before = self.cluster.names()
        commands = len(self.commands.ran)
        taken: list[str] = []
        self._patch(
            'tests.fakes.fake_handle.Image.create_snap',
            lambda image, name: taken.append(name),
        )
        error = self.raised(path.make)
        self.assertIsInstance(error, exceptions.VolumeOptionRefused)
        text = (
            "rbd:object_size = '3M' (volume metadata): not a power of two; "
            'allowed: a power of two from 4 KiB to 32 MiB'
        )
        self.assertIn(text, str(error))
        self.assertEqual(text, self._reason(path.volume))
        self.assertIn(text, self.log.output)
        self.assertEqual(before, self.cluster.names())
        self.assertEqual([], taken)
        self.assertEqual(commands, len(self.commands.ran))

    def _reason(self, volume: Any) -> str | None:
        admin = context.get_admin_context()
        return recorded.refused(
            db.volume_admin_metadata_get(admin, volume.id), 'creation'
        )

    @ddt.data(
        (creation_paths.CloneVolume, 'Image.create_snap'),
        (creation_paths.FullCopy, 'Image.copy'),
    )
    @ddt.unpack
    def test_refused_before_the_source_is_touched(
        self, way: type[creation_paths.CloneVolume], first_step: str
    ) -> None:
        path = way(
            self, metadata={keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}
        )
        self.cluster.fail(first_step, fake_images.OSError('reached'))
        error = self.raised(path.make)
        self.assertIsInstance(error, exceptions.VolumeOptionRefused)
        self.assertIn('not a multiple', str(error))
        self.assertEqual({first_step}, self.cluster.faults_left)
        self.cluster.forgive()

    def test_policy_is_checked_if_requested_values_are_inherited(self) -> None:
        checked = self.mock_object(
            policies,
            'settable_by_creator',
            autospec=True,
            return_value=frozenset(),
        )
        for way in (
            creation_paths.Create,
            creation_paths.CloneFromSnapshot,
            creation_paths.CloneGlanceImage,
        ):
            way(self).make()
        checked.assert_not_called()
        source = self.made_volume(
            volume_type=self.make_type(rbd_object_size='1M')
        )
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        checked.assert_called_once()

    def test_pool_that_is_not_there(self) -> None:
        path = creation_paths.Create(
            self, volume_type=self.make_type(rbd_data_pool='nowhere')
        )
        error = self.raised(path.make)
        self.assertIn("rbd:data_pool = 'nowhere' (volume type)", str(error))
        self.assertIn(
            'the pool does not exist', self._reason(path.volume) or ''
        )


class ImportTest(base.DriverTestCase):
    """Tests for the command that imports an image from a file."""

    def _imported(self, path: creation_paths.Path) -> tuple[str, ...]:
        path.make()
        (command,) = self.commands.imports()
        return command

    def test_nothing_asked(self) -> None:
        command = self._imported(creation_paths.CreateEncrypted(self))
        self.assertIn('--order', command)
        for word in ('--object-size', '--image-feature', '--data-pool'):
            self.assertNotIn(word, command)

    def test_default_striping_of_the_pool(self) -> None:
        """Ceph's striping applies if only an object size is requested."""
        config = self.cluster.pools['volumes'].config
        config['rbd_default_stripe_unit'] = '65536'
        config['rbd_default_stripe_count'] = '4'
        path = creation_paths.CreateEncrypted(
            self, metadata={keys.OBJECT_SIZE: '1M'}
        )
        self._imported(path)
        self.assertEqual((20, 65536, 4), self.layout_of(path.volume.name))

    def test_map_over_the_default_features(self) -> None:
        self.cluster.config['rbd_default_features'] = str(
            feature_bits.LAYERING | feature_bits.DEEP_FLATTEN
        )
        path = creation_paths.CreateEncrypted(
            self, metadata={keys.OBJECT_MAP: 'true'}
        )
        self._imported(path)
        self.assertEqual(
            feature_bits.DEFAULT, self.cluster.stored(path.volume.name).mask
        )

    def test_second_try_succeeds(self) -> None:
        self.override_backend('num_shell_tries', 2)
        self._patch('time.sleep', lambda seconds: None)
        path = creation_paths.ImportGlanceImage(self)
        self.cluster.fail('rbd import', fake_images.OSError('once'))
        path.make()
        self.assertEqual(2, len(self.commands.imports()))
        self.assertIn(path.volume.name, self.cluster.names())

    def test_second_try_succeeds_and_then_something_fails(self) -> None:
        """The cause is the later failure, not that of the first attempt."""
        self.override_backend('num_shell_tries', 2)
        self._patch('time.sleep', lambda seconds: None)
        path = creation_paths.ImportGlanceImage(self)
        fault = fake_images.OSError('made to fail')
        self.cluster.fail('rbd import', fake_images.OSError('once'))
        self.cluster.fail('Image.resize', fault)
        self.assertIs(fault, self.cause(path.make))
        self.assertEqual([], self.cluster.names())

    def test_second_try_finds_no_part_of_the_first(self) -> None:
        self.override_backend('num_shell_tries', 2)
        self._patch('time.sleep', lambda seconds: None)
        path = creation_paths.ImportGlanceImage(self)
        self.cluster.fail('rbd import half-way', fake_images.OSError('first'))
        path.make()
        self.assertEqual(2, len(self.commands.imports()))
        self.assertIn(path.volume.name, self.cluster.names())

    def test_command_that_is_not_there(self) -> None:
        path = creation_paths.CreateEncrypted(self)
        missing = FileNotFoundError(2, 'rbd')

        def run(*command: Any, **kwargs: Any) -> Any:
            if command[:2] == ('rbd', 'import'):
                raise missing
            return self.commands(*command, **kwargs)

        self.driver._execute = functools.partial(
            self.driver._maker.execute, run
        )
        self.assertIs(missing, self.cause(path.make))

    def test_other_commands_pass_as_they_are(self) -> None:
        self.driver._execute('rbd', 'export', 'volume-1', '/tmp/x')
        self.assertEqual(
            ('rbd', 'export', 'volume-1', '/tmp/x'), self.commands.ran[-1]
        )


class ReimageTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume(base.ASKED)
        self.glance_download()
        self.converted: list[str] = []
        self._patch(
            'cinder.image.image_utils.convert_image',
            lambda source, target, *args, **kwargs: self.converted.append(
                target
            ),
        )

    def reimage(self) -> None:
        self.driver.copy_image_to_volume(
            self.context, self.volume, None, 'image', disable_sparse=True
        )
        kept = releases.REIMAGE_KEEPS_IMAGE
        self.assertEqual(1 if kept else 0, len(self.converted))
        self.assertEqual(0 if kept else 1, len(self.commands.imports()))

    def test_image_stays_as_it_is(self) -> None:
        """Reimaging keeps the layout that was fixed at creation."""
        self.volume.metadata = {keys.OBJECT_SIZE: '3M'}
        self.reimage()
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_entries_of_an_operator_stay_and_are_not_recorded(self) -> None:
        """The record has those that the driver has set, which it removes."""
        entry = {'conf_rbd_qos_iops_limit': '9'}
        self.cluster.stored(self.volume.name).metadata.update(entry)
        self.reimage()
        stored = self.cluster.stored(self.volume.name)
        self.assertLessEqual(entry.items(), stored.metadata.items())
        self.assertNotIn('rbd:iops_limit', self.recorded(self.volume))

    def test_reimage_accepts_no_values(self) -> None:
        self.volume.metadata = {keys.CACHE_MODE: 'none'}
        self.reimage()
        self.assertEqual(
            {}, volume_items.values_accepted(self.recorded(self.volume))
        )

    def test_source_it_was_made_from_has_no_say(self) -> None:
        """Without a request, the layout is that of the previous image."""
        self.volume.metadata = {}
        self.reimage()
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_one_that_would_lose_snapshots_is_refused(self) -> None:
        snapshot = self.new_snapshot(self.volume)
        if releases.REIMAGE_KEEPS_IMAGE:
            self.reimage()
            self._patch('cinder_rbd_ext.releases.REIMAGE_KEEPS_IMAGE', False)
        error = self.assertRaises(exception.InvalidVolume, self.reimage)
        self.assertIn('has snapshots', str(error))
        self.assertEqual([snapshot.name], self.snapshots_of(self.volume.name))

    def test_one_of_a_volume_that_is_migrated_is_refused(self) -> None:
        for changes in (
            {
                'migration_status': 'migrating',
                'previous_status': 'available',
                'status': 'downloading',
            },
            {'migration_status': None, 'host': 'elsewhere@ceph#ceph'},
        ):
            self.driver.host = 'test_host'
            db.volume_update(self.admin, self.volume.id, changes)
            self.assertRaises(locks.VolumeLocked, self.reimage)
        self.assertEqual([], self.converted)
        self.assertEqual([], self.commands.imports())

    def test_snapshots_can_be_used_during_the_download(self) -> None:
        if not releases.REIMAGE_KEEPS_IMAGE:
            self.skipTest('the volume has no snapshots')
        held: list[list[advisory_locks.Kind]] = []
        self._patch(
            'cinder.image.image_utils.convert_image',
            lambda *args, **kwargs: held.append(
                [lock.kind for lock in locks._mine.get().values()]
            ),
        )
        self.driver.copy_image_to_volume(
            self.context, self.volume, None, 'image', disable_sparse=True
        )
        self.assertEqual([[advisory_locks.Kind.SHARED]], held)

    def test_after_one_that_was_cut_short(self) -> None:
        if releases.REIMAGE_KEEPS_IMAGE:
            self.skipTest('the image is never away')
        self.driver.delete_volume(self.volume)
        self.reimage()
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))


class NotClonedTest(base.DriverTestCase):
    def test_glance_image_elsewhere(self) -> None:
        """A Glance image elsewhere is not cloned, and nothing is recorded."""
        volume = self.new_volume(base.ASKED)
        self.assertEqual(
            ({}, False),
            self.driver.clone_image(
                self.context,
                volume,
                ('file:///tmp/x', None),
                {'disk_format': 'raw'},
                None,
            ),
        )
        self.assertEqual({}, self.recorded(volume))


class MigrateTest(base.DriverTestCase):
    def _host(self, pool: str, **capabilities: Any) -> dict[str, Any]:
        location = f'ceph::{self.cluster.fsid}:cinder:{pool}'
        return {
            'host': 'there@ceph2#ceph2',
            'capabilities': {
                'storage_protocol': 'ceph',
                'location_info': location,
                'rbd_volume_options': True,
                **capabilities,
            },
        }

    def test_not_moved(self) -> None:
        volume = self.made_volume(base.ASKED)
        before = self.recorded(volume)
        host = self._host('volumes')
        host['capabilities']['storage_protocol'] = 'iSCSI'
        self.assertEqual(
            (False, None),
            self.driver.migrate_volume(self.context, volume, host),
        )
        self.assertEqual(before, self.recorded(volume))

    def test_same_pool(self) -> None:
        volume = self.made_volume(base.ASKED)
        before = self.recorded(volume)
        self.assertEqual(
            (True, None),
            self.driver.migrate_volume(
                self.context, volume, self._host('volumes')
            ),
        )
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual(
            {**before, 'rbd:recorded_by': 'there@ceph2'},
            self.recorded(volume),
        )


class SetupTest(base.DriverTestCase):
    def test_without_a_creation(self) -> None:
        """Set up a volume without creating an image, as in a retype."""
        volume = self.made_volume()
        fault = fake_images.OSError('made to fail')
        self.cluster.fail('Image.update_features', fault)
        shared = self.make_type(multiattach='<is> True')
        self.assertIs(
            fault, self.raised(self.driver._setup_volume, volume, shared)
        )
        self.driver._setup_volume(volume, shared)
        self.assertEqual(
            feature_bits.LAYERING | feature_bits.DEEP_FLATTEN,
            self.cluster.stored(volume.name).mask,
        )
