# SPDX-License-Identifier: Apache-2.0

"""Base class for tests of the connections to the cluster."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import faulthandler
import gc
import os
import pathlib
import sys
import time
import traceback
from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd as stock_rbd
from eventlet import patcher
import fixtures
import greenlet

from cinder_rbd_ext.cluster import connections as shared
from tests.functional.cinder_rbd_ext import base

#: Seconds within which an operation after a fault must end.
RECOVERED = 10.0

#: The connector of a compute host.
CONNECTOR = {'host': 'compute-1'}
_OF_STOCK = stock_rbd.RBDDriver._connect_to_rados


def number() -> int:
    """Return the number of open connections of the process."""
    names = []
    for task in pathlib.Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            names.append((task / 'comm').read_text().strip())
    return names.count('msgr-worker-0')


def descriptors() -> int:
    """Return the number of open descriptors of the process."""
    return len(os.listdir('/proc/self/fd'))


def _show_green_threads() -> None:
    """Show where each green thread of eventlet is."""
    for each in gc.get_objects():
        if isinstance(each, greenlet.greenlet) and each.gr_frame:
            print('Green thread:', file=sys.stderr)
            traceback.print_stack(each.gr_frame, file=sys.stderr)
    sys.stderr.flush()


class ConnectionsTestCase(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        # The timeout is not gentle: Python's signal handlers cannot interrupt
        # librbd.
        self.useFixture(fixtures.Timeout(120, gentle=False))
        # Shows where each thread hangs.
        faulthandler.dump_traceback_later(115)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        timer = patcher.original('threading').Timer(114, _show_green_threads)
        timer.daemon = True
        timer.start()
        self.addCleanup(timer.cancel)

    @contextlib.contextmanager
    def connecting(self, times: int, what: str = '') -> Iterator[None]:
        """Check the number of new connections to the cluster."""
        with mock.patch.object(
            stock_rbd.RBDDriver,
            '_connect_to_rados',
            autospec=True,
            side_effect=_OF_STOCK,
        ) as connect:
            yield
        self.assertEqual(times, connect.call_count, what)

    @contextlib.contextmanager
    def recovering(self, what: str = '') -> Iterator[None]:
        """Check that an operation after a fault takes at most ten seconds."""
        began = time.monotonic()
        yield
        self.assertLess(time.monotonic() - began, RECOVERED, what)

    def operations(
        self, driver: Any = None
    ) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the name and the call of each operation on a volume."""
        driver = driver or self.driver
        volume = self.new_volume()
        clone = self.new_volume()
        snapshot: list[Any] = []
        yield from (
            ('create_volume', lambda: driver.create_volume(volume)),
            (
                'create_snapshot',
                lambda: snapshot.append(self.new_snapshot(volume, driver)),
            ),
            ('extend_volume', lambda: driver.extend_volume(volume, 2)),
            (
                'initialize_connection',
                lambda: driver.initialize_connection(volume, CONNECTOR),
            ),
            (
                'create_volume_from_snapshot',
                lambda: driver.create_volume_from_snapshot(clone, snapshot[0]),
            ),
            ('_update_volume_stats', driver._update_volume_stats),
            ('delete_volume', lambda: driver.delete_volume(clone)),
            (
                'delete_snapshot',
                lambda: driver.delete_snapshot(snapshot[0]),
            ),
            (
                'create_cloned_volume',
                lambda: driver.create_cloned_volume(clone, volume),
            ),
        )

    def warm_up(self) -> None:
        """Make the driver connect."""
        self.driver._get_fsid()

    def client(self, driver: Any = None) -> Any:
        """Return the shared connection of a driver."""
        with stock_rbd.RADOSClient(driver or self.driver) as client:
            return client.cluster.connection.rados

    def verify(self, seconds: float) -> None:
        """Set for how long the response of an OSD counts."""
        name = f'{shared.__name__}.VERIFIED_FOR'
        self.useFixture(fixtures.MonkeyPatch(name, seconds))

    def steady(self) -> tuple[int, int]:
        """Return the connections and descriptors when they do not change.

        librados closes those of earlier tests in the background.
        """
        current = number(), descriptors()
        while True:
            time.sleep(0.5)
            before, current = current, (number(), descriptors())
            if current == before:
                return current

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is met."""
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
