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


from typing import Any

from rbd_volume_options import layout
from rbd_volume_options import plan
from tests import feature_bits
from tests.unit.cinder_rbd_ext import librbd_case


class OpenImageTest(librbd_case.LibrbdTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.parent(order=20)
        self.image = self.module.Image(self.ioctx, 'parent')
        self.addCleanup(self.image.close)

    def test_size_is_checked_first(self) -> None:
        seen: list[Any] = []

        def check(image: Any, size: int) -> None:
            seen.append((image.size(), size))

        with self.module.checking_size('parent', check):
            self.image.resize(2 << 30)
        self.image.resize(3 << 30)
        self.assertEqual([(1 << 30, 2 << 30)], seen)
        self.assertEqual(3 << 30, self.cluster.stored('parent').size)

    def test_size_that_is_refused(self) -> None:
        def check(image: Any, size: int) -> None:
            raise ValueError('refused')

        with self.module.checking_size('parent', check):
            self.assertRaises(ValueError, self.image.resize, 2 << 30)
        self.assertEqual(1 << 30, self.cluster.stored('parent').size)

    def test_features_that_change_are_not_those_of_the_plan(self) -> None:
        state = plan.ImageState(layout.ImageLayout(1 << 20), frozenset())
        self.creation.state = state
        with self.creations.hold(self.creation):
            self.image.update_features(feature_bits.LOCK, True)
            self.assertIs(state, self.creation.state)
            self.fake.RBD().create(self.ioctx, 'new', 1, features=1)
            with self.module.Image(self.ioctx, 'new') as image:
                image.update_features(feature_bits.LOCK, True)
        self.assertIsNone(self.creation.state)

    def test_source_is_read_once(self) -> None:
        """The source is open when its snapshot for the clone is created."""
        with self.creations.hold(self.creation):
            self.image.create_snap('new.clone_snap')
            self.image.protect_snap('new.clone_snap')
            opened = len(self.cluster.open_images)
            self.cluster.fail('Image.size', self.fault)
            self.module.RBD().clone(
                self.ioctx,
                'parent',
                'new.clone_snap',
                self.ioctx,
                'new',
                features=feature_bits.DEFAULT,
            )
        self.cluster.forgive()
        self.assertEqual(opened, len(self.cluster.open_images))
        self.assertEqual(2, len(self.asked))
        self.assertEqual(librbd_case.NUMBERS, self.numbers('new'))
