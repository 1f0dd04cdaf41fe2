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

import fixtures

from cinder_rbd_ext.imaging import creations
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import librbd_case


class CloseImagesTest(librbd_case.LibrbdTestCase):
    """An image that outlives its connection blocks the process."""

    def setUp(self) -> None:
        super().setUp()
        self.parent()
        self.other = self.client.open_ioctx('volumes')

    def test_those_of_one_context(self) -> None:
        kept = self.module.Image(self.other, 'parent')
        left = self.module.Image(self.ioctx, 'parent')
        self.module.close_images(self.ioctx)
        self.assertRaises(self.fake.InvalidArgument, left.size)
        self.assertEqual(1 << 30, kept.size())

    def test_closing_without_open_images_does_nothing(self) -> None:
        with self.module.Image(self.ioctx, 'parent'):
            pass
        self.module.close_images(self.ioctx)
        self.module.close_images(self.ioctx)

    def test_one_that_fails_leaves_the_others(self) -> None:
        images = [self.module.Image(self.ioctx, 'parent') for _ in range(3)]
        self.cluster.fail('Image.close', self.fault)
        self.module.close_images(self.ioctx)
        self.assertEqual(1, len(self.cluster.open_images))
        self.assertIn('made to fail', self.log.output)
        self.assertEqual(3, len(images))


class CleanUpTest(librbd_case.LibrbdTestCase):
    """The stock clean-up is skipped after an image creation failed."""

    def setUp(self) -> None:
        super().setUp()
        self.fake.RBD().create(self.ioctx, 'new', 7)
        self.fake.RBD().create(self.ioctx, 'source', 7)
        self.snapshot = 'new.clone_snap'
        self.useFixture(_Held(self.creations, self.creation))

    def _source(self) -> Any:
        return self.module.Image(self.ioctx, 'source')

    def _snapshots(self) -> dict[str, bool]:
        stored = self.cluster.stored('source')
        return {s.name: s.protected for s in stored.snapshots}

    def _tidy(self) -> None:
        """Clean up as the stock driver does."""
        with self._source() as image:
            image.unprotect_snap(self.snapshot)
            image.remove_snap(self.snapshot)
        self.module.RBD().remove(self.ioctx, 'new')

    def _take_snapshot(self) -> None:
        with self._source() as image:
            image.create_snap(self.snapshot)
            image.protect_snap(self.snapshot)

    def test_as_long_as_nothing_failed(self) -> None:
        self._take_snapshot()
        self._tidy()
        self.assertEqual({}, self._snapshots())
        self.assertEqual(['source'], self.cluster.names())

    def test_after_a_failure(self) -> None:
        self._take_snapshot()
        self.creation.failure = self.fault
        self._tidy()
        self.assertEqual({self.snapshot: True}, self._snapshots())
        self.assertEqual(['new', 'source'], self.cluster.names())

    def test_by_the_creation_itself(self) -> None:
        self._take_snapshot()
        self.creation.failure = self.fault
        self.creation.undo.callback(self._tidy)
        self.creation.fail()
        self.assertEqual({}, self._snapshots())
        self.assertEqual(['source'], self.cluster.names())

    def test_of_other_images(self) -> None:
        self.creation.failure = self.fault
        with self._source() as image:
            image.create_snap('snapshot-1')
            image.protect_snap('snapshot-1')
            image.unprotect_snap('snapshot-1')
            image.remove_snap('snapshot-1')
        self.assertEqual({}, self._snapshots())
        self.module.RBD().remove(self.ioctx, 'source')
        self.assertEqual(['new'], self.cluster.names())

    def test_snapshot_that_fails_is_the_failure(self) -> None:
        for operation in ('Image.create_snap', 'Image.protect_snap'):
            self.creation.failure = None
            self.cluster.fail(operation, self.fault)
            self.assertRaises(fake_images.OSError, self._take_snapshot)
            self.assertIs(self.fault, self.creation.failure)


class _Held(fixtures.Fixture):
    """A creation that is held until the test ends."""

    def __init__(
        self,
        creations: creations.Creations,
        creation: creations.Creation,
    ) -> None:
        self._hold = creations.hold(creation)

    def _setUp(self) -> None:
        self._hold.__enter__()
        self.addCleanup(self._hold.__exit__, None, None, None)
