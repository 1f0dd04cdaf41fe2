# SPDX-License-Identifier: Apache-2.0

"""Replicated volume types with real mirroring, on one cluster."""

from typing import Any

from cinder import exception
from cinder import objects
from cinder.objects import fields
import ddt
import fixtures
import rbd

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext import record
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import marker
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths


@ddt.ddt
class ReplicationTest(base.DriverTestCase):
    """Layout and object map with mirroring."""

    def setUp(self) -> None:
        super().setUp()
        self.rbd('mirror', 'pool', 'enable', 'volumes', 'image')
        self.addCleanup(self._stop_mirroring)
        self.replicated = self.make_type(replication_enabled='<is> True')

    def _stop_mirroring(self) -> None:
        self.cluster.empty()
        self.rbd('mirror', 'pool', 'disable', 'volumes')

    def is_mirrored(self, volume: Any) -> bool:
        with self.cluster.image(volume.name, read_only=True) as image:
            state = image.mirror_image_get_info()['state']
        return bool(state == rbd.RBD_MIRROR_IMAGE_ENABLED)

    # A clone can be mirrored only if its parent is mirrored.
    @ddt.data(creation_paths.Create, creation_paths.FullCopy)
    def test_layout_and_map(
        self, path_class: type[creation_paths.Path]
    ) -> None:
        path = path_class(
            self, metadata=base.ASKED, volume_type=self.replicated
        )
        volume = path.volume
        self.update(volume, path.make())
        self.assertEqual(base.MADE, self.layout_of(volume))
        self.assertLessEqual(
            {'object-map', 'journaling'}, self.features_of(volume)
        )
        self.assertEqual(
            fields.ReplicationStatus.ENABLED, volume.replication_status
        )
        self.assertIn('journaling', self.recorded(volume)[keys.FEATURES])

    def test_watch_of_rbd_mirror_is_no_client(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(f'{open_image.__name__}.WATCHED_FOR', 1.0)
        )
        volume = self.made_volume(volume_type=self.replicated)
        snapshot = self.new_snapshot(volume)
        with self.cluster.image(volume.name) as opened:
            # rbd-mirror of the other cluster opens the image for writing.
            self.assertEqual(1, len(list(opened.watchers_list())))
            self.driver.revert_to_snapshot(self.context, volume, snapshot)
        with self.cluster.image(volume.name) as opened:
            opened.write(b'x', 0)
            self.check_not_reverted(locks.VolumeLocked, volume, snapshot)

    def test_retype_ends_the_replication(self) -> None:
        """librbd disables journaling before the stock driver does."""
        volume = self.made_volume(base.ASKED, self.replicated)
        plain = objects.VolumeType.get_by_id(self.admin, self.make_type())
        with self.retyping(volume):
            moved, update = self.driver.retype(
                self.context, volume, plain, {}, None
            )
        self.assertTrue(moved)
        self.assertEqual(
            fields.ReplicationStatus.DISABLED, update['replication_status']
        )
        self.assertNotIn('journaling', self.features_of(volume))
        self.assertFalse(self.is_mirrored(volume))

    def test_interrupted_retype_leaves_the_volume_mirrored(self) -> None:
        """Cinder's record says that it is."""
        self.driver.host = 'test_host'
        volume = self.made_volume(base.ASKED, self.replicated)
        features, data = (
            self.features_of(volume),
            volume.replication_driver_data,
        )
        self.update(
            volume, {'status': 'retyping', 'previous_status': 'available'}
        )
        mark = marker.Marker(
            'image', self.driver.host, 'killed', self.make_type()
        )
        marker.write(volume.id, mark)
        with self.cluster.image(volume.name) as image:
            image.mirror_image_disable(False)
        self.driver._recovery.recover_all()
        volume = record.stored_volume(volume.id)
        self.assertEqual('available', volume.status)
        self.assertEqual(self.replicated, volume.volume_type_id)
        self.assertEqual(data, volume.replication_driver_data)
        self.assertEqual(features, self.features_of(volume))
        self.assertTrue(self.is_mirrored(volume))

    def test_journaling_is_not_passed_on(self) -> None:
        source = self.made_volume(base.ASKED, self.replicated)
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, source)
        self.assertNotIn('journaling', self.features_of(clone))
        self.assertIn('object-map', self.features_of(clone))

    def test_journaling_of_an_operator_is_not_passed_on(self) -> None:
        """The stock driver gives clones the features of its client."""
        source = self.made_volume(base.ASKED)
        self.rbd('feature', 'enable', f'volumes/{source.name}', 'journaling')
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, source)
        self.assertNotIn('journaling', self.features_of(clone))

    def test_a_set_of_features_without_journaling(self) -> None:
        volume = self.new_volume(
            {keys.FEATURES: 'layering,exclusive-lock'}, self.replicated
        )
        error = self.assertRaises(
            exceptions.VolumeOptionRefused, self.driver.create_volume, volume
        )
        self.assertIn('requires journaling', str(error))
        self.assertEqual([], self.cluster.names())


class FailedReplicationTest(base.DriverTestCase):
    """Failed replication: mirroring is not enabled on the pool."""

    def test_nothing_is_left(self) -> None:
        replicated = self.make_type(replication_enabled='<is> True')
        source = self.made_volume()
        for make in (
            self.driver.create_volume,
            lambda v: self.driver.create_cloned_volume(v, source),
        ):
            volume = self.new_volume(base.ASKED, replicated)
            error = self.assertRaises(exception.ReplicationError, make, volume)
            self.assertIn('replication', str(error))
            self.assertEqual([source.name], self.cluster.names())
            with self.cluster.image(source.name) as image:
                self.assertEqual([], list(image.list_snaps()))


class ImageCacheTest(base.DriverTestCase):
    """Cinder's image-volume cache."""

    def test_an_entry_passes_no_layout_on(self) -> None:
        self.override_config('cinder_internal_tenant_project_id', 'internal')
        metadata = {**base.ASKED, keys.OBJECT_MAP: 'false'}
        entry = self.made_volume(metadata)
        entry.project_id = 'internal'
        entry.save()
        volume = self.new_volume()
        self.driver.create_cloned_volume(volume, entry)
        plain = self.made_volume()
        self.assertEqual(self.layout_of(plain), self.layout_of(volume))
        self.assertEqual(self.features_of(plain), self.features_of(volume))
        other = self.new_volume(base.ASKED)
        self.driver.create_cloned_volume(other, entry)
        self.assertEqual(base.MADE, self.layout_of(other))
