# SPDX-License-Identifier: Apache-2.0

"""Differences between releases of Cinder."""

from collections.abc import Callable
import importlib.metadata
import subprocess
import sys
import threading
import types
from typing import Any

from cinder import utils
import ddt
from eventlet import tpool
import fixtures

from cinder_rbd_ext import releases
from tests import runs
from tests.unit import base
from tests.unit.cinder_rbd_ext import base as cinder_base


@runs.tags(runs.RELEASES)
@ddt.ddt
class ReleaseTest(base.TestCase):
    def test_at_hand(self) -> None:
        installed = importlib.metadata.version('cinder')
        self.assertEqual(f'{releases.RELEASE}', installed.split('.')[0])

    @ddt.data(('29.0.0', 29), ('26.1.0.dev7', 26), ('', 0), ('unknown', 0))
    @ddt.unpack
    def test_first_number(self, text: str, expected: int) -> None:
        self.assertEqual(expected, releases._major(text))


@runs.tags(runs.RELEASES)
class OffTheHubTest(base.TestCase):
    def test_is_the_object_to_who_calls(self) -> None:
        proxy = releases.off_the_hub(types.SimpleNamespace(answer=lambda: 42))
        self.assertEqual(42, proxy.answer())

    def test_cinder_decides_where_it_can(self) -> None:
        self.useFixture(_With(lambda each: [each]))
        self.assertEqual([self], releases.off_the_hub(self))

    def test_a_thread_of_its_own_where_it_can_not(self) -> None:
        self.useFixture(_With(None))
        # A driver in the same process may have removed the threads.
        self.addCleanup(tpool.set_num_threads, tpool._nthreads)
        tpool.killall()
        tpool.set_num_threads(1)
        blocking = types.SimpleNamespace(thread=threading.get_ident)
        self.assertNotEqual(
            threading.get_ident(), releases.off_the_hub(blocking).thread()
        )


# Cinder's transfers of images call eventlet's pool like this.
_TRANSFERS = """
import threading
import time
from cinder import monkey_patch
monkey_patch.patch('threading')
from eventlet import tpool
from cinder_rbd_ext import releases
releases.without_thread_pool()
transfers = [
    threading.Thread(target=tpool.execute, args=[time.sleep, 0.1], daemon=True)
    for _ in range(3)
]
for transfer in transfers:
    transfer.start()
for transfer in transfers:
    transfer.join(10)
print(sum(transfer.is_alive() for transfer in transfers))
"""


@runs.tags(runs.RELEASES)
class NativeThreadsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if not hasattr(utils, 'concurrency_mode_threading'):
            self.skipTest('this release has eventlet only')

    def test_several_images_are_transferred_at_a_time(self) -> None:
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _TRANSFERS],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
        )
        self.assertEqual('0\n', done.stdout, done.stderr)


@runs.tags(runs.RELEASES)
class DriverTest(cinder_base.DriverTestCase):
    def test_driver_needs_no_thread_pool_with_native_threads(self) -> None:
        # Cinder's tests use eventlet.
        self.useFixture(
            fixtures.MonkeyPatch(
                'cinder_rbd_ext.releases._native', lambda module: module
            )
        )
        self.addCleanup(tpool.set_num_threads, tpool._nthreads)
        tpool.set_num_threads(20)
        self.make_driver()
        self.assertEqual(0, tpool._nthreads)


class _With(fixtures.Fixture):
    """Set or remove ``tpool_wrap``, as in different releases of Cinder."""

    def __init__(self, way: Callable[[Any], Any] | None) -> None:
        super().__init__()
        self._way = way

    def _setUp(self) -> None:
        if hasattr(utils, 'tpool_wrap'):
            self.addCleanup(setattr, utils, 'tpool_wrap', utils.tpool_wrap)
            del utils.tpool_wrap
        if self._way:
            utils.tpool_wrap = self._way
            self.addCleanup(delattr, utils, 'tpool_wrap')
