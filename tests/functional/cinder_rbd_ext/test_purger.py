# SPDX-License-Identifier: Apache-2.0

"""Test deletions that are left to the purger, and the purger.

The environment variable ``RBD_TEST_KILLS`` sets the number of lines of code at
which each of them is killed, ``RBD_TEST_SEED`` the seed of the first line, and
``RBD_TEST_FAMILIES`` how often a restored volume and a clone are deleted.
"""

from collections.abc import Callable
import contextlib
import functools
import itertools
import json
import os
import pathlib
import random
import struct
import sys
import threading
import time
from typing import Any
from unittest import mock
import uuid

from cinder import exception
from cinder.volume.drivers import rbd as stock_rbd
import ddt
import fixtures
import rados
import rbd

import cinder_rbd_ext
from cinder_rbd_ext.trash import entries
from cinder_rbd_ext.trash import purger
from rbd_volume_options import image_handles
from rbd_volume_options import trash_mark
from tests import runs
from tests.functional import filling
from tests.functional.cinder_rbd_ext import base

_FOLDER = str(pathlib.Path(cinder_rbd_ext.__file__).parent)
_KILLED_IN = (
    f'{_FOLDER}/lifecycle/deletion.py',
    f'{_FOLDER}/trash/entries.py',
    f'{_FOLDER}/trash/purger.py',
    f'{_FOLDER}/trash/relatives.py',
)
_KILLS = int(os.environ.get('RBD_TEST_KILLS', '6'))
_SEED = os.environ.get('RBD_TEST_SEED', '0')
_FAMILIES = int(os.environ.get('RBD_TEST_FAMILIES', '1'))
#: Seconds within which a background purge must end.
_SOON = 60.0
_MAY_RENEW = 1
# States of images in the trash.
_NORMAL, _MOVING = 0, 1


class _Killed(BaseException):
    """The process ends here."""


def _lines_until(number: int, function: Callable[[], None]) -> int:
    """Run a function until a line of the code; return the lines that ran.

    :param number: of the line at which it is killed; 0 for none
    """
    lines = 0

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in _KILLED_IN:
            return None
        if event == 'line':
            lines += 1
            if lines == number:
                raise _Killed
        return trace

    sys.settrace(trace)
    try:
        function()
    except _Killed:
        pass
    finally:
        sys.settrace(None)
    return lines


class PurgerTestCase(base.DriverTestCase):
    """A volume of 32 objects has many, and something purges the trash."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(f'{image_handles.__name__}.MANY', 16)
        )
        self.addCleanup(self.empty_trash)
        # An earlier test may have been killed while it had the lease.
        with contextlib.suppress(rados.ObjectNotFound):
            self.cluster.ioctx().remove_object(purger.OBJECT)
        self.plain = self.make_type(
            rbd_features='layering', rbd_object_size='32M'
        )

    def long(self, **kwargs: Any) -> Any:
        """Return a volume whose removal takes long."""
        return self.made_volume(volume_type=self.plain, **kwargs)

    def trashed(self) -> list[str]:
        """Return the names of the images in the trash, in order."""
        listed = rbd.RBD().trash_list(self.cluster.ioctx())
        return sorted(entry['name'] for entry in listed)

    def empty_trash(self) -> None:
        """Remove all images in the trash."""
        ioctx = self.cluster.ioctx()
        for _ in range(3):
            for entry in list(rbd.RBD().trash_list(ioctx)):
                try:
                    rbd.RBD().trash_remove(ioctx, entry['id'], force=True)
                except rbd.Error:
                    self._unprotect(entry['id'])

    def _unprotect(self, image_id: str) -> None:
        with rbd.Image(self.cluster.ioctx(), image_id=image_id) as image:
            for name in image_handles.snapshot_names(image):
                image_handles.remove_snapshot(image, name)

    def entries(self) -> list[entries.Entry]:
        """Return the entries that the driver has made."""
        return entries.Marks(self.driver).entries(self.cluster.ioctx())

    def blocker(self) -> str:
        """Return what blocks the only entry."""
        (entry,) = self.entries()
        _, blocker = trash_mark.read(
            rados, self.cluster.ioctx(), entry.image_id
        )
        return blocker

    def objects(self) -> list[str]:
        """Return the objects of images in the pool."""
        return sorted(
            each.key
            for each in self.cluster.ioctx().list_objects()
            if each.key.startswith(('rbd_data.', 'rbd_header.', 'rbd_id.'))
        )

    def write(self, volume: Any, number: int = 4) -> None:
        """Write the first objects of an image."""
        with self.cluster.image(volume.name) as image:
            for index in range(number):
                image.write(b'content', index << 25)

    def clone(self, source: Any) -> Any:
        """Return a clone of a volume."""
        volume = self.new_volume(
            size=source.size,
            source_volid=source.id,
            volume_type=source.volume_type_id,
        )
        made = self.driver.create_cloned_volume(volume, source)
        self.update(volume, made)
        return volume

    def restored(self, snapshot: Any, volume: Any) -> Any:
        """Return a volume from a snapshot of a volume."""
        made = self.new_volume(
            size=volume.size, volume_type=volume.volume_type_id
        )
        update = self.driver.create_volume_from_snapshot(made, snapshot)
        self.update(made, update)
        return made

    def delete_snapshot(self, snapshot: Any) -> None:
        """Delete a snapshot and its record."""
        self.driver.delete_snapshot(snapshot)
        snapshot.destroy()

    def purge(self, times: int = 4) -> None:
        """Purge until parents are gone too."""
        for _ in range(times):
            self.driver._trash_purge()

    def check_nothing_is_left(self) -> None:
        """Check that no image is left, in the pool or in its trash."""
        self.assertEqual(([], []), (self.cluster.names(), self.trashed()))
        # The OSD still trims objects of snapshots, also those of other tests.
        until = time.monotonic() + _SOON
        while self.objects() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual([], self.objects())


class LongDeletionTest(PurgerTestCase):
    """The volume is gone at once, its data later."""

    def test_image_with_many_objects_goes_to_the_trash(self) -> None:
        volume = self.long()
        self.write(volume)
        self.delete_with_record(volume, self.driver)
        self.assertEqual([], self.cluster.names())
        (entry,) = self.entries()
        self.assertEqual(
            (volume.name, trash_mark.DELETED, 'project', volume.id, 1 << 30),
            (
                entry.name,
                entry.mark.kind,
                entry.mark.project,
                entry.mark.volume,
                entry.mark.size,
            ),
        )
        self.purge(1)
        self.check_nothing_is_left()

    def test_image_with_few_objects_is_removed_at_once(self) -> None:
        mapped = self.make_type(rbd_object_map='true', rbd_object_size='32M')
        for written, is_moved in ((0, False), (15, False), (16, True)):
            volume = self.made_volume(volume_type=mapped)
            self.write(volume, written)
            self.delete_with_record(volume, self.driver)
            self.assertEqual(
                [volume.name] if is_moved else [], self.trashed(), written
            )

    def test_repeated_deletion_finds_no_image(self) -> None:
        volume = self.long()
        self.driver.delete_volume(volume)
        self.driver.delete_volume(volume)
        self.purge(1)
        self.check_nothing_is_left()

    def test_image_that_a_client_has_open_waits_in_the_trash(self) -> None:
        """Its deletion was accepted, and nobody may repeat it."""
        for type_id in (self.plain, self.make_type(rbd_object_map='true')):
            volume = self.made_volume(volume_type=type_id)
            with self.cluster.image(volume.name) as image:
                image.write(b'content', 0)
                self.delete_with_record(volume, self.driver)
                self.assertEqual([], self.cluster.names())
                self.purge(1)
                self.assertEqual(trash_mark.CLIENTS, self.blocker())
                self.assertEqual(b'content', image.read(0, 7))
            self.purge(1)
            self.check_nothing_is_left()

    def test_member_of_a_group_of_images_is_found_before_the_move(
        self,
    ) -> None:
        """librbd moves it, and then cannot remove it."""
        volume = self.long()
        ioctx = self.cluster.ioctx()
        rbd.RBD().group_create(ioctx, 'group')
        self.addCleanup(rbd.RBD().group_remove, ioctx, 'group')
        group = rbd.Group(ioctx, 'group')
        group.add_image(ioctx, volume.name)
        error = self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.delete_volume,
            volume,
        )
        self.assertIn('rbd group image rm', str(error))
        self.assertEqual([volume.name], self.cluster.names())
        group.remove_image(ioctx, volume.name)

    def test_image_in_a_live_migration_stays(self) -> None:
        volume = self.long()
        ioctx = self.cluster.ioctx()
        rbd.RBD().migration_prepare(ioctx, volume.name, ioctx, volume.name)
        self.assertRaises(
            exception.VolumeIsBusy, self.driver.delete_volume, volume
        )
        rbd.RBD().migration_abort(ioctx, volume.name)
        self.assertEqual([volume.name], self.cluster.names())

    def test_full_pool(self) -> None:
        volumes = [self.long() for _ in range(3)]
        with contextlib.suppress(rados.ObjectNotFound):
            self.cluster.ioctx().remove_object('rbd_trash')
        with mock.patch.object(threading.Thread, 'start', autospec=True):
            self.driver.purger.start()
        monitor = filling.Monitor(self.cluster)
        monitor.set_quota('volumes', 1)
        self.addCleanup(monitor.reset, 'volumes')
        monitor.wait('volumes', full=True)
        for volume in volumes:
            self.delete_with_record(volume, self.driver)
        self.assertEqual(3, len(self.trashed()))
        with stock_rbd.RADOSClient(self.driver) as client:
            self.assertFalse(self.driver.purger._is_degraded(client))
            self.assertTrue(self.driver.purger._has_lease(client.ioctx, 0))
        self.purge(1)
        self.check_nothing_is_left()


@runs.tags(runs.DEBIAN)
@ddt.ddt
class RelativesTest(PurgerTestCase):
    """Nothing is left, in any order of deletion, long or quick."""

    @ddt.data(*itertools.permutations(range(3)))
    def test_chain_of_long_deletions(self, order: tuple[int, ...]) -> None:
        for type_id in (self.plain, None):
            first = self.made_volume(volume_type=type_id)
            self.write(first)
            second = self.clone(first)
            volumes = (first, second, self.clone(second))
            for index in order:
                self.delete_with_record(volumes[index], self.driver)
            self.purge()
            self.check_nothing_is_left()

    @ddt.data(*itertools.permutations(range(3)))
    def test_restored_volume_and_clone(self, order: tuple[int, ...]) -> None:
        """The parent of the restored one is a snapshot that was deleted."""
        for type_id in [None, *[self.plain] * _FAMILIES]:
            source = self.made_volume(volume_type=type_id)
            snapshot = self.new_snapshot(source)
            restored = self.restored(snapshot, source)
            volumes = (source, self.clone(source), restored)
            self.delete_snapshot(snapshot)
            for index in order:
                self.delete_with_record(volumes[index], self.driver)
            self.purge()
            self.check_nothing_is_left()

    def test_parent_is_released_after_its_child_is_gone(self) -> None:
        source = self.long()
        clone = self.clone(source)
        self.delete_with_record(clone, self.driver)
        self.delete_with_record(source, self.driver)
        self.assertEqual([f'{source.name}.deleted'], self.cluster.names())
        self.assertEqual([clone.name], self.trashed())
        self.purge(1)
        # The source goes to the trash, as it has many objects.
        self.assertEqual([source.name + '.deleted'], self.trashed())
        self.purge(1)
        self.check_nothing_is_left()

    def test_snapshot_whose_clone_is_in_the_trash_is_deleted(self) -> None:
        """With version 1 of clones, librbd refuses to unprotect it."""
        for version in ('1', '2'):
            self.rbd(
                *('config', 'pool', 'set', 'volumes'),
                *('rbd_default_clone_format', version),
            )
            source = self.long()
            snapshot = self.new_snapshot(source)
            restored = self.restored(snapshot, source)
            self.delete_with_record(restored, self.driver)
            self.assertEqual([restored.name], self.trashed())
            self.delete_snapshot(snapshot)
            with self.cluster.image(source.name) as image:
                self.assertNotIn(
                    snapshot.name, image_handles.snapshot_names(image)
                )
            self.delete_with_record(source, self.driver)
            self.purge()
            self.check_nothing_is_left()
        self.rbd(
            *('config', 'pool', 'rm', 'volumes', 'rbd_default_clone_format')
        )

    def test_live_clones_of_deleted_snapshots_are_flattened(self) -> None:
        source = self.long()
        self.write(source)
        snapshot = self.new_snapshot(source)
        restored = self.restored(snapshot, source)
        self.delete_snapshot(snapshot)
        self.delete_with_record(source, self.driver)
        self.purge(1)
        self.assertEqual([], self.trashed())
        with self.cluster.image(restored.name) as image:
            self.assertEqual(b'content', image.read(0, 7))
            self.assertRaises(rbd.ImageNotFound, image.parent_info)

    def test_source_of_a_clone_that_was_flattened_or_migrated(self) -> None:
        for end in ('flatten', 'migrate'):
            source = self.made_volume()
            clone = self.clone(source)
            self.delete_with_record(source, self.driver)
            if end == 'flatten':
                self.rbd('flatten', f'volumes/{clone.name}')
            else:
                self.rbd(
                    *('deep', 'cp', '--flatten', f'volumes/{clone.name}'),
                    f'volumes2/{clone.name}',
                )
                rbd.RBD().remove(self.cluster.ioctx(), clone.name)
            self.purge(1)
            self.assertNotIn(f'{source.name}.deleted', self.cluster.names())

    def test_foreign_deleted_source_stays(self) -> None:
        """It only looks like the source of deleted clones."""
        name = f'{self.new_volume().name}.deleted'
        rbd.RBD().create(self.cluster.ioctx(), name, 1 << 22)
        self.purge(1)
        self.assertEqual([name], self.cluster.names())


@ddt.ddt
class OwnershipTest(PurgerTestCase):
    """Only images that the driver has moved to the trash are removed."""

    def _move(self, name: str) -> None:
        rbd.RBD().trash_move(self.cluster.ioctx(), name, 0)

    def test_image_that_an_operator_moved_stays(self) -> None:
        volume = self.long()
        self._move(volume.name)
        self.purge(1)
        self.assertEqual([volume.name], self.trashed())

    def test_clone_of_a_marked_image_stays(self) -> None:
        """Clones inherit the mark, with the metadata of their parent."""
        source = self.long()
        ioctx = self.cluster.ioctx()
        mark = trash_mark.Mark(trash_mark.DELETED, 'project', source.id)
        entries.write_mark(self.driver, ioctx, source.name, mark)
        clone = self.clone(source)
        self._move(clone.name)
        self.purge(1)
        self.assertEqual([clone.name], self.trashed())

    def test_image_that_was_restored_and_moved_again_stays(self) -> None:
        volume = self.long()
        ioctx = self.cluster.ioctx()
        self.delete_with_record(volume, self.driver)
        (entry,) = self.entries()
        rbd.RBD().trash_restore(ioctx, entry.image_id, volume.name)
        self.purge(1)
        self.assertEqual([volume.name], self.cluster.names())
        later = time.time() - trash_mark.LATEST - 60
        with mock.patch.object(
            time, 'time', autospec=True, return_value=later
        ):
            entries.write_mark(self.driver, ioctx, volume.name, entry.mark)
        self._move(volume.name)
        self.purge(1)
        self.assertEqual([volume.name], self.trashed())

    @ddt.data(trash_mark.KEPT, trash_mark.COPY)
    def test_image_of_a_volume_of_another_cloud_stays(self, kind: str) -> None:
        """Only that cloud knows which image the volume has."""
        name = self.long().name
        mark = trash_mark.Mark(kind, 'project', str(uuid.uuid4()))
        entries.move(self.driver, self.cluster.ioctx(), name, mark)
        self.purge(1)
        self.assertEqual([name], self.trashed())

    def test_image_that_has_its_name_stays(self) -> None:
        """librbd's move to the trash was interrupted."""
        volume = self.long()
        ioctx = self.cluster.ioctx()
        name = f'rbd_id.{volume.name}'
        content = ioctx.read(name)
        self.delete_with_record(volume, self.driver)
        ioctx.write_full(name, content)
        self.purge(1)
        self.assertEqual([volume.name], self.trashed())
        ioctx.remove_object(name)


class InterruptedMoveTest(PurgerTestCase):
    """librbd's move to the trash was killed."""

    def test_image_without_a_name_is_removed(self) -> None:
        volume = self.long()
        ioctx = self.cluster.ioctx()
        self.delete_with_record(volume, self.driver)
        (entry,) = self.entries()
        self._set_state(entry.image_id, _MOVING)
        self.assertRaises(
            rbd.OSError, rbd.RBD().trash_remove, ioctx, entry.image_id, True
        )
        self.purge(1)
        self.check_nothing_is_left()

    def test_image_that_has_got_the_name_since_stays(self) -> None:
        volume = self.long()
        self.delete_with_record(volume, self.driver)
        (entry,) = self.entries()
        self._set_state(entry.image_id, _MOVING)
        self.rbd('create', '--size', '1G', f'volumes/{volume.name}')
        self.purge(1)
        self.assertEqual([volume.name], self.cluster.names())
        # The entry is removed when the name is free.
        self.rbd('rm', f'volumes/{volume.name}')
        self.purge(1)
        self.check_nothing_is_left()

    def _set_state(self, image_id: str, state: int) -> None:
        data = struct.pack('<I', len(image_id)) + image_id.encode()
        data += struct.pack('<II', state, _NORMAL)
        self.cluster.ioctx().execute(
            'rbd_trash', 'rbd', 'trash_state_set', data
        )

    def test_entry_without_an_image_is_removed(self) -> None:
        """Its removal was killed after its last step but one."""
        volume = self.long()
        self.delete_with_record(volume, self.driver)
        (entry,) = self.entries()
        ioctx = self.cluster.ioctx()
        ioctx.remove_object(f'rbd_header.{entry.image_id}')
        self.driver.purger = purger.Purger(self.driver)
        self.purge(1)
        self.assertEqual([], self.trashed())


class DelayTest(PurgerTestCase):
    """Former images stay in the trash for their time, deleted ones may."""

    def _keep(self, volume: Any, delay: int = 3600) -> str:
        """Hand the image of another volume over as a former one."""
        name = str(self.long().name)
        with stock_rbd.RADOSClient(self.driver) as client:
            entries.keep(self.driver, client.ioctx, name, volume.id, delay)
            entries.keep(self.driver, client.ioctx, name, volume.id, delay)
        return name

    def test_former_image_is_kept_and_then_removed_with_its_snapshots(
        self,
    ) -> None:
        volume = self.long()
        former = self._keep(volume)
        self.purge(1)
        self.assertEqual([former], self.trashed())
        self.empty_trash()
        other = self.long()
        self.new_snapshot(other)
        with stock_rbd.RADOSClient(self.driver) as client:
            entries.keep(self.driver, client.ioctx, other.name, volume.id, 0)
        self.purge(1)
        self.assertEqual([], self.trashed())

    def test_only_the_last_former_image_of_a_volume_is_kept(self) -> None:
        volume = self.long()
        self._keep(volume)
        last, other = self._keep(volume), self._keep(self.long())
        self.purge(1)
        self.assertEqual(sorted([last, other]), self.trashed())

    def test_former_image_of_a_deleted_volume_is_removed(self) -> None:
        volume = self.made_volume()
        self._keep(volume)
        self.delete_with_record(volume, self.driver)
        self.purge(1)
        self.assertEqual([], self.trashed())

    def test_former_images_are_removed_if_the_pool_has_little_space(
        self,
    ) -> None:
        self._keep(self.long())
        self.driver._stats.update(free_capacity_gb=9.0, total_capacity_gb=100)
        self.purge(1)
        self.assertEqual([], self.trashed())

    def test_image_that_a_volume_has_is_not_removed(self) -> None:
        volume = self.long()
        with stock_rbd.RADOSClient(self.driver) as client:
            entries.keep(self.driver, client.ioctx, volume.name, volume.id, 0)
        self.purge(1)
        self.assertEqual([volume.name], self.trashed())

    def test_former_image_with_the_only_snapshot_stays(self) -> None:
        """A service that was stopped has made it after the copy."""
        volume, former = self.long(), self.long()
        snapshot = self.new_snapshot(former)
        with stock_rbd.RADOSClient(self.driver) as client:
            entries.keep(self.driver, client.ioctx, former.name, volume.id, 0)
        snapshot.volume_id = volume.id
        snapshot.save()
        self.purge(1)
        self.assertEqual([former.name], self.trashed())
        self.assertEqual(trash_mark.SNAPSHOTS, self.blocker())
        snapshot.destroy()
        self.purge(1)
        self.assertEqual([], self.trashed())

    def test_copy_is_discarded_at_once(self) -> None:
        volume, copy = self.long(), self.long()
        self.new_snapshot(copy)
        with stock_rbd.RADOSClient(self.driver) as client:
            with self.cluster.image(copy.name) as image:
                image.write(b'content', 0)
                entries.discard(
                    self.driver, client.ioctx, copy.name, volume.id
                )
            self.assertEqual([copy.name], self.trashed())
            entries.discard(self.driver, client.ioctx, copy.name, volume.id)
        self.assertEqual([], self.trashed())


class BackgroundTest(PurgerTestCase):
    """The purger in a service."""

    def setUp(self) -> None:
        super().setUp()
        self.removed: list[str] = []
        self.running = self.most = 0
        remove = entries.remove

        def slowly(driver: Any, ioctx: Any, entry: Any, *how: Any) -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            time.sleep(0.3)
            remove(driver, ioctx, entry, *how)
            self.running -= 1
            self.removed.append(entry.mark.project)

        self.patch(f'{entries.__name__}.remove', slowly)
        for name, value in (('INTERVAL', 0.5), ('RENEWAL', 0.5)):
            self.patch(f'{purger.__name__}.{name}', value)

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + _SOON
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)

    def _stop(self, driver: Any) -> None:
        driver.purger._has_lease = lambda *_: False
        driver.purger.wake()
        self._wait(lambda: not driver.purger._running)

    def test_projects_take_turns(self) -> None:
        many = [self.long() for _ in range(8)]
        self.context.project_id = 'other'
        one = self.long()
        for volume in (*many, one):
            self.delete_with_record(volume, self.driver)
        self.driver.purger.start()
        self.addCleanup(self._stop, self.driver)
        self._wait(lambda: len(self.removed) == 9)
        self.assertLess(self.removed.index('other'), 4)
        self.assertLessEqual(self.most, 4)
        self._wait(lambda: not self.trashed())
        self.check_nothing_is_left()

    def test_only_the_holder_of_the_lease_purges(self) -> None:
        lease = purger.OBJECT, 'purger', 'another', ''
        attempts: list[bool] = []
        has_lease = purger.Purger._has_lease

        def noted(own: purger.Purger, *how: Any) -> bool:
            attempts.append(has_lease(own, *how))
            return attempts[-1]

        self.patch(f'{purger.__name__}.Purger._has_lease', noted)
        with stock_rbd.RADOSClient(self.driver) as client:
            # Longer than the test may take.
            client.ioctx.lock_exclusive(*lease, 600)
            self.delete_with_record(self.long(), self.driver)
            self.driver.purger.start()
            self.addCleanup(self._stop, self.driver)
            self._wait(lambda: len(attempts) > 2)
            self.assertEqual([False] * 3, attempts[:3])
            self.assertEqual(1, len(self.trashed()))
            # The lease of a killed service ends by itself.
            client.ioctx.lock_exclusive(*lease, 1, _MAY_RENEW)
            self._wait(lambda: not self.trashed())
            self.assertRaises(
                rados.ObjectBusy, client.ioctx.lock_exclusive, *lease, 1
            )

    def test_outage_of_the_monitors_takes_no_place(self) -> None:
        """A removal that began in it could not connect until its end."""
        log = self.useFixture(fixtures.FakeLogger())
        first, second = self.long(), self.long()
        self.driver.purger.start()
        self.addCleanup(self._stop, self.driver)
        self.delete_with_record(first, self.driver)
        self._wait(lambda: not self.trashed())
        with self.cluster.daemons.paused('mon'):
            self.delete_with_record(second, self.driver)
            self._wait(lambda: 'no monitor responds' in log.output)
            self.assertEqual({}, self.driver.purger._running)
        self._wait(lambda: not self.trashed())

    def test_purge_waits_for_a_degraded_cluster_but_not_for_a_full_one(
        self,
    ) -> None:
        checks: dict[str, Any] = {'PG_DEGRADED': {}}

        def answer(*_: Any) -> Any:
            return 0, json.dumps({'checks': checks}), ''

        self.delete_with_record(self.long(), self.driver)
        with stock_rbd.RADOSClient(self.driver) as client:
            cluster = mock.Mock(mon_command=answer)
            seen = mock.Mock(cluster=cluster, ioctx=client.ioctx)
            self.driver.purger._begin(seen)
            self.assertEqual(1, len(self.trashed()))
            checks['OSD_NEARFULL'] = {}
            self.driver.purger._begin(seen)
            self._wait(lambda: not self.trashed())
            self._wait(lambda: not self.driver.purger._running)

    def test_rate_limits_a_removal(self) -> None:
        self.override_backend(self.driver, 'rbd_purge_rate', 64)
        volume = self.long()
        self.delete_with_record(volume, self.driver)
        began = time.monotonic()
        self.purge(1)
        self.assertEqual([], self.trashed())
        # One of four purges, of 32 objects.
        self.assertGreater(time.monotonic() - began, 1.5)


@ddt.ddt
class KilledTest(PurgerTestCase):
    """A kill at any line leaves nothing after a repetition."""

    def _make(self, kind: str) -> list[Any]:
        source = self.long()
        if kind == 'source':
            clone = self.clone(source)
            self.driver.delete_volume(clone)
            return [source]
        if kind == 'clone':
            clone = self.clone(source)
            self.delete_with_record(source, self.driver)
            return [clone]
        return [source]

    def _kill(self, attempt: Callable[[int], int]) -> None:
        """Let a test run to its end, then kill it at lines of all steps.

        :param attempt: runs the test until a line, and returns the lines
        """
        lines = attempt(0)
        self.assertGreater(lines, 20)
        stride = max(1, lines // _KILLS)
        first = random.Random(_SEED).randint(1, stride)
        for line in range(first, lines + 1, stride):
            attempt(line)

    @ddt.data('plain', 'source', 'clone')
    def test_deletion_that_is_killed_is_repeated(self, kind: str) -> None:
        def attempt(line: int) -> int:
            (volume,) = self._make(kind)
            delete = functools.partial(self.driver.delete_volume, volume)
            lines = _lines_until(line, delete)
            # Cinder begins it again when the service starts.
            self.driver.delete_volume(volume)
            volume.destroy()
            self.purge()
            self.check_nothing_is_left()
            return lines

        self._kill(attempt)

    @ddt.data('plain', 'clone')
    def test_purge_that_is_killed_is_repeated(self, kind: str) -> None:
        def attempt(line: int) -> int:
            (volume,) = self._make(kind)
            self.delete_with_record(volume, self.driver)
            lines = _lines_until(line, self.driver._trash_purge)
            self.driver.purger = purger.Purger(self.driver)
            self.purge()
            self.check_nothing_is_left()
            return lines

        self._kill(attempt)
