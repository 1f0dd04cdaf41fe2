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


"""The steps of a migration of an image, from each of its states."""

from typing import Any
from unittest import mock

import ddt

from cinder_rbd_ext.conversion import steps
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.fakes import fake_images
from tests.fakes import fake_migration
from tests.unit.cinder_rbd_ext import base

_TARGET = plan.ImageState(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({features.LAYERING, features.EXCLUSIVE_LOCK}),
)


@ddt.ddt
class StepsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.former = self._stored()
        self.steps = steps.Steps(self.driver, self.volume.name)

    def _stored(self) -> Any:
        return self.cluster.stored(self.volume.name)

    def test_all(self) -> None:
        self.assertIsNone(self.steps.state())
        self.steps.prepare(_TARGET)
        self.assertEqual(fake_migration.PREPARED, self.steps.state())
        self.assertTrue(self.steps.finish(self.former.ident))
        self.assertIsNone(self.steps.state())
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_nothing_to_finish(self) -> None:
        self.assertFalse(self.steps.finish(self.former.ident))
        self.assertIs(self.former, self._stored())

    @ddt.data(
        fake_migration.PREPARED,
        fake_migration.EXECUTING,
        fake_migration.EXECUTED,
    )
    def test_finished_from(self, state: int) -> None:
        self.steps.prepare(_TARGET)
        self._stored().state = state
        self.assertTrue(self.steps.finish(self.former.ident))
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    @ddt.data(0, fake_migration.PREPARING, 5)
    def test_aborted_from(self, state: int) -> None:
        """No client can have written to the new image."""
        self.steps.prepare(_TARGET)
        self._stored().state = state
        self.assertFalse(self.steps.finish(self.former.ident))
        self.assertIs(self.former, self._stored())

    def test_failed_step(self) -> None:
        """It can be repeated, and is never aborted."""
        for name in ('RBD.migration_execute', 'RBD.migration_commit'):
            self.former = self._stored()
            self.steps.prepare(_TARGET)
            self.cluster.fail(name, fake_images.ImageBusy('x'))
            self.assertRaises(
                fake_images.ImageBusy, self.steps.finish, self.former.ident
            )
            self.assertIsNotNone(self._stored().source)
            self.assertTrue(self.steps.finish(self.former.ident))

    def test_refused(self) -> None:
        with self.driver.images.opened(self.volume.name):
            self.assertRaises(
                fake_images.ImageBusy, self.steps.prepare, _TARGET
            )
        self.assertIs(self.former, self._stored())

    def test_interrupted_refusal(self) -> None:
        """librbd has not undone its first changes."""
        prepare = fake_migration.Migrations.migration_prepare

        def fail(*args: Any, **kwargs: Any) -> None:
            prepare(*args, **kwargs)
            self._stored().state = fake_migration.PREPARING
            raise fake_images.ImageBusy('x')

        with mock.patch.object(
            fake_migration.Migrations,
            'migration_prepare',
            autospec=True,
            side_effect=fail,
        ):
            self.assertRaises(
                fake_images.ImageBusy, self.steps.prepare, _TARGET
            )
        self.assertFalse(self.steps.finish(self.former.ident))
        self.assertIs(self.former, self._stored())
