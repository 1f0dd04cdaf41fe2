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

"""What is removed with a clone."""

from cinder_rbd_ext.lifecycle import deletion
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base


class DeleteTest(base.DriverTestCase):
    """What a kill between snapshot and clone has left."""

    def setUp(self) -> None:
        super().setUp()
        self.source = self.made_volume()
        self.clone = self.new_volume(source_volid=self.source.id)
        self.snapshot = f'{self.clone.name}.clone_snap'
        self._take(self.snapshot)

    def _take(self, name: str) -> None:
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, self.source.name) as image,
        ):
            image.create_snap(name)
            image.protect_snap(name)

    def test_removed(self) -> None:
        self._take('of-somebody')
        self.driver.delete_volume(self.clone)
        self.assertEqual(['of-somebody'], self.snapshots_of(self.source.name))

    def test_source_that_is_gone(self) -> None:
        del self.cluster.pools['volumes'].images[self.source.name]
        self.driver.delete_volume(self.clone)

    def test_clone_that_is_there(self) -> None:
        """Its snapshot goes, which the stock driver leaves."""
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().clone(
                ioctx, self.source.name, self.snapshot, ioctx, self.clone.name
            )
        self.driver.delete_volume(self.clone)
        self.assertEqual([self.source.name], self.cluster.names())
        self.assertEqual([], self.snapshots_of(self.source.name))

    def test_failure_is_logged(self) -> None:
        """The volume is gone; the next deletion tries again."""
        self.cluster.fail('Image.remove_snap', fake_images.OSError('broken'))
        self.driver.delete_volume(self.clone)
        self.assertIn('Could not clean up after', self.log.output)
        self.assertEqual([self.snapshot], self.snapshots_of(self.source.name))


class NameTest(base.DriverTestCase):
    def test_what_stock_kept(self) -> None:
        """Only volumes of Cinder's are looked at when the trash is purged."""
        volume = self.new_volume()
        for name, expected in (
            (f'{volume.name}.deleted', True),
            (volume.name, False),
            ('backup.deleted', False),
            (f'my-{volume.name}.deleted', False),
        ):
            self.assertIs(expected, deletion._is_deleted_volume(name))
