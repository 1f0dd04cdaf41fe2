# SPDX-License-Identifier: Apache-2.0

"""The operations of OSDs and monitors, compared with the stock driver.

The numbers depend on the release of Ceph, and the renewal of a lock can add
one. The difference to the stock driver does not.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import Any

from cinder import objects
from cinder.volume.drivers import rbd as stock
import fixtures

from benchmarks import counts
from cinder_rbd_ext.cluster import connections
from tests.functional.cinder_rbd_ext import base

_CONNECTOR = {'host': 'compute', 'ip': '192.0.2.1', 'initiator': 'iqn.a'}
# A lock looks up the name before and after it is taken; its state is read when
# it is released.
_LOCK = 5
#: How many operations of OSDs our driver adds to those of the stock driver.
_ADDED = {
    # One looks up the name, two read the configuration of the pool.
    'create': 3,
    'create a snapshot': _LOCK,
    # The same, and the metadata of the source.
    'volume from a snapshot': 5 + _LOCK,
    'extend': _LOCK,
    'initialize_connection': _LOCK,
    # The configuration of the pool.
    'statistics': 2,
    # Its source is locked, too.
    'delete a clone': 2 * _LOCK,
    'delete a snapshot': _LOCK,
    'delete': _LOCK,
}
#: By how many operations two runs may differ. An image that is opened once
#: more costs more than that.
_VARYING = 3


class OperationsTest(base.DriverTestCase):
    def setUp(self) -> None:
        observing = contextlib.ExitStack()
        self.addCleanup(observing.close)
        observing.enter_context(counts.observing())
        super().setUp()

    def _loaded(self, **values: Any) -> Any:
        volume = self.new_volume(**values)
        return objects.Volume.get_by_id(self.admin, volume.id)

    def _steps(self, made: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the operations of a volume's life."""
        volume = self._loaded()
        yield 'create', lambda: made.create_volume(volume)
        snapshots: list[Any] = []
        yield (
            'create a snapshot',
            lambda: snapshots.append(self.new_snapshot(volume, made)),
        )
        (snapshot,) = snapshots
        clone = self._loaded(snapshot_id=snapshot.id)
        yield (
            'volume from a snapshot',
            lambda: made.create_volume_from_snapshot(clone, snapshot),
        )
        yield 'extend', lambda: made.extend_volume(volume, 2)
        yield (
            'initialize_connection',
            lambda: made.initialize_connection(volume, _CONNECTOR),
        )
        yield 'statistics', lambda: made.get_volume_stats(refresh=True)
        yield 'delete a clone', lambda: made.delete_volume(clone)
        yield 'delete a snapshot', lambda: made.delete_snapshot(snapshot)
        yield 'delete', lambda: made.delete_volume(volume)

    def _counted(self, made: Any) -> dict[str, counts.Counts]:
        by_step = {}
        # The first volume fills the caches.
        for _ in range(2):
            for name, call in self._steps(made):
                with counts.counting(made) as by_step[name]:
                    call()
        return by_step

    def test_compared_with_the_stock_driver(self) -> None:
        # The addresses of the monitors are cached for some time.
        self.useFixture(
            fixtures.MonkeyPatch(f'{connections.__name__}.ADDRESSES_FOR', 3600)
        )
        ours = self._counted(self.driver)
        expected = self._counted(self.make_driver(stock.RBDDriver))
        self.assertEqual(list(_ADDED), list(ours))
        for name, added in _ADDED.items():
            most = expected[name].osd + added + _VARYING
            self.assertLessEqual(ours[name].osd, most, name)
            self.assertEqual(expected[name].monitor, ours[name].monitor, name)
        # They are counted at all.
        self.assertGreater(ours['create'].osd, 0)
        self.assertGreater(ours['statistics'].monitor, 0)
