# SPDX-License-Identifier: Apache-2.0

"""Volumes on OSDs that are full."""

from typing import Any

from cinder import exception
import ddt
import fixtures

from cinder_rbd_ext import exceptions
from tests.functional import filling
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import connections

# Far below what an empty cluster uses.
_RATIO = 1e-9


@ddt.ddt
class FullClusterTest(base.DriverTestCase):
    """An administrator can free space; nothing hangs."""

    def setUp(self) -> None:
        super().setUp()
        # The timeout is not gentle: Python's signal handlers cannot interrupt
        # librbd.
        self.useFixture(fixtures.Timeout(180, gentle=False))
        # The first removal creates the trash directory of the pool.
        self.volume = self._created()
        self.driver.delete_volume(self.volume)
        self.driver.create_volume(self.volume)
        self.clone = self.new_volume()
        self.driver.create_cloned_volume(self.clone, self.volume)
        self.snapshot = self.new_snapshot(self.volume)
        self.monitor = filling.Monitor(self.cluster)
        self.addCleanup(self.monitor.reset, 'volumes')

    def _created(self) -> Any:
        volume = self.new_volume()
        self.driver.create_volume(volume)
        return volume

    def _fill(self, by_quota: bool = False) -> None:
        if by_quota:
            self.monitor.set_quota('volumes', 1)
        else:
            self.monitor.set_full_ratios(_RATIO)
        self.monitor.wait('volumes', full=True)

    @ddt.data(False, True)
    def test_nothing_is_created_and_volumes_are_deleted(
        self, by_quota: bool
    ) -> None:
        self._fill(by_quota)
        refused = self.new_volume()
        for create in (
            lambda: self.driver.create_volume(refused),
            lambda: self.driver.create_cloned_volume(refused, self.volume),
            lambda: self.driver.create_volume_from_snapshot(
                refused, self.snapshot
            ),
        ):
            self.assertRaises(exceptions.ImageNotMade, create)
            self.assertNotIn(refused.name, self.cluster.names())
        self.driver.initialize_connection(self.volume, connections.CONNECTOR)
        self.driver._update_volume_stats()
        self.driver.delete_snapshot(self.snapshot)
        self.driver.delete_volume(self.clone)
        self.driver.delete_volume(self.volume)
        self.assertEqual([], self.cluster.names())

    def test_pool_without_a_trash(self) -> None:
        """librbd reports that the image does not exist."""
        self.cluster.ioctx().remove_object('rbd_trash')
        self._fill()
        error = self.assertRaises(
            exception.VolumeBackendAPIException,
            self.driver.delete_volume,
            self.clone,
        )
        self.assertIn('its pool is full', str(error))
        self.assertIn(self.clone.name, self.cluster.names())
