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


"""Retypes that replace an image by a copy with another layout."""

from typing import Any

from cinder import objects
from cinder.volume.drivers import rbd as stock
from oslo_utils import units
import rbd

from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from rbd_volume_options import keys
from tests import rbd_content
from tests.functional.cinder_rbd_ext import base

_STRIPED = {
    'rbd_stripe_unit': '64K',
    'rbd_stripe_count': '8',
    'rbd_object_map': 'true',
}
_LAYOUT = {
    'object_size': 4 * units.Mi,
    'stripe_unit': 64 * units.Ki,
    'stripe_count': 8,
}
_PLAIN = {
    'object_size': 4 * units.Mi,
    'stripe_unit': 4 * units.Mi,
    'stripe_count': 1,
}


# MiB of an image. librbd copies one object after the other, empty ones too, so
# the tests shrink the images. A test on a cloud converts a whole volume.
_SIZE = 128


class RetypeTestCase(base.DriverTestCase):
    """Volumes with data, and their retype as Cinder's manager performs it."""

    def setUp(self) -> None:
        super().setUp()
        self.driver.host = 'fake_host'

    def filled_volume(self, **kwargs: Any) -> Any:
        """Return a volume with data and two snapshots."""
        volume = self.made_volume(**kwargs)
        with self.cluster.image(volume.name) as image:
            image.resize(_SIZE * units.Mi)
        self.write(volume, 3, 4)
        self.new_snapshot(volume)
        self.write(volume, 5, 4)
        self.write(volume, 70, 1)
        self.new_snapshot(volume)
        self.write(volume, 6, 1)
        self.write(volume, _SIZE - 1, 1)
        return volume

    def write(self, volume: Any, at: int, length: int) -> None:
        """Write data, in MiB."""
        with self.cluster.image(volume.name) as image:
            rbd_content.write(image, at, length)

    def sums(self, volume: Any) -> dict[str, str]:
        """Return the checksums of the head and of each snapshot."""
        with self.cluster.image(volume.name, read_only=True) as image:
            return rbd_content.sums(image)

    def retype(self, volume: Any, driver: Any = None, **specs: str) -> bool:
        """Retype a volume to a new type with these extra specs."""
        self.update(
            volume,
            {'status': 'retyping', 'previous_status': volume.status},
        )
        new_type = objects.VolumeType.get_by_id(
            self.admin, self.make_type(**specs)
        )
        with volume.obj_as_admin():
            done, update = (driver or self.driver).retype(
                self.context, volume, new_type, {}, None
            )
        if done:
            update = {**(update or {}), 'volume_type_id': new_type.id}
        self.update(
            volume, {**(update or {}), 'status': volume.previous_status}
        )
        # Cinder's manager then requests the statistics.
        (driver or self.driver)._recovery.recover_all()
        if done:
            # As Cinder would read it for the next request.
            volume.volume_type = new_type
            volume.obj_reset_changes(['volume_type'])
        return bool(done)

    def check_converted(self, volume: Any, sums: dict[str, str]) -> None:
        """Check a converted image; check that no other image is left."""
        self.assertEqual(_LAYOUT, self.layout_of(volume))
        self.assertEqual(sums, self.sums(volume))
        self.assertEqual(0, self.flags_of(volume))
        with self.cluster.image(volume.name) as image:
            for each in list(image.list_snaps()):
                self.assertTrue(image.is_protected_snap(each['name']))
                image.set_snap(each['name'])
                self.assertEqual(0, image.flags())
                image.set_snap(None)
        self.assertEqual([], self.trash())
        self.assertEqual('8', self.recorded(volume)[keys.STRIPE_COUNT])
        self.assertIn('object-map', self.recorded(volume)[keys.FEATURES])

    def trash(self) -> list[str]:
        """Return the names of the images in the trash."""
        return [
            each['name'] for each in rbd.RBD().trash_list(self.cluster.ioctx())
        ]


class CopyTest(RetypeTestCase):
    def test_layout_and_data_pool(self) -> None:
        """The stock driver created the volume."""
        volume = self.filled_volume(driver=self.make_driver(stock.RBDDriver))
        self.assertEqual({}, self.recorded(volume))
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_qos_iops_limit', '100')
        sums = self.sums(volume)
        self.assertEqual(3, len(set(sums.values())))
        pooled = {**_STRIPED, 'rbd_data_pool': 'volumes-data'}
        self.assertTrue(self.retype(volume, **pooled))
        self.check_converted(volume, sums)
        self.assertIn('data-pool', self.features_of(volume))
        with self.cluster.image(volume.name) as image:
            self.assertEqual(
                '100', image.metadata_get('conf_rbd_qos_iops_limit')
            )
        origins = self.recorded(volume)['rbd:origins']
        self.assertIn('striping=volume_type', origins)
        # Tenants may not request the layout on the next type.
        self.assertTrue(self.retype(volume, rbd_tenant_options=''))
        self.assertEqual(_PLAIN, self.layout_of(volume))
        self.assertNotIn('data-pool', self.features_of(volume))
        self.assertEqual(sums, self.sums(volume))
        for each in volume.snapshots:
            self.driver.delete_snapshot(each)
        self.driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())

    def test_clone(self) -> None:
        """A converted clone keeps its parent, which does not change."""
        source = self.filled_volume()
        clone = self.new_volume()
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        self.write(clone, 30, 1)
        sums = self.sums(clone), self.sums(source)
        self.assertTrue(self.retype(clone, **_STRIPED))
        self.check_converted(clone, sums[0])
        self.assertEqual(sums[1], self.sums(source))
        with self.cluster.image(clone.name) as image:
            self.assertEqual(source.name, image.parent_info()[1])
        self._refused(source, copies.CLONES)
        self.driver.delete_volume(clone)
        with self.cluster.image(source.name) as image:
            self.assertEqual(2, len(list(image.list_snaps())))

    def _refused(self, volume: Any, reason: str) -> None:
        with self.cluster.image(volume.name, read_only=True) as image:
            before = image.id()
        layout, sums = self.layout_of(volume), self.sums(volume)
        self.assertFalse(self.retype(volume, **_STRIPED))
        with self.cluster.image(volume.name, read_only=True) as image:
            self.assertEqual(before, image.id())
        self.assertEqual(layout, self.layout_of(volume))
        self.assertEqual(sums, self.sums(volume))
        self.assertEqual([], self.trash())
        recorded = self.recorded(volume)
        self.assertIsNone(marker.read(recorded))
        self.assertIn(reason, marker.refusal(recorded) or '')

    def test_refused(self) -> None:
        volume = self.filled_volume()
        with self.cluster.image(volume.name) as opened:
            # A client registers its watch with the first write.
            opened.write(b'x', 0)
            self._refused(volume, copies.IN_USE)
        self.update(volume, {'status': 'in-use'})
        self._refused(volume, copies.IN_USE)
        self.update(volume, {'status': 'available'})
        ioctx = self.cluster.ioctx()
        rbd.RBD().group_create(ioctx, 'group')
        self.addCleanup(rbd.RBD().group_remove, ioctx, 'group')
        rbd.Group(ioctx, 'group').add_image(ioctx, volume.name)
        self._refused(volume, copies.GROUP)
        rbd.Group(ioctx, 'group').remove_image(ioctx, volume.name)
        # The retype is possible later. It removes the reason.
        sums = self.sums(volume)
        self.assertTrue(self.retype(volume, **_STRIPED))
        self.check_converted(volume, sums)
        self.assertIsNone(marker.refusal(self.recorded(volume)))
