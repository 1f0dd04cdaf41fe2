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


"""Reasons why images cannot be converted."""

from typing import Any

from cinder_rbd_ext.conversion import obstacles
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base


class ObstaclesTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.stored = self.cluster.stored(self.volume.name)

    def _found(self) -> Any:
        with self.driver.images.opened(
            self.volume.name, read_only=True
        ) as image:
            return obstacles.of_image(image, self.driver.rbd)

    def test_none(self) -> None:
        self.new_snapshot(self.volume)
        self.assertIsNone(self._found())

    def test_migrating(self) -> None:
        self.stored.source = self.stored
        self.assertEqual(obstacles.MIGRATING, self._found())

    def test_group(self) -> None:
        self.stored.group = 'group'
        self.assertEqual(obstacles.GROUP, self._found())

    def test_mirrored(self) -> None:
        self.stored.mask |= fake_images.JOURNALING
        self.assertEqual(obstacles.MIRRORED, self._found())

    def test_clones(self) -> None:
        clone = self.new_volume()
        self.driver.create_cloned_volume(clone, self.volume)
        self.assertEqual(obstacles.CLONES, self._found())

    def test_deleted_snapshot(self) -> None:
        self.new_snapshot(self.volume)
        self.stored.snapshots[0].original_name = 'x'
        self.assertEqual(obstacles.SNAPSHOTS, self._found())
