# SPDX-License-Identifier: Apache-2.0


"""Concurrent operations on shared connections."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

from cinder import objects
from cinder.volume.drivers import rbd as stock_rbd
import fixtures
import rbd

from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import open_image
from tests.functional.cinder_rbd_ext import base

_AT_ONCE = 6


class AtOnceTest(base.DriverTestCase):
    """Handles of an image on one connection pass its lock to each other."""

    def setUp(self) -> None:
        super().setUp()
        # The timeout is not gentle: Python's signal handlers cannot interrupt
        # librbd.
        self.useFixture(fixtures.Timeout(120, gentle=False))
        self.volume = self.made_volume()

    def _run(
        self, operation: Callable[[Any], Any], arguments: Sequence[Any]
    ) -> None:
        with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            done = [pool.submit(operation, each) for each in arguments]
        for each in done:
            each.result()

    def test_concurrent_snapshots_leave_none(self) -> None:
        names = [f'snapshot-{number}' for number in range(_AT_ONCE)]

        def snapshot(name: str) -> None:
            with stock_rbd.RBDVolumeProxy(
                self.driver, self.volume.name
            ) as image:
                image.create_snap(name)
                image.protect_snap(name)
                image.unprotect_snap(name)
                image.remove_snap(name)

        self._run(snapshot, names)
        with self.cluster.image(self.volume.name) as image:
            self.assertEqual([], list(image.list_snaps()))

    def test_concurrent_clones_of_one_source(self) -> None:
        names = [f'clone-{number}' for number in range(_AT_ONCE)]

        def clone(name: str) -> None:
            with (
                stock_rbd.RADOSClient(self.driver) as client,
                self.driver.rbd.Image(
                    client.ioctx, self.volume.name
                ) as source,
            ):
                source.create_snap(name)
                source.protect_snap(name)
                self.driver.RBDProxy().clone(
                    client.ioctx, self.volume.name, name, client.ioctx, name
                )
                with stock_rbd.RBDVolumeProxy(self.driver, name) as image:
                    image.write(b'x' * 512, 0)
                    image.flatten()
                source.unprotect_snap(name)
                source.remove_snap(name)

        self._run(clone, names)
        self.assertEqual(
            sorted([*names, self.volume.name]), self.cluster.names()
        )


class NativeThreadsTest(base.DriverTestCase):
    """A service without eventlet."""

    def test_native_threads(self) -> None:
        if importlib.util.find_spec('cinder.monkey_patch') is None:
            self.skipTest('this release always uses eventlet')
        program = pathlib.Path(__file__).with_name('native_threads.py')
        done = subprocess.run(
            [sys.executable, program, self.cluster.conf],
            cwd=pathlib.Path(__file__).resolve().parents[3],
            env={**os.environ, 'PYTHONPATH': '.'},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(1, int(done.stdout))
        self.assertEqual([], self.cluster.names())


class _Recorded(open_image.Delegate):
    """An object of librbd that records what the main thread calls."""

    def __init__(self, image: Any, inside: list[str]) -> None:
        super().__init__(image)
        self._inside = inside

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if not callable(value):
            return value

        def record(*args: Any, **kwargs: Any) -> Any:
            if _is_main_thread():
                self._inside.append(name)
            result = value(*args, **kwargs)
            if type(result).__name__ == 'TrashIterator':
                # It queries the OSDs when the first entry is taken.
                return self._recorded(name, result)
            return result

        return record

    def _recorded(self, name: str, entries: Any) -> Iterator[Any]:
        if _is_main_thread():
            self._inside.append(name)
        yield from entries


def _is_main_thread() -> bool:
    return threading.get_native_id() == os.getpid()


class EventletTest(base.DriverTestCase):
    """A service with eventlet: one thread runs all that does not block."""

    def setUp(self) -> None:
        super().setUp()
        if releases.off_the_hub(self) is self:
            self.skipTest('these tests run without eventlet')
        self.inside: list[str] = []
        original = rbd.Image

        def opened(*args: Any, **kwargs: Any) -> _Recorded:
            if _is_main_thread():
                self.inside.append('open')
            return _Recorded(original(*args, **kwargs), self.inside)

        self.useFixture(fixtures.MonkeyPatch('rbd.Image', opened))
        api = rbd.RBD
        self.useFixture(
            fixtures.MonkeyPatch(
                'rbd.RBD', lambda: _Recorded(api(), self.inside)
            )
        )

    def test_images_do_not_block_the_service(self) -> None:
        source = self.made_volume()
        copied = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(copied, source)
        self.driver.extend_volume(copied, 2)
        self.driver.delete_volume(copied)
        self.driver.delete_volume(source)
        self.assertEqual([], self.inside)

    def test_queries_do_not_block_the_service(self) -> None:
        driver = self.make_driver(
            enable_deferred_deletion=True,
            deferred_deletion_delay=0,
            rbd_exclusive_cinder_pool=False,
        )
        volume = self.made_volume(driver=driver)
        driver.get_volume_stats(True)
        self.assertEqual([], self.inside)
        new_type = objects.VolumeType.get_by_id(
            self.admin, self.make_type(rbd_object_map='false')
        )
        with self.retyping(volume):
            driver.retype(self.context, volume, new_type, {}, None)
        self.assertEqual([], self.inside)
        self.delete_with_record(volume, driver)
        driver._trash_purge()
        self.assertEqual([], self.inside)
