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

"""What fails half-way is undone, and the failure keeps its name."""

from unittest import mock

from cinder.db import api as db
import ddt
from oslo_concurrency import processutils

from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base
from tests.unit.cinder_rbd_ext import creation_paths

#: Steps of stock's methods, which only some ways take. Those by which an
#: image is taken over, set up and recorded all take: below.
STEPS: tuple[tuple[type[creation_paths.Path], str], ...] = (
    (creation_paths.Create, 'RBD.create'),
    (creation_paths.CreateEncrypted, 'rbd import'),
    (creation_paths.CreateEncrypted, 'rbd import half-way'),
    (creation_paths.CloneFromSnapshot, 'RBD.clone'),
    (creation_paths.CloneFromSnapshot, 'Image.resize'),
    (creation_paths.CloneAndFlattenSnapshot, 'Image.flatten'),
    (creation_paths.CloneVolume, 'Image.create_snap'),
    (creation_paths.CloneVolume, 'Image.protect_snap'),
    (creation_paths.CloneVolume, 'RBD.clone'),
    (creation_paths.CloneVolume, 'Image.parent_info'),
    (creation_paths.CloneVolume, 'Image.resize'),
    (creation_paths.CloneAndFlattenVolume, 'Image.flatten'),
    (creation_paths.CloneAndFlattenVolume, 'Image.unprotect_snap'),
    (creation_paths.CloneAndFlattenVolume, 'Image.remove_snap'),
    (creation_paths.CloneAndFlattenVolume, 'Image.resize'),
    (creation_paths.FullCopy, 'Image.copy'),
    (creation_paths.FullCopy, 'Image.copy half-way'),
    (creation_paths.FullCopy, 'Image.resize'),
    (creation_paths.CloneGlanceImage, 'RBD.clone'),
    (creation_paths.CloneGlanceImage, 'Image.resize'),
    (creation_paths.ImportGlanceImage, 'rbd import'),
    (creation_paths.ImportGlanceImage, 'rbd import half-way'),
    (creation_paths.ImportGlanceImage, 'Image.resize'),
)


class DatabaseDown(Exception):
    """The database can't be reached."""


class FailureTestCase(base.DriverTestCase):
    """Makes a step fail, and looks at what is left."""

    def setUp(self) -> None:
        super().setUp()
        self.fault = fake_images.OSError('made to fail')

    def assertUndone(
        self, path: creation_paths.Path, before: list[str]
    ) -> None:
        """Check that all is there that was, but for the volume's image."""
        left = [name for name in before if name != path.volume.name]
        self.assertEqual(left, self.cluster.names())
        for name in left:
            self.assertEqual(
                [],
                [s for s in self.snapshots_of(name) if path.volume.id in s],
            )

    def assertNamed(self, error: BaseException) -> None:
        """Check that an error is what was made to fail, or quotes it."""
        if error is not self.fault:
            self.assertIn(str(self.fault), str(error))
        self.assertNotIn('replication', str(error))


@ddt.ddt
class StepTest(FailureTestCase):
    """Each step of each way."""

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_step(
        self, way: type[creation_paths.Path], operation: str
    ) -> None:
        path = way(self)
        before = self.cluster.names()
        self.cluster.fail(operation, self.fault)
        error = self.cause(path.make)
        self.assertNamed(error)
        self.assertUndone(path, before)

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_again(
        self, way: type[creation_paths.Path], operation: str
    ) -> None:
        """What is left is no obstacle to the same once more."""
        path = way(self)
        self.cluster.fail(operation, self.fault)
        self.raised(path.make)
        path.make()
        self.assertEqual(
            path.size * base.GIB, self.cluster.stored(path.volume.name).size
        )


@ddt.ddt
class LastStepTest(FailureTestCase):
    """What every way ends with: set up, freed of what it inherited, recorded.

    The stock driver removes the image by a connection that it has closed, and
    speaks of replication.
    """

    def _fails(self, path: creation_paths.Path) -> BaseException:
        before = self.cluster.names()
        error = self.cause(path.make)
        self.assertUndone(path, before)
        return error

    @ddt.data(*creation_paths.ALL)
    def test_set_up(self, way: type[creation_paths.Path]) -> None:
        path = way(self, volume_type=self.make_type(multiattach='<is> True'))
        self.cluster.fail('Image.update_features', self.fault)
        self.assertIs(self.fault, self._fails(path))

    @ddt.data(*creation_paths.ALL)
    def test_freed_of_what_it_inherited(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        self.cluster.fail('Image.metadata_list', self.fault)
        self.assertIs(self.fault, self._fails(path))

    @ddt.data(*creation_paths.ALL)
    def test_recorded(self, way: type[creation_paths.Path]) -> None:
        path = way(self)
        down = DatabaseDown()
        with mock.patch.object(
            db, 'volume_admin_metadata_update', autospec=True, side_effect=down
        ):
            self.assertIs(down, self._fails(path))


@ddt.ddt
class ExistsTest(FailureTestCase):
    """An image that is there already is somebody's, and stays."""

    @ddt.data(
        creation_paths.Create,
        creation_paths.CreateEncrypted,
        creation_paths.CloneFromSnapshot,
        creation_paths.CloneVolume,
        creation_paths.FullCopy,
        creation_paths.CloneGlanceImage,
    )
    def test_stays(self, way: type[creation_paths.Path]) -> None:
        path = way(self)
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().create(ioctx, path.volume.name, 7, order=15)
        before = self.cluster.names()
        error = self.cause(path.make)
        self.assertIsInstance(
            error,
            processutils.ProcessExecutionError
            if way is creation_paths.CreateEncrypted
            else self.librbd.ImageExists,
        )
        self.assertEqual(before, self.cluster.names())
        self.assertEqual(7, self.cluster.stored(path.volume.name).size)
        self.assertEqual(15, self.cluster.stored(path.volume.name).order)


@ddt.ddt
class UndoFailsTest(FailureTestCase):
    """What can't be undone is logged; the first failure is the one raised."""

    @ddt.data(*creation_paths.ALL)
    def test_removal(self, way: type[creation_paths.Path]) -> None:
        path = way(self)
        down = DatabaseDown()
        if way is creation_paths.ImportGlanceImage:
            # Stock would remove it first.
            self.driver.delete_volume(path.volume)
        self.cluster.fail('RBD.remove', self.fault)
        with mock.patch.object(
            db, 'volume_admin_metadata_update', autospec=True, side_effect=down
        ):
            self.assertIs(down, self.cause(path.make))
        self.assertIn(path.volume.name, self.cluster.names())
        self.assertIn(f'incomplete image {path.volume.name}', self.log.output)
        self.assertIn('made to fail', self.log.output)

    def test_connection(self) -> None:
        self.override_backend('rbd_share_connections', False)
        path = creation_paths.CloneVolume(self)
        error = DatabaseDown()

        def lose_connection(*args: object) -> None:
            self.cluster.fail('Rados.connect', self.fault, times=9)
            raise error

        with mock.patch.object(
            db,
            'volume_admin_metadata_update',
            autospec=True,
            side_effect=lose_connection,
        ):
            self.assertIs(error, self.cause(path.make))
        self.cluster.forgive()
        self.assertIn(
            'Could not clean up the creation of image', self.log.output
        )

    def test_of_one_step_leaves_the_others(self) -> None:
        """The source's snapshot stays, the clone goes all the same."""
        path = creation_paths.CloneVolume(self)
        self.cluster.fail('Image.resize', self.fault)
        self.cluster.fail(
            'Image.is_protected_snap', fake_images.OSError('undone')
        )
        self.assertIs(self.fault, self.cause(path.make))
        self.assertEqual([path.source.name], self.cluster.names())
        self.assertEqual(
            [f'{path.volume.name}.clone_snap'],
            self.snapshots_of(path.source.name),
        )
        self.assertIn(
            'Could not clean up the creation of image', self.log.output
        )


class MigrationTest(FailureTestCase):
    """The copy in another backend's pool."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume(base.ASKED)
        location = f'ceph::{self.cluster.fsid}:cinder:volumes2'
        self.host = {
            'host': 'there@ceph2#ceph2',
            'capabilities': {
                'storage_protocol': 'ceph',
                'location_info': location,
                'rbd_volume_options': True,
            },
        }

    def _migrated(self) -> BaseException:
        return self.cause(
            self.driver.migrate_volume, self.context, self.volume, self.host
        )

    def assertStays(self) -> None:
        """Check that the volume is where it was, and only there."""
        self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual(base.MADE, self.layout_of(self.volume.name))

    def test_copy_fails_half_way(self) -> None:
        self.cluster.fail('Image.copy half-way', self.fault)
        self.assertIs(self.fault, self._migrated())
        self.assertStays()
        self.assertEqual([], self.cluster.names('volumes2'))

    def test_copied_but_not_freed(self) -> None:
        self.cluster.fail('Image.metadata_list', self.fault)
        self.assertIs(self.fault, self._migrated())
        self.assertStays()
        self.assertEqual([], self.cluster.names('volumes2'))

    def test_image_is_there_already(self) -> None:
        with self.cluster.connected('volumes2') as ioctx:
            self.librbd.RBD().create(ioctx, self.volume.name, 7)
        self.assertIsInstance(self._migrated(), self.librbd.ImageExists)
        self.assertStays()
        self.assertEqual(
            7, self.cluster.stored(self.volume.name, 'volumes2').size
        )

    def test_part_can_not_be_removed(self) -> None:
        self.cluster.fail('Image.copy half-way', self.fault)
        self.cluster.fail('RBD.remove', fake_images.OSError('removal'))
        self.assertIs(self.fault, self._migrated())
        self.assertStays()
        self.assertIn('Could not remove', self.log.output)

    def test_source_can_not_be_removed(self) -> None:
        """The copy may be the only whole one by then."""
        self.cluster.fail('RBD.remove', self.fault)
        self._migrated()
        self.assertStays()
        self.assertEqual(
            base.MADE, self.layout_of(self.volume.name, 'volumes2')
        )
