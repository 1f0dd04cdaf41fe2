# SPDX-License-Identifier: Apache-2.0

"""Removals that were interrupted are completed."""

import contextlib
import time
from typing import Any
from unittest import mock

import ddt
import rbd

from cinder_rbd_ext.trash import entries
from rbd_volume_options import image_handles
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import scan
from tests.functional import filling
from tests.functional import interruptions
from tests.functional.cinder_rbd_ext import connections

_OBJECTS = 200
_MIB = 1 << 20


@ddt.ddt
class InterruptedTest(connections.ConnectionsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(interruptions.ShortWatch(self.cluster))

    def _written(self, object_map: str = 'false') -> tuple[Any, str]:
        """Return a volume with data, and the prefix of its objects."""
        metadata = {'rbd:object_map': object_map, 'rbd:object_size': '4M'}
        volume = self.made_volume(metadata)
        return volume, self._write(volume.name)

    def _write(self, name: str) -> str:
        with self.cluster.image(name) as image:
            for number in range(_OBJECTS):
                image.write(b'x', number * 4 * _MIB)
            prefix = str(image.block_name_prefix())
        self.assertEqual(_OBJECTS, self._objects(prefix))
        return prefix

    def _objects(self, prefix: str) -> int:
        return interruptions.objects(self.cluster, prefix)

    @ddt.data('false', 'true')
    def test_killed_removal_is_completed_by_the_purger(
        self, object_map: str
    ) -> None:
        volume, prefix = self._written(object_map)
        with mock.patch.object(
            image_handles, 'is_slow_to_remove', lambda _: True
        ):
            self.delete_with_record(volume, self.driver)
        ((ident, _),) = self._trashed()
        interruptions.kill_during_removal(
            self.cluster, volume.name, ident=ident
        )
        self.assertIn(self._objects(prefix), range(1, _OBJECTS))
        self._purge()
        self.assertEqual(0, self._objects(prefix))

    def _purge(self) -> None:
        """Purge until the OSD has forgotten killed clients."""
        until = time.monotonic() + 60
        while self._trashed():
            self.assertLess(time.monotonic(), until)
            # As in the purger's thread: the first use of a connection that
            # was refused fails, and the next one has another connection.
            with contextlib.suppress(rbd.ConnectionShutdown):
                self.driver._trash_purge()
            time.sleep(0.5)

    def test_removal_by_the_stock_driver_is_shown_and_completed(self) -> None:
        """The stock driver reports that the image no longer exists."""
        volume, prefix = self._written()
        interruptions.kill_during_removal(self.cluster, volume.name)
        self.assertIn(self._objects(prefix), range(1, _OBJECTS))
        scanned = scan.Cluster(
            self.driver.rados, rbd, self.cluster.conf, 'admin'
        ).scan('volumes')
        self.assertEqual({}, scanned.unreadable)
        (entry,) = scanned.trash
        self.assertEqual(volume.name, entry.name)
        self.assertIs(objects.TrashSource.REMOVING, entry.source)
        # Until the OSD has forgotten the client.
        until = time.monotonic() + 60
        while self._objects(prefix):
            self.assertLess(time.monotonic(), until)
            with contextlib.suppress(rbd.ImageBusy):
                self.driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())

    def test_blocklisted_removal_is_left_to_the_purger(self) -> None:
        self.warm_up()
        volume, prefix = self._written()
        address = self.client().get_addrs()
        move = entries.move

        def blocklist(*how: Any) -> str:
            image_id = move(*how)
            filling.Monitor(self.cluster).blocklist(address)
            return image_id

        with mock.patch.object(
            entries, 'move', autospec=True, side_effect=blocklist
        ):
            self.driver.delete_volume(volume)
        volume.destroy()
        self._purge()
        self.assertEqual(0, self._objects(prefix))

    def test_purge_is_blocklisted(self) -> None:
        """A later purge has a new connection."""
        driver = self.make_driver(
            enable_deferred_deletion=True,
            deferred_deletion_delay=0,
            deferred_deletion_purge_interval=3600,
        )
        for volume in [self.made_volume(driver=driver) for _ in range(4)]:
            self.delete_with_record(volume, driver)
        client = self.client(driver)
        remove = entries.remove

        def blocklist(*how: Any) -> None:
            address = client.get_addrs()
            filling.Monitor(self.cluster).blocklist(address)
            remove(*how)

        with mock.patch.object(
            entries, 'remove', autospec=True, side_effect=blocklist
        ):
            driver._trash_purge()
        self.assertNotEqual([], self._trashed())
        driver._trash_purge()
        driver._trash_purge()
        self.assertEqual([], self._trashed())

    def _trashed(self) -> list[tuple[str, str]]:
        listed = rbd.RBD().trash_list(self.cluster.ioctx())
        return [(entry['id'], entry['name']) for entry in listed]
