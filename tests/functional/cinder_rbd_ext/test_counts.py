# SPDX-License-Identifier: Apache-2.0

"""The cost of each operation, independent of the load of the machine.

The numbers are those of the page on performance. A higher number is a
regression. For a lower number, update the test and the page.

The lock of a volume costs a context, and one statement: the row is read again
under it. Its metadata, attachments and type are read only where they matter.
"""

from collections.abc import Callable
from typing import Any
import uuid

from cinder import objects
from cinder.tests.unit import utils as cinder_utils
import fixtures
from oslo_utils import fixture

from benchmarks import counts
from cinder_rbd_ext import driver
from cinder_rbd_ext import record
from cinder_rbd_ext.cluster import connections
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_CONNECTOR = {'host': 'compute', 'ip': '192.0.2.1', 'initiator': 'iqn.a'}


class CountsTest(base.DriverTestCase):
    """Number of contexts, opened images and database statements."""

    def _costs(
        self,
        expected: tuple[int, int, int],
        call: Callable[..., Any],
        *args: Any,
    ) -> None:
        with counts.counting(self.driver) as counted:
            call(*args)
        self.assertEqual(
            expected, (counted.contexts, counted.opens, counted.statements)
        )
        # No program is run.
        self.assertEqual(0, counted.commands)
        # A driver that shares connections opens fewer.
        self.assertLessEqual(counted.connections, counted.contexts)

    def _loaded(self, **values: Any) -> Any:
        """Return a volume as the volume manager loads it."""
        volume = self.new_volume(**values)
        return objects.Volume.get_by_id(self.admin, volume.id)

    def _snapshot(self, volume: Any) -> Any:
        made = cinder_utils.create_snapshot(
            self.context, volume.id, volume_size=volume.size
        )
        snapshot = objects.Snapshot.get_by_id(self.admin, made.id)
        # Load the snapshot's volume, which the stock driver reads.
        self.assertEqual(volume.name, snapshot.volume_name)
        return snapshot

    def test_life_of_a_plain_volume(self) -> None:
        volume = self._loaded()
        self._costs((1, 0, 2), self.driver.create_volume, volume)
        snapshot = self._snapshot(volume)
        self._costs((2, 1, 1), self.driver.create_snapshot, snapshot)
        clone = self._loaded(snapshot_id=snapshot.id)
        # The stock driver inspects an image once per service start.
        self.driver._show_msg_check_clone_v2_api(volume.name)
        self._costs(
            (3, 1, 3),
            self.driver.create_volume_from_snapshot,
            clone,
            snapshot,
        )
        copy = self._loaded(source_volid=volume.id)
        self._costs((2, 2, 3), self.driver.create_cloned_volume, copy, volume)
        self._costs((2, 1, 5), self.driver.extend_volume, volume, 2)
        attach = self.driver.initialize_connection
        # The addresses of the monitors are cached for some time.
        self.useFixture(
            fixtures.MonkeyPatch(f'{connections.__name__}.ADDRESSES_FOR', 3600)
        )
        self._costs((2, 0, 5), attach, volume, _CONNECTOR)
        self._costs((1, 0, 5), attach, volume, _CONNECTOR)
        self._costs((3, 1, 1), self.driver.delete_volume, clone)
        # Its snapshot of the source is deleted with it, under another lock.
        self._costs((4, 2, 1), self.driver.delete_volume, copy)
        self.driver.delete_snapshot(snapshot)
        self._costs((3, 1, 1), self.driver.delete_volume, volume)
        self.assertEqual([], self.cluster.names())

    def test_volume_with_keys_in_a_data_pool(self) -> None:
        type_id = self.make_type(rbd_data_pool='volumes-data')
        # The data pool is probed every five minutes.
        self.driver.delete_volume(self.made_volume(volume_type=type_id))
        volume = self._loaded(metadata=base.ASKED, volume_type=type_id)
        self._costs((1, 0, 2), self.driver.create_volume, volume)
        self.assertEqual('volumes-data', self.recorded(volume)[keys.DATA_POOL])
        copy = self._loaded(
            metadata={}, volume_type=type_id, source_volid=volume.id
        )
        self._costs((2, 2, 3), self.driver.create_cloned_volume, copy, volume)
        self._costs((2, 1, 5), self.driver.extend_volume, volume, 2)

    def test_retype_in_place(self) -> None:
        # A marker of the same second is not written again.
        self.useFixture(fixture.TimeFixture())
        volume = self._loaded()
        self.driver.create_volume(volume)
        for specs, expected in (
            ({'rbd_cache_mode': 'none'}, (3, 2, 22)),
            # The image is opened to change its features.
            ({'rbd_object_map': 'false'}, (4, 3, 22)),
        ):
            new_type = objects.VolumeType.get_by_id(
                self.admin, self.make_type(**specs)
            )
            with self.retyping(volume):
                self._costs(
                    expected,
                    self.driver.retype,
                    self.context,
                    volume,
                    new_type,
                    {},
                    None,
                )
            # As recovery does after each retype.
            current = record.stored_volume(volume.id)
            self.driver._replacements.settle(current)

    def test_managing_costs_few_operations(self) -> None:
        name = f'existing-{uuid.uuid4()}'
        self.rbd('create', '--size', '1G', f'volumes/{name}')
        volume = self._loaded()
        # One context replaces the mark of an image that was given away.
        self._costs(
            # Limits are set as the row has them.
            (5, 2, 6),
            self.driver.manage_existing,
            volume,
            {'source-name': name},
        )

    def test_manageable_list(self) -> None:
        for number in range(3):
            self.rbd('create', '--size', '1G', f'volumes/found-{number}')
        ask = (None, 1000, 0, ['size'], ['asc'])
        # Three statements look for the images of unfinished requests.
        self._costs((4, 6, 3), self.driver.get_manageable_volumes, [], *ask)
        self._costs((1, 3, 0), self.driver.get_manageable_snapshots, [], *ask)

    def test_statistics_cost_few_operations(self) -> None:
        for shared in (False, True):
            self.driver = self.make_driver(
                driver.RBDExtDriver,
                rbd_exclusive_cinder_pool=not shared,
                rbd_volume_data_pool='volumes-data',
            )
            before = 3 + shared
            for _ in range(2):
                self._costs((before, 0, 0), self.driver.get_volume_stats, True)
                self.made_volume()
