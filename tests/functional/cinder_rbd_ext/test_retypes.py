# SPDX-License-Identifier: Apache-2.0

"""Retypes that replace an image by a copy with another layout."""

from collections.abc import Callable
from concurrent import futures
import contextlib
import dataclasses
import functools
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
from cinder.db import api as db
from cinder.scheduler import rpcapi
from cinder.volume import volume_types
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures
from oslo_utils import units
import rados
import rbd

from cinder_rbd_ext import locks
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import leftovers
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import places
from cinder_rbd_ext.retype import retypes
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from tests import rbd_content
from tests.functional import filling
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
        self.useFixture(fixtures.MockPatchObject(marker, 'STALE', new=0.0))
        self.useFixture(fixtures.MockPatchObject(retypes, 'REPEAT', new=0.1))
        self.addCleanup(self._empty_trash)

    def _empty_trash(self) -> None:
        ioctx = self.cluster.ioctx()
        for entry in list(rbd.RBD().trash_list(ioctx)):
            trash.purge(self.driver, entry['id'], ioctx)

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
        recorded = self.recorded(volume)
        self.assertIsNone(marker.read(recorded))
        self.assertIn(reason, marker.refusal(recorded) or '')
        self.assertIn(reason, recorded['rbd:message'])

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


class CopyTest(RetypeTestCase):
    def test_layout_and_data_pool_of_a_stock_volume_change(self) -> None:
        volume = self.filled_volume(driver=self.make_driver(stock.RBDDriver))
        self.assertEqual({}, self.recorded(volume))
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_qos_iops_limit', '100')
            image.metadata_set('note', 'of somebody else')
        sums, source_id = self.sums(volume), self.image_id(volume)
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
        kept = swap.kept_name(volume.name, source_id)
        self.assertEqual([kept], self.trashed())
        # Tenants may not request the layout on the next type.
        self.assertTrue(self.retype(volume, rbd_tenant_options=''))
        self.assertEqual(_PLAIN, self.layout_of(volume))
        self.assertNotIn('data-pool', self.features_of(volume))
        self.assertEqual(sums, self.sums(volume))
        for each in volume.snapshots:
            self.driver.delete_snapshot(each)
        self.driver.delete_volume(volume)
        self.assertEqual([], [*self.cluster.names(), *self.trashed()])

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

    def test_clone_keeps_its_parent_which_does_not_change(self) -> None:
        source = self.filled_volume()
        clone = self.new_volume()
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        self.write(clone, 30, 1)
        sums = self.sums(clone), self.sums(source)
        self.assertTrue(self.retype(clone, **_STRIPED))
        self.check_copied(clone, sums[0])
        self.assertEqual(sums[1], self.sums(source))
        with self.cluster.image(clone.name) as image:
            self.assertEqual(source.name, image.parent_info()[1])
        self.check_refused(source, image_handles.CLONES)
        # The kept source of the clone would block this.
        self.driver.delete_volume(clone)
        with self.cluster.image(source.name) as image:
            self.assertEqual(2, len(list(image.list_snaps())))

    def test_kept_source_does_not_block_deletion_of_a_snapshot(self) -> None:
        source = self.filled_volume()
        snapshot = self.new_snapshot(source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.driver.create_volume_from_snapshot(volume, snapshot)
        self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertEqual(1, len(self.trashed()))
        self.rbd('flatten', '--no-progress', f'volumes/{volume.name}')
        self.driver.delete_snapshot(snapshot)
        self.assertEqual([], self.trashed())
        with self.cluster.image(source.name) as image:
            names = [each['name'] for each in image.list_snaps()]
        self.assertNotIn(snapshot.name, names)

    def test_open_kept_source_does_not_block_deletion(self) -> None:
        volume = self.filled_volume()
        source_id = self.image_id(volume)
        self.assertTrue(self.retype(volume, **_STRIPED))
        kept = self.trashed()
        with rbd.Image(self.cluster.ioctx(), image_id=source_id) as image:
            image.write(b'x', 0)
            self.delete(self.read_again(volume))
            self.assertEqual(kept, self.trashed())
        trash.remove_expired(self.driver, is_full=False)
        self.assertEqual([], [*self.cluster.names(), *self.trashed()])

    def test_kept_source_is_removed_after_its_time(self) -> None:
        volume = self.filled_volume()
        self.assertTrue(self.retype(volume, **_STRIPED))
        kept = self.trashed()
        trash.remove_expired(self.driver, is_full=False)
        self.assertEqual(kept, self.trashed())
        # An image of somebody else with such a name stays.
        ioctx = self.cluster.ioctx()
        foreign = f'{volume.name}.retyped-123'
        rbd.RBD().create(ioctx, foreign, units.Mi)
        rbd.RBD().trash_move(ioctx, foreign, 0)
        trash.remove_expired(self.driver, is_full=True)
        self.assertEqual([foreign], self.trashed())
        self.override_backend(self.driver, 'rbd_conversion_keep', 0)
        self.assertTrue(self.retype(volume, rbd_tenant_options=''))
        trash.remove_expired(self.driver, is_full=False)
        self.assertEqual([foreign], self.trashed())

    def test_earlier_kept_source_is_removed_while_the_lock_is_free(
        self,
    ) -> None:
        """The quota does not count it, and its removal can take minutes."""
        volume = self.filled_volume()
        sums = self.sums(volume)
        self.assertTrue(self.retype(volume, **_STRIPED))
        copy_id = self.image_id(volume)
        purge, is_free = trash.purge, []

        def lock() -> bool:
            try:
                with locks.image(self.driver, volume.name, wait=0):
                    return True
            except locks.VolumeLocked:
                return False

        def note(*args: Any) -> None:
            # The lock is re-entrant in a thread.
            with futures.ThreadPoolExecutor(1) as other:
                is_free.append(other.submit(lock).result())
            purge(*args)

        with mock.patch.object(trash, 'purge', note):
            self.assertTrue(self.retype(volume, rbd_object_size='8M'))
            trash.remove_expired(self.driver, is_full=False)
        self.assertEqual([True], is_free)
        kept = swap.kept_name(volume.name, copy_id)
        self.assertEqual([kept], self.trashed())
        self.assertEqual(sums, self.sums(volume))

    def test_kept_source_of_a_volume_without_an_image_stays(self) -> None:
        """It is the only copy of the data."""
        volume = self.filled_volume()
        self.assertTrue(self.retype(volume, **_STRIPED))
        kept = self.trashed()
        self.rbd('mv', f'volumes/{volume.name}', 'volumes/elsewhere')
        log = self.useFixture(fixtures.FakeLogger())
        trash.remove_expired(self.driver, is_full=True)
        self.assertEqual(kept, self.trashed())
        self.assertIn('has no image', log.output)
        self.assertRaises(
            exception.VolumeBackendAPIException, self.driver.unmanage, volume
        )

    def test_kept_source_of_a_migrated_volume_is_removed(self) -> None:
        """Its back end has another pool, which the scheduler reports."""
        location = f'ceph:{self.cluster.conf}:{self.cluster.fsid}:admin'
        scheduler = mock.create_autospec(rpcapi.SchedulerAPI, instance=True)
        scheduler.client = mock.Mock()
        scheduler.get_pools.return_value = [
            {
                'name': 'other@ceph2#ceph2',
                'capabilities': {'location_info': f'{location}:volumes2'},
            }
        ]
        self.useFixture(
            fixtures.MockPatchObject(
                rpcapi, 'SchedulerAPI', autospec=True, return_value=scheduler
            )
        )
        for changed in (
            {'host': 'other@ceph2#ceph2'},
            {'_name_id': '11111111-2222-4333-8444-555555555555'},
        ):
            volume = self.filled_volume()
            self.assertTrue(self.retype(volume, **_STRIPED))
            new_name = f'volume-{changed.get("_name_id", "in-another-pool")}'
            self.rbd('mv', f'volumes/{volume.name}', f'volumes/{new_name}')
            self.update(volume, changed)
            trash.remove_expired(self.driver, is_full=True)
            self.assertEqual([], self.trashed(), changed)

    def test_kept_source_waits_for_a_swap_without_an_error(self) -> None:
        volume = self.filled_volume()
        self.assertTrue(self.retype(volume, **_STRIPED))
        kept = self.trashed()
        self.rbd('mv', f'volumes/{volume.name}', 'volumes/elsewhere')
        marker.write(volume.id, marker.Marker('req-1', 'type', '123'))
        log = self.useFixture(fixtures.FakeLogger())
        trash.remove_expired(self.driver, is_full=True)
        self.assertEqual(kept, self.trashed())
        self.assertNotIn('has no image', log.output)

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
        self.assertIsNone(marker.refusal(self.recorded(volume)))

    def test_keys_that_a_client_writes_back_are_removed(self) -> None:
        """A client replaces all metadata that it read before the retype."""
        own = {keys.OBJECT_SIZE: '4M', 'a': 'b'}
        volume = self.filled_volume(metadata=own)
        remove = leftovers.remove_keys

        def late(*args: Any) -> None:
            remove(*args)
            db.volume_metadata_update(self.admin, volume.id, own, True)

        with mock.patch.object(leftovers, 'remove_keys', late):
            self.begin(volume)
            type_id = self.make_type(
                rbd_object_size='1M', rbd_tenant_options=''
            )
            new_type = objects.VolumeType.get_by_id(self.admin, type_id)
            self.driver.retype(self.context, volume, new_type, {}, None)
        metadata = db.volume_metadata_get(self.admin, volume.id)
        self.assertEqual(own, dict(metadata))
        self.update(volume, {'status': 'available', 'volume_type_id': type_id})
        self.driver._recovery.recover_all()
        metadata = db.volume_metadata_get(self.admin, volume.id)
        self.assertEqual({'a': 'b'}, dict(metadata))

    def test_snapshot_is_kept_while_its_volume_is_retyped(self) -> None:
        """The volume in the request is older than its retype."""
        volume = self.filled_volume()
        snapshot = objects.Snapshot.get_by_id(
            self.context, volume.snapshots[0].id
        )
        self.assertEqual('available', snapshot.volume.status)
        self.begin(volume)
        marker.begin(
            volume.id, marker.Marker('req-1', self.make_type(), '123')
        )
        # As between the renames of a swap.
        rbd.RBD().rename(self.cluster.ioctx(), volume.name, 'elsewhere')
        briefly = functools.partial(volume_use.using_snapshot, wait=3)
        with mock.patch.object(volume_use, 'using_snapshot', briefly):
            self.assertRaises(
                exception.SnapshotIsBusy, self.driver.delete_snapshot, snapshot
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
        with self.during(
            'make', lambda copy: self._write(copy.images.copy_name, at)
        ):
            self.check_refused(volume, 'the copy was not correct')
        self.override_backend(self.driver, 'rbd_conversion_verify', False)
        sums = self.sums(volume)
        with self.during(
            'make', lambda copy: self._write(copy.images.copy_name, at)
        ):
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
            with self.cluster.image(copy.images.copy_name) as image:
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
    def test_failure_before_the_swap_leaves_it_old(
        self, error: Exception
    ) -> None:
        volume = self.filled_volume()
        with self.during('compare', self._fail(error)):
            self.check_refused(volume, '')

    @ddt.data(
        rados.TimedOut('x'),
        rbd.ConnectionShutdown('x'),
        exception.VolumeBackendAPIException(data='x'),
    )
    def test_failure_after_the_swap_is_repeated(
        self, error: Exception
    ) -> None:
        volume = self.filled_volume()
        sums = self.sums(volume)
        failures = [error, error]
        complete = self.driver._retypes.complete

        def fail(*args: Any) -> Any:
            if failures:
                raise failures.pop()
            return complete(*args)

        with mock.patch.object(self.driver._retypes, 'complete', fail):
            self.assertTrue(self.retype(volume, **_STRIPED))
        self.assertEqual([], failures)
        self.check_copied(volume, sums)

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
                marker.Superseded, self.retype, volume, **_STRIPED
            )
        self.assertEqual([volume.name], self.cluster.names())

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
                marker.Superseded, self.retype, volume, **_STRIPED
            )
        make.assert_not_called()

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
            places.Places, '_reserve', autospec=True, return_value=None
        ):
            self.check_refused(volume, 'Ceph could not copy')


@ddt.ddt
class InterruptedTest(RetypeTestCase):
    """States that a killed service leaves, each with one image."""

    def setUp(self) -> None:
        super().setUp()
        self.type_id = self.make_type(**_STRIPED)
        self.volume = self.filled_volume()
        self.before = self.sums(self.volume)
        self.begin(self.volume)
        self.source_id = self.image_id(self.volume)
        mark = marker.Marker(
            'req-7e9d4c1a-1111-4222-8333-444455556666',
            self.type_id,
            self.source_id,
        )
        self.images = swap.Images(self.driver, self.volume.name, mark)
        copy = copies.Copy(self.images)
        new_type = objects.VolumeType.get_by_id(self.admin, self.type_id)
        decided = self.driver._retypes.make_plan(self.volume, new_type)
        copy.make(decided.target.state, lambda percent: None)
        copy_id = copy.complete(decided.target.state)
        self.mark = marker.write(
            self.volume.id, dataclasses.replace(mark, copy_id=copy_id)
        )
        self.kept = swap.kept_name(self.volume.name, self.source_id)

    def recovered(self, is_new: bool) -> None:
        """Recover, and check the volume."""
        self.driver._recovery.recover_all()
        volume = self.read_again(self.volume)
        self.assertEqual('available', volume.status)
        self.assertEqual(is_new, volume.volume_type_id == self.type_id)
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual([self.kept] if is_new else [], self.trashed())
        self.assertEqual(self.before, self.sums(volume))
        if is_new:
            self.check_copied(volume, self.before)
            for each in volume.snapshots:
                self.assertEqual(self.type_id, each.volume_type_id)

    def _half_renamed(self, source: str, target: str, ident: str) -> None:
        """Create the new name of an image, as librbd's rename does first."""
        self.cluster.ioctx().write_full(f'rbd_id.{target}', _text(ident))

    def _listed(self, source: str, target: str, ident: str) -> None:
        """Change the directory, as librbd's rename does next."""
        self.cluster.ioctx().execute(
            'rbd_directory',
            'rbd',
            'dir_rename_image',
            _text(source) + _text(target) + _text(ident),
        )

    def test_copy_that_is_not_verified_is_removed(self) -> None:
        marker.write(
            self.volume.id, dataclasses.replace(self.mark, copy_id='')
        )
        self.recovered(is_new=False)
        self.assertIn('interrupted', self.recorded(self.volume)['rbd:message'])

    def test_partial_copy_is_removed(self) -> None:
        """librbd had created the name of the copy and nothing else."""
        marker.write(
            self.volume.id, dataclasses.replace(self.mark, copy_id='')
        )
        rbd.RBD().trash_move(self.cluster.ioctx(), self.images.copy_name)
        self._half_renamed('', self.images.copy_name, 'abcdef')
        self.driver._recovery.recover_all()
        self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual([], self.trashed())

    def test_verified_copy_is_removed_before_the_swap(self) -> None:
        self.recovered(is_new=False)

    def test_source_with_two_names_is_kept(self) -> None:
        """With its name, a client may have opened and changed it."""
        self._half_renamed(self.volume.name, self.kept, self.source_id)
        self.recovered(is_new=False)

    def test_source_with_two_names_and_one_entry_is_kept(self) -> None:
        names = self.volume.name, self.kept, self.source_id
        self._half_renamed(*names)
        self._listed(*names)
        self.recovered(is_new=False)

    def test_late_swap_does_not_replace_a_volume_that_was_given_back(
        self,
    ) -> None:
        """The service was stopped between the copy and the swap."""
        self.recovered(is_new=False)
        for name in (None, self.kept):
            if name:
                # It was stopped between the renames.
                rbd.RBD().rename(self.cluster.ioctx(), self.volume.name, name)
            self.assertRaises(
                swap.CopyFailed, self.images.swap, self.mark.copy_id
            )
            self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual(self.before, self.sums(self.volume))

    def test_copy_that_cannot_be_removed_keeps_the_status(self) -> None:
        """A late swap could replace a volume that is in use again."""
        with mock.patch.object(
            trash, 'discard', autospec=True, side_effect=rbd.Timeout('x')
        ):
            self.driver._recovery.recover_all()
        self.assertEqual('retyping', self.read_again(self.volume).status)
        self.recovered(is_new=False)

    def test_volume_without_image_gets_the_copy(self) -> None:
        """The service was killed between the renames."""
        rbd.RBD().rename(self.cluster.ioctx(), self.volume.name, self.kept)
        self.recovered(is_new=True)

    def test_swap_is_completed_after_a_time_with_another_pool(self) -> None:
        """The back end had failed over, or its pool was wrong."""
        ioctx = self.cluster.ioctx()
        rbd.RBD().rename(ioctx, self.volume.name, self.kept)
        for pool, status in ('volumes2', 'error'), ('volumes', 'retyping'):
            self.driver.configuration.rbd_pool = pool
            self.update(self.volume, {'status': status})
            self.driver._recovery.recover_all()
        self.recovered(is_new=True)

    def test_copy_with_two_names_is_renamed(self) -> None:
        ioctx = self.cluster.ioctx()
        rbd.RBD().rename(ioctx, self.volume.name, self.kept)
        names = self.images.copy_name, self.volume.name, self.mark.copy_id
        self._half_renamed(*names)
        self._listed(*names)
        self.recovered(is_new=True)

    def test_swapped_image_gets_its_type(self) -> None:
        self.images.swap(self.mark.copy_id)
        self.recovered(is_new=True)

    @ddt.data(0, 1, 2)
    def test_swap_is_undone_if_the_new_type_was_deleted(
        self, kill_at: int
    ) -> None:
        self.images.swap(self.mark.copy_id)
        volume_types.destroy(self.admin, self.type_id)
        rename, renamed = swap.Images.rename, []

        def interrupted(*args: Any) -> None:
            renamed.append(args)
            # The first call finds that the swap is complete.
            if kill_at and len(renamed) == 1 + kill_at:
                raise RuntimeError('interrupted')
            rename(*args)

        with mock.patch.object(swap.Images, 'rename', interrupted):
            if kill_at:
                self.driver._recovery.recover_all()
                status = self.read_again(self.volume).status
                self.assertEqual('retyping', status)
            self.recovered(is_new=False)
        self.assertIn('interrupted', self.recorded(self.volume)['rbd:message'])
        self.assertEqual(_PLAIN, self.layout_of(self.volume))

    def test_source_gets_its_name_back_if_the_copy_is_lost(self) -> None:
        ioctx = self.cluster.ioctx()
        rbd.RBD().rename(ioctx, self.volume.name, self.kept)
        trash.discard(self.images)
        self.recovered(is_new=False)

    def test_deletion_of_an_interrupted_retype_leaves_nothing(self) -> None:
        rbd.RBD().rename(self.cluster.ioctx(), self.volume.name, self.kept)
        self.update(self.volume, {'status': 'deleting'})
        volume = self.read_again(self.volume)
        self.delete(volume)
        self.assertEqual([], [*self.cluster.names(), *self.trashed()])

    def test_image_that_is_given_away_has_its_name_again(self) -> None:
        """After that, nothing knows the marker, and the other image."""
        rbd.RBD().rename(self.cluster.ioctx(), self.volume.name, self.kept)
        self.update(self.volume, {'status': 'unmanaging'})
        self.driver.unmanage(self.read_again(self.volume))
        self.assertEqual([self.volume.name], self.cluster.names())
        self.assertEqual([self.kept], self.trashed())
        self.assertEqual(self.before, self.sums(self.volume))

    def test_open_copy_does_not_block_the_volume(self) -> None:
        """The OSDs can keep the watch of a killed client."""
        with self.cluster.image(self.images.copy_name) as image:
            # A client registers its watch with the first write.
            image.write(b'x', 0)
            self.assertFalse(self.driver._recovery.recover_all())
            volume = self.read_again(self.volume)
            self.assertEqual('available', volume.status)
            self.assertIsNone(marker.of_volume(volume.id))
            trash.remove_expired(self.driver, is_full=False)
            self.delete(volume)
            self.assertEqual([self.images.copy_name], self.trashed())
        trash.remove_expired(self.driver, is_full=False)
        self.assertEqual([], [*self.cluster.names(), *self.trashed()])

    def test_status_of_another_request_is_left_alone(self) -> None:
        """The volume is being retyped to another back end."""
        for changed in (
            {'migration_status': 'migrating'},
            {'migration_status': None, 'status': 'available'},
        ):
            marker.write(self.volume.id, self.mark)
            self.update(self.volume, changed)
            self.driver._recovery.recover_all()
            volume = self.read_again(self.volume)
            self.assertNotEqual(self.type_id, volume.volume_type_id)
            self.assertEqual(self.volume.status, volume.status)
            self.assertIsNone(marker.of_volume(volume.id))
        self.update(self.volume, {'status': 'retyping'})
        marker.write(self.volume.id, self.mark)
        # As the API does when it accepts another retype.
        marker.disown(self.volume.id, self.mark.request)
        with mock.patch.object(marker, 'STALE', 70.0):
            self.assertTrue(self.driver._recovery.recover_all())
        self.assertEqual('retyping', self.read_again(self.volume).status)
        # The other request has not begun.
        self.driver._recovery.recover_all()
        self.assertEqual('available', self.read_again(self.volume).status)
        self.assertEqual([self.volume.name], self.cluster.names())

    def test_marker_of_a_running_service_is_left_alone(self) -> None:
        with mock.patch.object(marker, 'STALE', 70.0):
            self.assertTrue(self.driver._recovery.recover_all())
        self.assertEqual('retyping', self.read_again(self.volume).status)
        self.assertEqual(self.mark, marker.of_volume(self.volume.id))
