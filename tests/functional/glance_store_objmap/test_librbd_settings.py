# SPDX-License-Identifier: Apache-2.0

"""Uploads keep their content with any configuration of librbd."""

from collections.abc import Callable
import os
import random
from typing import Any

import ddt
from glance_store import exceptions
import rbd

from tests import feature_bits
from tests import runs
from tests.functional import filling
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap import test_store

MIB = base.MIB

#: The seed of the random settings; RBD_TEST_SEED overrides it.
SEED = int(os.environ.get('RBD_TEST_SEED', '20'))

_LIBRBD = {
    'rbd_cache': ('true', 'false'),
    'rbd_cache_policy': ('writethrough', 'writearound', 'writeback'),
    'rbd_cache_writethrough_until_flush': ('true', 'false'),
    'rbd_disable_zero_copy_writes': ('true', 'false'),
    'rbd_default_features': tuple(
        map(
            str,
            (
                feature_bits.LAYERING,
                feature_bits.LAYERING | feature_bits.LOCK,
                feature_bits.DEFAULT,
            ),
        )
    ),
}
_STORE: dict[str, tuple[Any, ...]] = {
    'rbd_store_chunk_size': (1, 2, 3, 8),
    'rbd_store_write_depth': (1, 2, 4, 16),
    'rbd_store_object_size': (None, '64K', '1M', '4M'),
    'rbd_thin_provisioning': (True, False),
}


class FreshBody(base.Body):
    """A body whose parts are new objects without other references."""

    def __init__(self, data: bytes, draw: random.Random) -> None:
        super().__init__(data)
        self._draw = draw

    def read(self, wanted: int) -> bytes:
        """Return a part of random length."""
        part = super().read(self._draw.randint(1, max(1, wanted)))
        # Memory that is freed too early is soon reused.
        return bytes(bytearray(part))


class PausingBody(FreshBody):
    """A body during which all OSDs pause for some seconds."""

    def __init__(
        self,
        data: bytes,
        draw: random.Random,
        monitor: filling.Monitor,
        add_cleanup: Callable[..., None],
    ) -> None:
        super().__init__(data, draw)
        self._add_cleanup = add_cleanup
        self._left = len(data) // 2
        self._monitor = monitor

    def read(self, wanted: int) -> bytes:
        """Return a part; pause the OSDs at the configured position."""
        part = super().read(wanted)
        if self._left > 0 >= self._left - len(part):
            self._monitor.pause()
            self._add_cleanup(self._monitor.resume_after(3).wait)
        self._left -= len(part)
        return part


@runs.tags(runs.NIGHTLY)
@ddt.ddt
class RandomSettingsTest(test_store.CephStoreTestCase):
    def _content(self, draw: random.Random) -> bytes:
        parts = []
        for _ in range(draw.randint(1, 24)):
            length = draw.choice((1, 4096, MIB - 1, MIB, 2 * MIB))
            parts.append(draw.choice((draw.randbytes, bytes))(length))
        return b''.join(parts)

    def _configure_pool(self, name: str, value: str) -> None:
        """Set an option of the pool, which overrides the store's own value."""
        ioctx, librbd = self.cluster.ioctx('images'), rbd.RBD()
        librbd.config_set(ioctx, name, value)
        self.addCleanup(librbd.config_remove, ioctx, name)

    @ddt.data(*range(12))
    def test_content_is_the_same_with_random_settings(self, run: int) -> None:
        draw = random.Random(SEED * 1000 + run)
        settings = {k: draw.choice(v) for k, v in _LIBRBD.items()}
        options = {k: draw.choice(v) for k, v in _STORE.items()}
        shown = {**settings, **options, 'seed': SEED, 'run': run}
        self.addDetail('settings', base.text(shown))
        self._configure_pool('rbd_cache', settings.pop('rbd_cache'))
        store = self.store_with(options, **settings)
        data = self._content(draw)
        size = draw.choice((0, len(data)))
        uri, written, _, sha512, _ = store.add(
            f'run-{run}', FreshBody(data, draw), size, 'sha512'
        )
        self.assertEqual((len(data), base.sha512(data)), (written, sha512))
        self.check_same(data, self.read(self.location(uri)))

    @ddt.data(4, 16)
    def test_zero_copy_to_slow_osds(self, depth: int) -> None:
        """librbd sends from the pieces after all other references are gone."""
        store = self.store_with(
            {'rbd_store_write_depth': depth},
            rbd_cache='false',
            rbd_disable_zero_copy_writes='false',
        )
        monitor = filling.Monitor(self.cluster)
        self.addCleanup(monitor.resume)
        data = base.content(48 * MIB)
        body = PausingBody(
            data, random.Random(depth), monitor, self.addCleanup
        )
        uri, *_ = store.add('zero-copy', body, len(data), 'sha512')
        self.check_same(data, self.read(self.location(uri)))

    def test_zero_copy_that_is_cut_short(self) -> None:
        store = self.store_with(
            rbd_cache='false', rbd_disable_zero_copy_writes='false'
        )
        body = FreshBody(base.content(40 * MIB), random.Random(1))
        self.assertRaises(
            exceptions.Invalid, store.add, 'i', body, 41 * MIB, 'sha512'
        )
        self.assertEqual([], self.images())
