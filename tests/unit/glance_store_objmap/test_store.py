# SPDX-License-Identifier: Apache-2.0

"""Tests for the store on the fake cluster."""

import errno
import io
import types

import ddt
from glance_store import capabilities
from glance_store import exceptions
from glance_store import location
from glance_store import multi_backend
from glance_store._drivers import rbd as stock

from glance_store_objmap import store
from rbd_volume_options import errors
from tests import runs
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap import behaviour
from tests.unit.glance_store_objmap import fake_data
from tests.unit.glance_store_objmap import fakes


@runs.tags(runs.RELEASES)
class FakeUploadsTest(fakes.FakeStoreTestCase, behaviour.Uploads):
    """Tests for uploads on the fake cluster."""


@runs.tags(runs.RELEASES)
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


@runs.tags(runs.RELEASES)
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


class SearchTest(fakes.FakeStoreTestCase):
    """Images whose location has no store, from the time of a single store.

    doc/source/admin/images.rst describes them.
    """

    def enable(self, **kinds: str) -> str:
        """Enable stores of given types; return the location of an image."""
        classes = {'rbd': stock.Store, store.STORE_TYPE: store.Store}
        enabled = {
            name: {
                'store': self.make_store(classes[kind]),
                'location_class': store.StoreLocation,
                'store_entry': kind,
            }
            for name, kind in kinds.items()
        }
        self.patch(
            multi_backend,
            'CONF',
            types.SimpleNamespace(enabled_backends=kinds),
        )
        self.patch(location, 'SCHEME_TO_CLS_BACKEND_MAP', {'rbd': enabled})
        return str(self.add(b'data', 4).store_location.get_uri())

    def test_stock_store_beside_ours_finds_them(self) -> None:
        uri = self.enable(ours=store.STORE_TYPE, old='rbd')
        data, _ = multi_backend.get(uri, None)
        self.assertEqual(b'data', b''.join(data))
        multi_backend.delete(uri, None)
        self.assertEqual([], self.images())

    def test_without_a_stock_store_they_are_not_found(self) -> None:
        """The limitation is described until glance_store has none."""
        uri = self.enable(ours=store.STORE_TYPE)
        for operation in (multi_backend.get, multi_backend.delete):
            self.assertRaises(exceptions.NotFound, operation, uri, None)
        self.assertEqual(1, len(self.images()))
