# SPDX-License-Identifier: Apache-2.0

"""The store on pools that are full or fill up during an upload."""

from collections.abc import Callable
import concurrent.futures
import contextlib
import os
import threading
from typing import Any
import unittest
import uuid

import ddt
from glance_store import exceptions
import rbd

from tests import feature_bits
from tests import runs
from tests.functional import ceph
from tests.functional import filling
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap import test_store

MIB = base.MIB

#: Time limit of an upload, in seconds; the stock store hangs.
BOUND = 20

#: Bytes; more than the statistics may still count from earlier tests.
QUOTA = 100 * MIB

#: Settings of librbd's cache. With the last two a write is acknowledged
#: before it is sent.
CACHES = {
    'off': {'rbd_cache': 'false'},
    'default': {},
    'writethrough': {'rbd_cache_policy': 'writethrough'},
    'writearound': {
        'rbd_cache_policy': 'writearound',
        'rbd_cache_writethrough_until_flush': 'false',
    },
    'writeback': {
        'rbd_cache_policy': 'writeback',
        'rbd_cache_writethrough_until_flush': 'false',
    },
}


class FillingBody(base.Body):
    """A body that fills the pool while it is read."""

    def __init__(
        self, data: bytes, fill: Callable[[], None], at: int = 8 * MIB
    ) -> None:
        super().__init__(data, most=MIB)
        self._fill: Callable[[], None] | None = fill
        self._left = at

    def read(self, wanted: int) -> bytes:
        """Return bytes."""
        self._left -= wanted
        if self._fill and self._left <= 0:
            self._fill()
            self._fill = None
        return super().read(wanted)


class UnreadBody:
    """A body that must not be read."""

    def read(self, wanted: int) -> bytes:
        """Fail."""
        raise AssertionError('read, though it does not fit')


class FullPoolTestCase(test_store.CephStoreTestCase):
    """Base class for tests of the store on a full pool."""

    pool = 'images'

    def setUp(self) -> None:
        super().setUp()
        self.filling = filling.Monitor(self.cluster)
        self.make_pool()
        self.addCleanup(self.filling.reset, self.pool)

    def make_pool(self) -> None:
        """Create the pool if it does not exist."""

    def images(self) -> list[str]:
        """Return the names of the RBD images in the pool."""
        return self.cluster.names(self.pool)

    def within_bound(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function; fail if it takes too long."""
        result: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def run() -> None:
            try:
                result.set_result(function(*args))
            except BaseException as error:
                result.set_exception(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        # A call that hangs ends when there is space again.
        self.addCleanup(thread.join, 60)
        return result.result(BOUND)

    def upload(self, body: Any, size: int, store: Any = None) -> Any:
        """Upload within the time limit."""
        where = store or self.store
        return self.within_bound(
            where.add, str(uuid.uuid4()), body, size, 'sha512'
        )

    def check_full(self, body: Any, size: int, store: Any = None) -> None:
        """Check that an upload fails for lack of space and leaves nothing."""
        before = self.images()
        with self.raises_full():
            self.upload(body, size, store)
        self.assertEqual(before, self.images())
        self.assertNotIn('Could not remove', self.log.output)

    @contextlib.contextmanager
    def raises_full(self) -> Any:
        """Expect StorageFull, for which Glance responds with HTTP 413."""
        try:
            yield
        except exceptions.StorageFull:
            return
        self.fail('StorageFull was not raised')

    def fill_by_quota(self) -> None:
        """Lower the quota until the pool is full."""
        self.filling.set_quota(self.pool, 1)
        self.filling.wait(self.pool, full=True)


# The driver in a full cluster (test_full_cluster) and the store in a full pool
# (tests.cloud.test_images) remain.
@runs.tags(runs.NIGHTLY)
@ddt.ddt
class QuotaTest(FullPoolTestCase):
    """Tests with a quota in bytes."""

    def test_reached_before(self) -> None:
        self.upload(base.Body(base.content(MIB)), 0)
        self.fill_by_quota()
        for size in (0, 4 * MIB):
            self.check_full(UnreadBody(), size)

    def test_known_size_that_does_not_fit(self) -> None:
        self.filling.set_quota(self.pool, QUOTA)
        self.check_full(UnreadBody(), QUOTA + 1)

    @ddt.data(True, False)
    def test_undo_takes_as_long_as_the_data_did(self, thin: bool) -> None:
        """Of 238 million announced objects none is visited."""
        store = self.make_store(
            rbd_store_chunk_size=4,
            rbd_store_features='layering',
            rbd_thin_provisioning=thin,
        )
        for _ in range(4):
            refused = exceptions.Invalid if thin else exceptions.StorageFull
            with self.assertRaises(refused):
                self.upload(base.Body(base.content(1000)), 10**15, store)
        self.assertEqual([], self.images())

    def test_zeros_that_are_not_written_fit(self) -> None:
        self.filling.set_quota(self.pool, QUOTA)
        store = self.make_store(rbd_thin_provisioning=True)
        place = self.add(bytes(QUOTA + MIB), QUOTA + MIB, store)
        self.assertEqual(0, self.stored_bytes(place.store_location.image))

    def test_size_that_fits(self) -> None:
        self.filling.set_quota(self.pool, QUOTA)
        data = base.content(6 * MIB)
        self.check_same(data, self.read(self.add(data, len(data))))

    @ddt.data(*CACHES)
    def test_reached_during_the_upload(self, cache: str) -> None:
        store = self.store_with(**CACHES[cache])
        body = FillingBody(base.content(24 * MIB), self.fill_by_quota)
        self.check_full(body, 24 * MIB, store)

    def test_reached_at_the_last_piece(self) -> None:
        """No snapshot is taken if the last piece was not written."""
        ioctx, librbd = self.cluster.ioctx(self.pool), rbd.RBD()
        # The configuration of the pool overrides the client's.
        for name, value in {
            **CACHES['writearound'],
            'rbd_cache': 'true',
        }.items():
            librbd.config_set(ioctx, name, value)
            self.addCleanup(librbd.config_remove, ioctx, name)
        # Runs before these removals, which would wait for space.
        self.addCleanup(self.filling.reset, self.pool)
        body = FillingBody(
            base.content(8 * MIB), self.fill_by_quota, at=7 * MIB
        )
        self.check_full(body, 8 * MIB)

    def test_next_upload(self) -> None:
        body = FillingBody(base.content(24 * MIB), self.fill_by_quota)
        self.check_full(body, 0)
        self.filling.reset(self.pool)
        data = base.content(5 * MIB)
        self.check_same(data, self.read(self.add(data, len(data))))

    def test_image_is_deleted_at_the_quota(self) -> None:
        place = self.add(base.content(5 * MIB), 0)
        self.fill_by_quota()
        self.within_bound(self.store.delete, place)
        self.assertEqual([], self.images())


@runs.tags(runs.NIGHTLY)
class NewPoolTest(FullPoolTestCase):
    """Tests on a pool from which no image was removed yet."""

    pool = 'images-new'

    def make_pool(self) -> None:
        """Create the pool."""
        self.filling.command('osd pool create', pool=self.pool, pg_num=1)
        self.addCleanup(self.cluster.rados.delete_pool, self.pool)
        rbd.RBD().pool_init(self.cluster.ioctx(self.pool), True)
        self.addCleanup(self.cluster.forget, self.pool)
        self.store = self.make_store(rbd_store_pool=self.pool)

    def test_upload_into_a_filling_pool_is_refused(self) -> None:
        body = FillingBody(base.content(24 * MIB), self.fill_by_quota)
        self.check_full(body, 24 * MIB)

    def test_deletion_of_what_the_stock_store_made(self) -> None:
        """Ceph 16 cannot remove the image and reports it as missing.

        Newer releases can remove it. Glance must not lose an existing image.
        """
        ioctx = self.cluster.ioctx(self.pool)
        rbd.RBD().create(
            ioctx,
            'i',
            8 * MIB,
            old_format=False,
            features=feature_bits.DEFAULT,
        )
        with rbd.Image(ioctx, 'i') as image:
            image.write(base.content(MIB), 0)
            image.create_snap('snap')
            image.protect_snap('snap')
        self.fill_by_quota()
        place = self.location(f'rbd://fsid/{self.pool}/i/snap')
        try:
            self.within_bound(self.store.delete, place)
        except exceptions.BackendException as error:
            self.assertIn('its pool is full', str(error))
            self.assertEqual(['i'], self.images())
            self.filling.reset(self.pool)
            self.store.delete(place)
        self.assertEqual([], self.images())


@runs.tags(runs.NIGHTLY)
@unittest.skipIf(ceph.CONF_VARIABLE in os.environ, 'a cluster of others')
@ddt.ddt
class FullOSDTest(FullPoolTestCase):
    """Tests with OSDs above the full ratio."""

    def fill(self) -> None:
        """Lower the full ratio until all OSDs are full."""
        self.filling.set_full_ratios(0.00001)
        self.filling.wait(self.pool, full=True)

    def test_full_cluster_refuses_before_reading(self) -> None:
        self.fill()
        for size in (0, 4 * MIB):
            self.check_full(UnreadBody(), size)

    @ddt.data(0, 24 * MIB)
    def test_during_the_upload(self, size: int) -> None:
        place = self.add(base.content(5 * MIB), 0)
        body = FillingBody(base.content(24 * MIB), self.fill)
        self.check_full(body, size)
        self.within_bound(self.store.delete, place)
        self.assertEqual([], self.images())
