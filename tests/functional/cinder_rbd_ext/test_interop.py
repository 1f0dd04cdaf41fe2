# SPDX-License-Identifier: Apache-2.0

"""Volumes of the stock driver in our driver and vice versa."""

from typing import Any

from cinder.volume.drivers import rbd as stock_rbd
import ddt
from oslo_utils import units

from cinder_rbd_ext import driver as driver_module
from tests import runs
from tests.functional.cinder_rbd_ext import base

_OURS = driver_module.RBDExtDriver
_STOCK = stock_rbd.RBDDriver


@runs.tags(runs.DEBIAN)
@ddt.ddt
class InteropTest(base.DriverTestCase):
    """Volumes that one driver creates and the other uses."""

    @ddt.data((_OURS, _STOCK), (_STOCK, _OURS))
    def test_a_whole_life(self, pair: tuple[Any, Any]) -> None:
        maker, user = (self.make_driver(cls) for cls in pair)
        metadata = base.ASKED if pair[0] is _OURS else None
        volume = self.made_volume(metadata, driver=maker)
        made = self.layout_of(volume)
        with self.cluster.image(volume.name) as image:
            image.write(b'content', 3 * units.Mi)

        snapshot = self.new_snapshot(volume, user)
        from_snapshot = self.new_volume()
        user.create_volume_from_snapshot(from_snapshot, snapshot)
        clone = self.new_volume()
        user.create_cloned_volume(clone, volume)
        for made_of in (from_snapshot, clone):
            with self.cluster.image(made_of.name) as image:
                self.assertEqual(b'content', image.read(3 * units.Mi, 7))
        self.assertEqual(made, self.layout_of(clone))

        user.extend_volume(volume, 2)
        self.assertEqual(2 * units.Gi, self.size_of(volume))
        self.assertEqual(made, self.layout_of(volume))
        connection = user.initialize_connection(volume, {'host': 'h'})
        self.assertEqual(f'volumes/{volume.name}', connection['data']['name'])
        for gone in (from_snapshot, clone):
            user.delete_volume(gone)
        user.delete_snapshot(snapshot)
        user.delete_volume(volume)
        # The stock driver renames a cloned volume and keeps it for the
        # snapshot of a clone that was deleted before.
        left = [f'{volume.name}.deleted'] if pair[1] is _STOCK else []
        self.assertEqual(left, self.cluster.names())
