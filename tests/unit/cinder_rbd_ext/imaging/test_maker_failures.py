# SPDX-License-Identifier: Apache-2.0

"""A failed creation is undone and reported with the original error."""

from unittest import mock

from cinder import exception
from cinder.image import image_utils
import ddt
from oslo_concurrency import processutils

from cinder_rbd_ext import record
from tests.fakes import fake_images
from tests.functional.cinder_rbd_ext import creation_paths
from tests.unit import recorded
from tests.unit.cinder_rbd_ext import base

#: Steps of the stock driver's methods that only some creation paths take. The
#: steps common to all paths are tested below.
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
    """The database is not available."""


# The source of a clone is read first, and its clone may inherit a setting. So
# does a full copy.
_FROM_IMAGES = (
    creation_paths.CloneFromSnapshot,
    creation_paths.CloneVolume,
    creation_paths.CloneGlanceImage,
    creation_paths.FullCopy,
)


class FailureTestCase(base.DriverTestCase):
    """Make a step fail and check what remains."""

    def setUp(self) -> None:
        super().setUp()
        self.fault = fake_images.OSError('made to fail')

    def assertUndone(
        self, path: creation_paths.Path, before: list[str]
    ) -> None:
        """Check that everything but the volume's image is as before."""
        left = [name for name in before if name != path.volume.name]
        self.assertEqual(left, self.cluster.names())
        for name in left:
            self.assertEqual(
                [],
                [s for s in self.snapshots_of(name) if path.volume.id in s],
            )

    def assertNamed(self, error: BaseException) -> None:
        """Check that an error is the injected failure or quotes it."""
        if error is not self.fault:
            self.assertIn(str(self.fault), str(error))
        self.assertNotIn('replication', str(error))


class ReasonTest(FailureTestCase):
    def test_image_that_cinder_cannot_use_is_the_recorded_reason(self) -> None:
        """Cinder tries another back end, and says that there is none."""
        path = creation_paths.ImportGlanceImage(self)
        unusable = exception.ImageUnacceptable(
            image_id='x', reason='it has 0 bytes'
        )
        with mock.patch.object(
            image_utils, 'fetch_to_raw', autospec=True, side_effect=unusable
        ):
            self.assertIs(unusable, self.raised(path.make))
        self.assertIn(
            'it has 0 bytes',
            recorded.refused(self.recorded(path.volume), 'creation') or '',
        )


@ddt.ddt
class StepTest(FailureTestCase):
    """Each step of each creation path."""

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_failed_step_is_named_and_undone(
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
    def test_failed_creation_can_be_repeated(
        self, way: type[creation_paths.Path], operation: str
    ) -> None:
        """A failed creation can be repeated."""
        path = way(self)
        self.cluster.fail(operation, self.fault)
        self.raised(path.make)
        path.make()
        self.assertEqual(
            path.size * base.GIB, self.cluster.stored(path.volume.name).size
        )


@ddt.ddt
class LastStepTest(FailureTestCase):
    """The common last steps: set up, remove inherited settings, record.

    On a failure the stock driver removes the image through a closed connection
    and reports a replication error.
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

    @ddt.data(*_FROM_IMAGES)
    def test_freed_of_what_it_inherited(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        for pool in ('volumes', 'images'):
            for name in self.cluster.names(pool):
                metadata = self.cluster.stored(name, pool).metadata
                metadata.update(conf_rbd_cache='false')
        self.cluster.fail('Image.metadata_remove', self.fault)
        self.assertIs(self.fault, self._fails(path))

    @ddt.data(*_FROM_IMAGES)
    def test_what_the_source_has(self, way: type[creation_paths.Path]) -> None:
        path = way(self)
        self.cluster.fail('Image.metadata_list', self.fault)
        self.assertIs(self.fault, self._fails(path))

    @ddt.data(*creation_paths.ALL)
    def test_failed_record_undoes_the_creation(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        down = DatabaseDown()
        with mock.patch.object(
            record, 'change', autospec=True, side_effect=down
        ):
            self.assertIs(down, self._fails(path))


@ddt.ddt
class ExistsTest(FailureTestCase):
    """An image that exists already is not removed."""

    @ddt.data(
        creation_paths.Create,
        creation_paths.CreateEncrypted,
        creation_paths.CloneFromSnapshot,
        creation_paths.CloneVolume,
        creation_paths.FullCopy,
        creation_paths.CloneGlanceImage,
    )
    def test_existing_image_of_the_same_name_stays(
        self, way: type[creation_paths.Path]
    ) -> None:
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
    """Log a failed undo step and raise the first failure."""

    @ddt.data(*creation_paths.ALL)
    def test_failed_removal_is_reported_with_the_cause(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        down = DatabaseDown()
        self.cluster.fail('RBD.remove', self.fault)
        with mock.patch.object(
            record, 'change', autospec=True, side_effect=down
        ):
            self.assertIs(down, self.cause(path.make))
        self.assertIn(path.volume.name, self.cluster.names())
        self.assertIn(f'incomplete image {path.volume.name}', self.log.output)
        self.assertIn('made to fail', self.log.output)

    def test_lost_connection_leaves_the_cause(self) -> None:
        self.override_backend('rbd_share_connections', False)
        path = creation_paths.CloneVolume(self)
        error = DatabaseDown()

        def lose_connection(*args: object) -> None:
            self.cluster.fail('Rados.connect', self.fault, times=9)
            raise error

        with mock.patch.object(
            record,
            'change',
            autospec=True,
            side_effect=lose_connection,
        ):
            self.assertIs(error, self.cause(path.make))
        self.cluster.forgive()
        self.assertIn('Could not undo the creation of image', self.log.output)

    def test_of_one_step_leaves_the_others(self) -> None:
        """Remove the clone even if its snapshot cannot be removed."""
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
        self.assertIn('Could not undo the creation of image', self.log.output)
