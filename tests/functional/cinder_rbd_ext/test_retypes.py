# SPDX-License-Identifier: Apache-2.0

"""Retypes that replace an image by a copy with another layout."""

from collections.abc import Callable
import contextlib
import dataclasses
import math
import os
import pathlib
import signal
import struct
import subprocess
from typing import Any
from unittest import mock
import uuid

from cinder import exception
from cinder import objects
from cinder.volume import volume_types
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures
from oslo_utils import units
import rados
import rbd

from cinder_rbd_ext import admission
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from tests import rbd_content
from tests import runs
from tests.functional import filling
from tests.functional.cinder_rbd_ext import base
from tests.unit import recorded

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

# MiB of an image. librbd looks at each object, empty ones too, so the tests
# shrink the images. A test on a cloud retypes a whole volume.
_SIZE = 128
_HOST = 'test_host'


def _text(text: str) -> bytes:
    return struct.pack('<I', len(text)) + text.encode()


class RetypeTestCase(base.DriverTestCase):
    """Volumes with data, and their retype as Cinder's manager performs it."""

    def setUp(self) -> None:
        super().setUp()
        self.driver.host = _HOST
        self.addCleanup(self.empty_trash)

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

    def image_id(self, volume: Any) -> str:
        """Return librbd's id of the image of a volume."""
        with self.cluster.image(volume.name, read_only=True) as image:
            return str(image.id())

    def begin(self, volume: Any) -> None:
        """Set the status of a retype, as Cinder's API does."""
        self.update(
            volume,
            {'status': 'retyping', 'previous_status': volume.status},
        )

    def retype(self, volume: Any, driver: Any = None, **specs: str) -> bool:
        """Retype a volume to a new type with these extra specs."""
        used = driver or self.driver
        self.begin(volume)
        new_type = objects.VolumeType.get_by_id(
            self.admin, self.make_type(**specs)
        )
        with volume.obj_as_admin():
            done, update = used.retype(
                self.context, volume, new_type, {}, None
            )
        if done:
            update = {**(update or {}), 'volume_type_id': new_type.id}
        self.update(
            volume, {**(update or {}), 'status': volume.previous_status}
        )
        # Cinder's manager then requests the statistics.
        used._recovery.recover_all()
        if done:
            # As Cinder would read it for the next request.
            volume.volume_type = new_type
            volume.obj_reset_changes(['volume_type'])
        return bool(done)

    def check_copied(self, volume: Any, sums: dict[str, str]) -> None:
        """Check a volume whose image has been replaced by a copy."""
        self.assertEqual(_LAYOUT, self.layout_of(volume))
        self.assertEqual(sums, self.sums(volume))
        with self.cluster.image(volume.name) as image:
            for name in [*(s['name'] for s in image.list_snaps()), None]:
                self.assertTrue(name is None or image.is_protected_snap(name))
                image.set_snap(name)
                self.assertEqual(0, image.flags())
        self.assertEqual('8', self.recorded(volume)[keys.STRIPE_COUNT])
        self.assertIn('object-map', self.recorded(volume)[keys.FEATURES])
        self.assertIsNone(marker.of_volume(volume.id))

    def check_refused(self, volume: Any, reason: str) -> None:
        """Check that a retype leaves the image as it is."""
        before = self.image_id(volume)
        layout, sums = self.layout_of(volume), self.sums(volume)
        images = self.trashed(), self.cluster.names()
        self.assertFalse(self.retype(volume, **_STRIPED))
        self.assertEqual(before, self.image_id(volume))
        self.assertEqual(layout, self.layout_of(volume))
        self.assertEqual(sums, self.sums(volume))
        self.assertEqual(images, (self.trashed(), self.cluster.names()))
        self.assertIsNone(marker.read(self.recorded(volume)))
        self.assertIn(reason, self.told(volume))

    def trashed(self) -> list[str]:
        """Return the names of the images in the trash."""
        return [
            each['name'] for each in rbd.RBD().trash_list(self.cluster.ioctx())
        ]

    def delete(self, volume: Any) -> None:
        """Delete a volume and its snapshots, as Cinder's manager does."""
        for each in list(volume.snapshots):
            self.driver.delete_snapshot(each)
            each.destroy()
        self.driver.delete_volume(volume)
        volume.destroy()

    def read_again(self, volume: Any) -> Any:
        """Return a volume as it is in the database."""
        return objects.Volume.get_by_id(self.admin, volume.id)


@runs.tags(runs.DEBIAN)
@ddt.ddt
class CopyTest(RetypeTestCase):
    def test_layout_and_data_pool_of_a_stock_volume_change(self) -> None:
        volume = self.filled_volume(driver=self.make_driver(stock.RBDDriver))
        self.assertEqual({}, self.recorded(volume))
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_qos_iops_limit', '100')
            image.metadata_set('note', 'of somebody else')
        sums, former = self.sums(volume), volume.name
        self.assertEqual(3, len(set(sums.values())))
        pooled = {**_STRIPED, 'rbd_data_pool': 'volumes-data'}
        self.assertTrue(self.retype(volume, **pooled))
        self.check_copied(volume, sums)
        self.assertIn('data-pool', self.features_of(volume))
        with self.cluster.image(volume.name) as image:
            self.assertEqual(
                {
                    'conf_rbd_qos_iops_limit': '100',
                    'note': 'of somebody else',
                },
                dict(image.metadata_list()),
            )
        origins = self.recorded(volume)['rbd:origins']
        self.assertIn('striping=volume_type', origins)
        self.assertEqual([former], self.trashed())
        # Tenants may not request the layout on the next type.
        self.assertTrue(self.retype(volume, rbd_tenant_options=''))
        self.assertEqual(_PLAIN, self.layout_of(volume))
        self.assertNotIn('data-pool', self.features_of(volume))
        self.assertEqual(sums, self.sums(volume))
        for each in volume.snapshots:
            self.driver.delete_snapshot(each)
        self.driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())

    def test_progress_is_recorded_and_ends_with_the_retype(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(children, 'INTERVAL', new=0.0)
        )
        volume = self.filled_volume()
        percents = []
        write = marker.write

        def note(volume_id: str, mark: marker.Marker) -> marker.Marker:
            percents.append(mark.percent)
            return write(volume_id, mark)

        with mock.patch.object(marker, 'write', note):
            self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertEqual(sorted(percents), percents)
        self.assertEqual([0, 100], [percents[0], percents[-1]])
        self.assertGreater(len(set(percents)), 2)

    def test_copy_of_a_clone_does_not_need_its_parent(self) -> None:
        source = self.filled_volume()
        clone = self.new_volume()
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        self.write(clone, 30, 1)
        sums = self.sums(clone), self.sums(source)
        self.assertTrue(self.retype(clone, **_STRIPED))
        self.check_copied(clone, sums[0])
        self.assertEqual(sums[1], self.sums(source))
        with self.cluster.image(clone.name) as image:
            self.assertRaises(rbd.ImageNotFound, image.parent_info)

    @ddt.data(False, True)
    def test_volume_restored_from_a_snapshot_is_copied(
        self, is_deleted: bool
    ) -> None:
        """librbd cannot copy it with its parent after its deletion."""
        source = self.filled_volume()
        snapshot = self.new_snapshot(source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.driver.create_volume_from_snapshot(volume, snapshot)
        self.write(volume, 30, 1)
        if is_deleted:
            self.driver.delete_snapshot(snapshot)
        sums = self.sums(volume)
        self.assertTrue(self.retype(volume, **_STRIPED))
        self.check_copied(volume, sums)

    def test_kept_source_does_not_block_deletion_of_a_snapshot(self) -> None:
        source = self.filled_volume()
        snapshot = self.new_snapshot(source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.driver.create_volume_from_snapshot(volume, snapshot)
        self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertEqual(1, len(self.trashed()))
        self.rbd('flatten', '--no-progress', f'volumes/{volume.name}')
        self.driver.delete_snapshot(snapshot)
        with self.cluster.image(source.name) as image:
            names = [each['name'] for each in image.list_snaps()]
        self.assertNotIn(snapshot.name, names)

    def test_flattened_clone_whose_snapshot_is_none_is_not_copied(
        self,
    ) -> None:
        source = self.filled_volume()
        clone = self.new_volume()
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        with self.cluster.image(clone.name) as image:
            image.update_features(rbd.RBD_FEATURE_DEEP_FLATTEN, False)
        snapshot = self.new_snapshot(clone)
        with self.cluster.image(clone.name) as image:
            image.flatten()
        self.check_refused(clone, image_handles.LOST_PARENT)
        self.driver.delete_snapshot(snapshot)
        self.assertTrue(self.retype(clone, **_STRIPED))

    def test_open_attached_and_grouped_images_are_not_copied(self) -> None:
        volume = self.filled_volume()
        with self.cluster.image(volume.name) as opened:
            # A client registers its watch with the first write.
            opened.write(b'x', 0)
            self.check_refused(volume, image_handles.IN_USE)
        self.update(volume, {'status': 'in-use'})
        self.check_refused(volume, image_handles.IN_USE)
        self.update(volume, {'status': 'available'})
        ioctx = self.cluster.ioctx()
        rbd.RBD().group_create(ioctx, 'group')
        self.addCleanup(rbd.RBD().group_remove, ioctx, 'group')
        rbd.Group(ioctx, 'group').add_image(ioctx, volume.name)
        self.check_refused(volume, image_handles.GROUP)
        rbd.Group(ioctx, 'group').remove_image(ioctx, volume.name)
        # The retype is possible later. It removes the reason.
        sums = self.sums(volume)
        self.assertTrue(self.retype(volume, **_STRIPED))
        self.check_copied(volume, sums)
        self.assertIsNone(
            recorded.refused(self.recorded(volume), 'change of layout')
        )


@ddt.ddt
class FailureTest(RetypeTestCase):
    """Each kind of failure leaves the volume old, or makes it new."""

    @contextlib.contextmanager
    def during(self, name: str, act: Callable[[Any], Any]) -> Any:
        """Do something after a step of a copy."""
        step = getattr(copies.Copy, name)

        def run(copy: copies.Copy, *args: Any) -> Any:
            answer = step(copy, *args)
            act(copy)
            return answer

        with mock.patch.object(copies.Copy, name, run):
            yield

    def _write(self, name: str, at: int) -> None:
        with self.cluster.image(name) as image:
            image.write(b'other', at)

    def _fail(self, error: Exception) -> Any:
        def fail(copy: Any) -> None:
            raise error

        return fail

    def test_copy_that_differs_is_not_used(self) -> None:
        volume = self.filled_volume()
        at = 70 * units.Mi + 4711
        with self.during('make', lambda copy: self._write(copy.name, at)):
            self.check_refused(volume, 'the copy was not correct')
        self.override_backend(self.driver, 'rbd_conversion_verify', False)
        sums = self.sums(volume)
        with self.during('make', lambda copy: self._write(copy.name, at)):
            self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertNotEqual(sums, self.sums(volume))

    def test_crash_of_the_copy_ends_its_process_at_once(self) -> None:
        """Ceph's own handler could wait for ever for a lock."""
        volume = self.filled_volume()
        wait, handled = children._wait, set()

        def watch(child: Any, *args: Any) -> None:
            status = pathlib.Path(f'/proc/{child.pid}/status')
            while child.poll() is None:
                lines = dict(
                    line.split(':\t', 1)
                    for line in status.read_text().splitlines()
                    if ':\t' in line
                )
                if lines['Name'] == 'rbd':
                    caught = int(lines['SigCgt'], 16)
                    handled.add(bool(caught & 1 << signal.SIGSEGV - 1))
            wait(child, *args)

        with mock.patch.object(children, '_wait', watch):
            self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertEqual({False}, handled)

    def test_copy_without_a_snapshot_is_not_used(self) -> None:
        volume = self.filled_volume()

        def drop(copy: copies.Copy) -> None:
            with self.cluster.image(copy.name) as image:
                name = next(iter(image.list_snaps()))['name']
                image.unprotect_snap(name)
                image.remove_snap(name)

        with self.during('make', drop):
            self.check_refused(volume, 'could not be copied correctly')

    def test_image_that_is_changed_meanwhile_is_not_replaced(self) -> None:
        """Cinder's own requests wait; another program does not."""
        volume = self.filled_volume()

        def change(copy: copies.Copy) -> None:
            with self.cluster.image(volume.name) as image:
                image.create_snap(str(uuid.uuid4()))

        with self.during('compare', change):
            self.assertFalse(self.retype(volume, **_STRIPED))
        self.assertEqual(_PLAIN, self.layout_of(volume))
        self.assertEqual(4, len(self.sums(volume)))
        self.assertEqual([volume.name], self.cluster.names())

    def test_client_that_opens_the_image_meanwhile_keeps_it(self) -> None:
        volume = self.filled_volume()
        with contextlib.ExitStack() as stack:

            def open_it(copy: copies.Copy) -> None:
                image = self.cluster.image(volume.name)
                stack.callback(image.close)
                image.write(b'x', 0)

            with self.during('compare', open_it):
                self.assertFalse(self.retype(volume, **_STRIPED))
        self.assertEqual(_PLAIN, self.layout_of(volume))

    @ddt.data(
        rados.TimedOut('x'),
        rbd.ImageBusy('x'),
        exception.VolumeBackendAPIException(data='x'),
        children.ChildFailed(program='rbd', how='SIGSEGV', output=''),
        OSError(28, 'x'),
    )
    def test_failure_before_the_commit_leaves_it_old(
        self, error: Exception
    ) -> None:
        volume = self.filled_volume()
        with self.during('compare', self._fail(error)):
            self.check_refused(volume, '')

    def test_child_that_is_killed_leaves_it_old(self) -> None:
        volume = self.filled_volume()
        popen = subprocess.Popen

        def killed(*args: Any, **kwargs: Any) -> Any:
            child = popen(*args, **kwargs)
            os.kill(child.pid, 11)
            return child

        with mock.patch.object(subprocess, 'Popen', killed):
            self.check_refused(volume, 'Ceph could not copy')

    def test_reset_status_ends_the_copy(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(children, 'INTERVAL', new=0.0)
        )
        volume = self.filled_volume()
        make = copies.Copy.make

        def reset(copy: copies.Copy, *args: Any) -> None:
            self.update(self.read_again(volume), {'status': 'available'})
            make(copy, *args)

        with mock.patch.object(copies.Copy, 'make', reset):
            self.assertRaises(
                exception.VolumeBackendAPIException,
                self.retype,
                volume,
                **_STRIPED,
            )
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual('available', self.read_again(volume).status)

    def test_copy_does_not_begin_if_a_backup_has_the_status(self) -> None:
        """Cinder's API accepts both at the same moment."""
        volume = self.filled_volume()
        obstacle = copies.Copy.obstacle

        def back_up(copy: copies.Copy) -> str | None:
            self.update(self.read_again(volume), {'status': 'backing-up'})
            return obstacle(copy)

        with (
            mock.patch.object(copies.Copy, 'obstacle', back_up),
            mock.patch.object(copies.Copy, 'make', autospec=True) as make,
        ):
            self.assertRaises(
                exception.VolumeBackendAPIException,
                self.retype,
                volume,
                **_STRIPED,
            )
        make.assert_not_called()
        self.assertEqual('backing-up', self.read_again(volume).status)

    def test_full_pool_refuses_the_copy_or_ends_it(self) -> None:
        volume = self.filled_volume()
        monitor = filling.Monitor(self.cluster)
        self.addCleanup(monitor.reset, 'volumes')
        with mock.patch.object(
            copies.Copy, 'used', autospec=True, return_value=1 << 50
        ):
            self.check_refused(volume, 'no room for a second copy')
        monitor.set_quota('volumes', 1)
        monitor.wait('volumes', full=True)
        self.useFixture(fixtures.MockPatchObject(children, 'PATIENCE', new=3))
        with mock.patch.object(
            admission.Copies, '_reserve', autospec=True, return_value=None
        ):
            self.check_refused(volume, 'Ceph could not copy')


@ddt.ddt
class InterruptedTest(RetypeTestCase):
    """States that a killed service leaves, each with one image."""

    def setUp(self) -> None:
        super().setUp()
        self.type_id = self.make_type(**_STRIPED)
        self.volume = self.filled_volume()
        self.former = self.volume.name
        self.before = self.sums(self.volume)
        self.begin(self.volume)
        mark = marker.Marker(
            image=str(uuid.uuid4()),
            host=_HOST,
            type_id=self.type_id,
            former=self.volume.name_id,
            former_id=self.image_id(self.volume),
            former_pool='volumes',
            pool='volumes',
        )
        copy = copies.Copy(self.driver, self.volume.name, mark)
        new_type = objects.VolumeType.get_by_id(self.admin, self.type_id)
        decided = self.driver._retypes.make_plan(self.volume, new_type)
        copy.make(decided.target, lambda percent: None)
        copy_id = copy.complete(decided.target)
        commit.begin(self.volume, mark)
        self.mark = marker.write(
            self.volume.id, dataclasses.replace(mark, image_id=copy_id)
        )

    def commit(self) -> bool:
        """Make the copy the image of the volume."""
        return commit.commit(self.driver, self.volume, self.mark, {})

    def recovered(self, is_new: bool) -> None:
        """Recover, and check the volume."""
        self.driver._recovery.recover_all()
        volume = self.read_again(self.volume)
        self.assertEqual('available', volume.status)
        self.assertEqual(is_new, volume.volume_type_id == self.type_id)
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual([self.former] if is_new else [], self.trashed())
        self.assertEqual(self.before, self.sums(volume))
        if is_new:
            self.check_copied(volume, self.before)
            for each in volume.snapshots:
                self.assertEqual(self.type_id, each.volume_type_id)
        else:
            self.assertEqual(self.former, volume.name)

    def test_copy_is_removed_before_the_commit(self) -> None:
        self.recovered(is_new=False)
        self.assertIn('interrupted', self.told(self.volume))

    def test_partial_copy_is_removed(self) -> None:
        """librbd had created the name of the copy and nothing else."""
        with self.cluster.image(self.mark.name) as image:
            for name in image_handles.snapshot_names(image):
                image_handles.remove_snapshot(image, name)
        rbd.RBD().remove(self.cluster.ioctx(), self.mark.name)
        self.cluster.ioctx().write_full(
            f'rbd_id.{self.mark.name}', _text('abcdef')
        )
        self.driver._recovery.recover_all()
        self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual([], self.trashed())

    def test_late_commit_does_not_replace_a_volume_that_was_given_back(
        self,
    ) -> None:
        """The service was stopped between the copy and the commit."""
        late = self.driver.rbd.Image(
            self.cluster.ioctx(), self.mark.name, read_only=True
        )
        late.close()
        with mock.patch.object(
            self.driver._replacements, '_discard', autospec=True
        ):
            self.driver._recovery.recover_all()
        self.assertFalse(self.commit())
        self.assertEqual(self.former, self.read_again(self.volume).name)

    def test_committed_image_gets_its_type(self) -> None:
        self.assertTrue(self.commit())
        self.recovered(is_new=True)

    def test_volume_whose_new_type_was_deleted_gets_its_status(self) -> None:
        self.assertTrue(self.commit())
        volume_types.destroy(self.admin, self.type_id)
        self.driver._recovery.recover_all()
        volume = self.read_again(self.volume)
        self.assertEqual('available', volume.status)
        self.assertNotEqual(self.type_id, volume.volume_type_id)
        self.assertEqual(self.before, self.sums(volume))
        self.assertEqual([volume.name], self.cluster.names())

    def test_copy_that_cannot_be_removed_does_not_block_the_volume(
        self,
    ) -> None:
        """It cannot be committed any more."""
        with mock.patch.object(
            self.driver._replacements,
            '_discard',
            autospec=True,
            side_effect=rbd.Timeout('x'),
        ):
            self.driver._recovery.recover_all()
        self.assertEqual('available', self.read_again(self.volume).status)
        self.assertFalse(self.commit())
        self.recovered(is_new=False)

    @ddt.data(False, True)
    def test_deletion_of_an_interrupted_retype_leaves_nothing(
        self, is_committed: bool
    ) -> None:
        if is_committed:
            self.assertTrue(self.commit())
        self.update(self.volume, {'status': 'deleting'})
        self.delete(self.read_again(self.volume))
        self.assertEqual([], self.cluster.names())

    def test_image_that_is_given_away_is_the_one_of_the_row(self) -> None:
        """After that, nothing knows the marker, and the other image."""
        self.assertTrue(self.commit())
        self.update(self.volume, {'status': 'unmanaging'})
        self.driver.unmanage(self.read_again(self.volume))
        self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual([self.former], self.trashed())
        self.assertEqual(self.before, self.sums(self.volume))

    def test_open_copy_does_not_block_the_volume(self) -> None:
        """The OSDs can keep the watch of a killed client."""
        with self.cluster.image(self.mark.name) as image:
            # A client registers its watch with the first write.
            image.write(b'x', 0)
            self.driver._recovery.recover_all()
            volume = self.read_again(self.volume)
            self.assertEqual('available', volume.status)
            self.delete(volume)

    def test_marker_of_a_running_service_is_left_alone(self) -> None:
        self.driver._replacements._runs_until[self.mark.image] = math.inf
        self.assertTrue(self.driver._recovery.recover_all())
        self.assertEqual('retyping', self.read_again(self.volume).status)
        self.assertTrue(self.commit())
