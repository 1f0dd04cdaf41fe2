# SPDX-License-Identifier: Apache-2.0

"""Tests for the store on the fake cluster."""

import errno
import io

import ddt
from glance_store import capabilities
from glance_store import exceptions

from rbd_volume_options import errors
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap import behaviour
from tests.unit.glance_store_objmap import fake_data
from tests.unit.glance_store_objmap import fakes


class FakeUploadsTest(fakes.FakeStoreTestCase, behaviour.Uploads):
    """Tests for uploads on the fake cluster."""


class FakeImagesTest(fakes.FakeStoreTestCase, behaviour.Images):
    """Tests for images on the fake cluster."""


@ddt.ddt
class FaultsTest(fakes.FakeStoreTestCase):
    """Tests with faults that a real cluster cannot produce on demand."""

    def _upload(self, size: int = 9 * base.PIECE) -> None:
        body = io.BytesIO(base.content(9 * base.PIECE))
        self.store.add('i', body, size, 'sha512')

    @ddt.data(errno.ENOSPC, errno.EDQUOT)
    def test_no_space_in_a_completion(self, number: int) -> None:
        error = fake_data.OSError('full', number)
        self.cluster.fail('Image.aio_write done', error)
        self.assertRaises(exceptions.StorageFull, self._upload)
        self.assertEqual([], self.images())

    def test_no_space_for_growth(self) -> None:
        self.cluster.fail('Image.resize', fake_data.NoSpace('full'))
        self.assertRaises(exceptions.StorageFull, self._upload, 0)
        self.assertEqual([], self.images())

    @ddt.data(errno.ENOSPC, errno.EDQUOT)
    def test_no_space_for_the_image(self, number: int) -> None:
        self.cluster.fail('RBD.create', fake_data.OSError('full', number))
        self.assertRaises(exceptions.StorageFull, self._upload)
        self.assertEqual([], self.images())

    def test_no_space_at_the_last_flush(self) -> None:
        self.cluster.fail('Image.flush', fake_data.NoSpace('full'))
        self.assertRaises(exceptions.StorageFull, self._upload)
        self.assertEqual([], self.images())

    def test_other_failure_in_completions(self) -> None:
        error = fake_data.OSError('broken', errno.EIO)
        self.cluster.fail('Image.aio_write done', error, times=4)
        self.assertRaises(fake_data.OSError, self._upload)
        self.assertEqual([], self.images())

    def test_failure_in_the_last_completion(self) -> None:
        error = fake_data.OSError('broken', errno.EIO)
        self.cluster.fail('Image.aio_write done', error)
        self.assertRaises(
            fake_data.OSError, self.store.add, 'i', io.BytesIO(b'x'), 1, 'md5'
        )
        self.assertEqual([], self.images())

    @ddt.data(
        'Image.aio_write', 'Image.create_snap', 'Image.protect_snap', 'Image'
    )
    def test_failure_of_a_call(self, operation: str) -> None:
        error = fake_data.OSError('broken', errno.EIO)
        self.cluster.fail(operation, error)
        self.assertIs(
            error, self.assertRaises(fake_data.OSError, self._upload)
        )
        self.assertEqual([], self.images())

    def test_clean_up_fails(self) -> None:
        self.cluster.pools['images'].objects['rbd_trash'] = b''
        self.cluster.fail('RBD.remove', self.librbd.ImageBusy('watched'))
        body = io.BytesIO(b'short')
        error = self.assertRaises(
            exceptions.Invalid, self.store.add, 'i', body, 9, 'sha512'
        )
        self.assertIn('Size mismatch', str(error))
        self.assertIn('Could not remove image i', self.log.output)

    def test_failing_read(self) -> None:
        place = self.add(base.content(9 * base.PIECE), 0)
        error = fake_data.OSError('broken', errno.EIO)
        self.cluster.fail('Image.aio_read done', error, times=2)
        self.assertRaises(fake_data.OSError, self.read, place)

    def test_image_that_shrinks(self) -> None:
        place = self.add(base.content(3 * base.PIECE), 0)
        name = place.store_location.image
        snapshot = self.cluster.stored(name, 'images').snapshot('snap')
        del snapshot.data[base.PIECE + 7 :]
        error = self.assertRaises(
            exceptions.BackendException, self.read, place
        )
        self.assertIn(str(base.PIECE + 7), str(error))

    @ddt.data(1, 4, 7)
    def test_writes_in_flight(self, depth: int) -> None:
        self.store = self.make_store(rbd_store_write_depth=depth)
        self._upload()
        most = self.cluster.most_in_flight  # type: ignore[attr-defined]
        self.assertIn(most, range(min(depth, 2), depth + 1))


@ddt.ddt
class ConfigurationTest(fakes.FakeStoreTestCase):
    """Tests for the configuration."""

    def test_schemes_hold_the_entry_point(self) -> None:
        self.assertEqual(('rbd', 'rbd_objmap'), self.store.get_schemes())
        self.assertEqual(
            'glance_store_objmap.store',
            self.store.get_store_location_class().__module__,
        )

    def test_no_user(self) -> None:
        self.assertIsNone(self.store.user)
        self.assertEqual(
            'glance', self.make_store(rbd_store_user='glance').user
        )

    @ddt.data(64, 100)
    def test_chunk_size(self, chunk: int) -> None:
        error = self.assertRaises(
            errors.OptionError, self.make_store, rbd_store_chunk_size=chunk
        )
        self.assertEqual('rbd_store_chunk_size', error.key)
        self.assertIn('Store ours: rbd_store_chunk_size', self.log.output)

    def test_store_is_reusable_and_reads_at_random(self) -> None:
        bits = capabilities.BitMasks
        self.assertTrue(
            self.store.is_capable(bits.DRIVER_REUSABLE, bits.READ_RANDOM)
        )

    def test_cluster_that_is_away(self) -> None:
        self.cluster.fail('Rados.connect', self.cluster.rados.Error('away'))
        self.assertRaises(exceptions.BackendException, self.make_store)
