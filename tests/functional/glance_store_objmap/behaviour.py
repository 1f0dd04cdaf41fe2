# SPDX-License-Identifier: Apache-2.0

"""Behaviour tests of a store, run on fake and real Ceph."""

import concurrent.futures
import contextlib
import hashlib
import io
import threading
from typing import Any

import ddt
from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import budget
from rbd_volume_options import features
from tests import runs
from tests.functional.glance_store_objmap import base
from tests.functional.glance_store_objmap.base import PIECE

SIZES = (0, 1, PIECE - 1, PIECE, PIECE + 1, 4 * PIECE, 9 * PIECE + 4321)

#: Offset and length (None: up to the end) in an image of 3 pieces and 5 bytes.
LENGTH = 3 * PIECE + 5
RANGES = (
    (0, None),
    (0, LENGTH),
    (0, 1),
    (0, 0),
    (0, PIECE),
    (0, PIECE + 1),
    (1, PIECE),
    (PIECE - 1, 2),
    (PIECE, PIECE),
    (PIECE, None),
    (2 * PIECE + 7, PIECE),
    (LENGTH - 1, 1),
    (LENGTH - 1, None),
    (LENGTH - 1, 99),
    (LENGTH, None),
    (LENGTH, 1),
    (LENGTH + 1, 1),
)


class Cancelled(BaseException):
    """The cancellation of a green thread, which is not an Exception."""


@ddt.ddt
class Uploads(base.StoreTestCase):
    """Successful uploads, and clean-up after failed uploads."""

    @runs.nightly_after(1)
    @ddt.data(*SIZES)
    def test_known_size(self, size: int) -> None:
        data = base.content(size)
        place = self.add(data, size)
        self.check_same(data, self.read(place))
        self._check_snapshot(place, size)

    @runs.nightly_after(1)
    @ddt.data(*SIZES)
    def test_unknown_size(self, size: int) -> None:
        data = base.content(size)
        place = self.add(data, 0)
        self.check_same(data, self.read(place))
        self._check_snapshot(place, size)

    def _check_snapshot(self, place: Any, size: int) -> None:
        image = self.image(place.store_location.image)
        self.addCleanup(image.close)
        self.assertEqual(size, image.size())
        (snapshot,) = image.list_snaps()
        self.assertEqual('snap', snapshot['name'])
        self.assertEqual(size, snapshot['size'])
        self.assertTrue(image.is_protected_snap('snap'))

    def test_size_that_is_none(self) -> None:
        data = base.content(100)
        self.check_same(data, self.read(self.add(data, None)))

    @runs.nightly_after(2)
    @ddt.data(1, 64, 2)
    def test_content_is_the_same_at_any_depth(self, depth: int) -> None:
        store = self.make_store(
            rbd_store_write_depth=depth, rbd_store_read_depth=depth
        )
        data = base.content(7 * PIECE + 3)
        place = self.add(data, len(data), store)
        self.check_same(data, self.read(place, store))

    def test_body_in_small_parts(self) -> None:
        data = base.content(2 * PIECE + 77)
        place = self.add(base.Body(data, most=65_000), len(data))
        self.check_same(data, self.read(place))

    def test_body_that_is_an_iterator(self) -> None:
        data = base.content(3 * PIECE + 77)
        parts = [data[:5], b'', data[5 : 2 * PIECE + 9], data[2 * PIECE + 9 :]]
        self.check_same(data, self.read(self.add(iter(parts), len(data))))

    def test_body_of_bytearrays(self) -> None:
        data = base.content(PIECE + 77)
        parts = iter([bytearray(data)])
        self.check_same(data, self.read(self.add(parts, 0)))

    def test_zeros_are_left_out(self) -> None:
        store = self.make_store(rbd_thin_provisioning=True)
        zeros, some = bytes(PIECE), base.content(PIECE)
        data = zeros + some + zeros * 3 + b'\0' * 99 + some + zeros
        place = self.add(data, len(data), store)
        self.check_same(data, self.read(place))
        self.assertEqual(
            3 * PIECE, self.stored_bytes(place.store_location.image)
        )

    def test_zeros_are_written(self) -> None:
        data = bytes(3 * PIECE)
        place = self.add(data, len(data))
        self.assertEqual(
            3 * PIECE, self.stored_bytes(place.store_location.image)
        )

    def test_nothing_but_zeros_of_unknown_size(self) -> None:
        store = self.make_store(rbd_thin_provisioning=True)
        data = bytes(3 * PIECE + 5)
        self.check_same(data, self.read(self.add(data, 0, store)))

    def test_verifier_gets_the_whole_content(self) -> None:
        verifier = _Verifier()
        data = base.content(2 * PIECE + 1)
        self.add(data, len(data), verifier=verifier)
        self.check_same(data, verifier.data)

    # Failures

    def _check_refused(
        self, error: type[BaseException], data: Any, size: int, **kwargs: Any
    ) -> BaseException:
        threads = threading.active_count()
        raised = None
        try:
            self.add(data, size, **kwargs)
        except BaseException as found:
            raised = found
        self.assertIsInstance(raised, error)
        self.assertEqual([], self.images())
        self.assertFalse(
            [t for t in threading.enumerate() if 'upload' in t.name], threads
        )
        assert raised is not None  # noqa: S101 - for mypy
        return raised

    @runs.nightly_after(1)
    @ddt.data(1, PIECE, 2 * PIECE + 1, 3 * PIECE)
    def test_early_end(self, missing: int) -> None:
        data = io.BytesIO(base.content(3 * PIECE + 5 - missing))
        error = self._check_refused(exceptions.Invalid, data, 3 * PIECE + 5)
        self.assertIn('Size mismatch', str(error))

    @runs.nightly_after(1)
    @ddt.data(1, PIECE - 5, PIECE, 5 * PIECE)
    def test_longer_than_said(self, more: int) -> None:
        data = io.BytesIO(base.content(3 * PIECE + 5 + more))
        error = self._check_refused(exceptions.Invalid, data, 3 * PIECE + 5)
        self.assertIn('Size exceeds', str(error))

    @ddt.data(0, PIECE, 10**15)
    def test_image_is_never_larger_than_its_data_require(
        self, announced: int
    ) -> None:
        """The undo of an upload visits each object below the size."""
        sizes: list[int] = []

        class Watched(base.Body):
            def read(body, wanted: int) -> bytes:
                with contextlib.closing(self.image('i')) as image:
                    sizes.append(image.size())
                return super().read(wanted)

        store = self.make_store(
            rbd_thin_provisioning=True, rbd_store_features='layering'
        )
        data = Watched(base.content(1000), most=999)
        with contextlib.suppress(exceptions.Invalid):
            self.add(data, announced, store, ident='i')
        self.assertEqual(0, sizes[0])
        self.assertLessEqual(max(sizes), 2 * PIECE)

    @ddt.data(OSError('gone'), Cancelled('cancelled'), GeneratorExit('over'))
    def test_reader_fails(self, error: BaseException) -> None:
        for size in (0, 9 * PIECE):
            body = base.BreakingBody(base.content(5 * PIECE), error)
            self.assertIs(error, self._check_refused(type(error), body, size))

    def test_verifier_fails(self) -> None:
        data = io.BytesIO(base.content(9 * PIECE))
        self._check_refused(
            ZeroDivisionError, data, 0, verifier=_BrokenVerifier()
        )

    def test_unknown_hash(self) -> None:
        self.assertRaises(
            ValueError, self.store.add, 'i', io.BytesIO(b''), 0, 'no-hash'
        )
        self.assertEqual([], self.images())

    def test_image_that_exists(self) -> None:
        data = base.content(PIECE)
        place = self.add(data, len(data), ident='i')
        self.assertRaises(
            exceptions.Duplicate, self.add, b'other', 5, ident='i'
        )
        self.check_same(data, self.read(place))

    def test_many_objects(self) -> None:
        store = self.make_store(
            rbd_store_object_size='4K', rbd_store_object_map='true'
        )
        error = self.assertRaises(
            exceptions.Invalid, self.add, b'', 2 << 40, store
        )
        self.assertIn('256,000,000', str(error))
        self.assertIn('rbd_store_object_map', str(error))
        self.assertEqual([], self.images())

    def test_two_uploads_at_a_time(self) -> None:
        """A store serves all requests; uploads share no state."""
        stored: dict[int, Any] = {}

        def upload(number: int) -> None:
            data = base.content((3 + number) * PIECE + number, number)
            place = self.add(base.Body(data, most=PIECE // 3), 0)
            stored[number] = (data, place)

        threads = [
            threading.Thread(target=upload, args=(n,)) for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({0, 1, 2}, set(stored))
        for data, place in stored.values():
            self.check_same(data, self.read(place))

    def test_many_uploads_with_little_memory(self) -> None:
        """All uploads finish within the memory budget."""
        store = self.make_store(
            rbd_store_upload_memory=16, rbd_thin_provisioning=True
        )
        most: list[int] = []

        class Watching(base.Body):
            def read(self, wanted: int) -> bytes:
                most.append(budget.UPLOADS.reserved())
                return super().read(wanted)

        def upload(number: int) -> tuple[bytes, Any]:
            data = base.content(2 * PIECE, number) + bytes(PIECE + number)
            return data, self.add(Watching(data), 0, store)

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            stored = list(threads.map(upload, range(8)))
        for data, place in stored:
            self.check_same(data, self.read(place))
        # Each upload may use pieces of the smallest size.
        least = budget.HASHING + budget.READING
        over = 8 * least * budget.MIN_PIECE
        self.assertLess(max(most), 16 * PIECE + over)
        self.assertEqual(0, budget.UPLOADS.reserved())

    def test_md5_for_both_hashes(self) -> None:
        """With hashing_algorithm = md5 in Glance, data is hashed once."""
        data = base.content(2 * PIECE + 9)
        hashing: list[int] = []

        class Watching(base.Body):
            def read(self, wanted: int) -> bytes:
                names = [thread.name for thread in threading.enumerate()]
                hashing.append(names.count('glance-upload-hash'))
                return super().read(wanted)

        _, _, checksum, multihash, _ = self.store.add(
            'i', Watching(data), len(data), 'md5'
        )
        self.assertEqual({1}, set(hashing))
        expected = hashlib.md5(data).hexdigest()  # noqa: S324
        self.assertEqual((expected, expected), (checksum, multihash))


class _Verifier:
    def __init__(self) -> None:
        self.data = b''

    def update(self, piece: bytes) -> None:
        self.data += piece


class _BrokenVerifier:
    def update(self, piece: bytes) -> None:
        raise ZeroDivisionError


@ddt.ddt
class Images(base.StoreTestCase):
    """Creation of images, and access to images of the stock store."""

    def _state(self, store: Any) -> tuple[int, int, int, str]:
        ident = self.add(b'data', 4, store).store_location.image
        image = self.image(ident)
        self.addCleanup(image.close)
        self.assertEqual(0, image.flags())
        names = features.from_mask(image.features())
        return (
            image.stat()['obj_size'],
            image.stripe_unit(),
            image.stripe_count(),
            features.joined(names),
        )

    def test_nothing_asked(self) -> None:
        ours = self._state(self.make_store())
        self.assertEqual(ours, self._state(self.make_store(stock.Store)))
        self.assertEqual((PIECE, PIECE, 1), ours[:3])

    def test_object_map(self) -> None:
        store = self.make_store(
            rbd_store_object_map='true',
            rbd_store_features='layering,exclusive-lock,object-map',
        )
        self.assertEqual(
            'exclusive-lock,fast-diff,layering,object-map',
            self._state(store)[3],
        )

    def test_no_object_map(self) -> None:
        store = self.make_store(rbd_store_object_map='false')
        self.assertEqual(
            'deep-flatten,exclusive-lock,layering', self._state(store)[3]
        )

    def test_image_has_the_features_of_the_store(self) -> None:
        store = self.make_store(rbd_store_features='layering')
        self.assertEqual('layering', self._state(store)[3])

    def test_image_has_the_layout_of_the_store(self) -> None:
        store = self.make_store(
            rbd_store_object_size='4M',
            rbd_store_stripe_unit='64K',
            rbd_store_stripe_count='8',
        )
        state = self._state(store)
        self.assertEqual((4 * PIECE, 65536, 8), state[:3])
        self.assertIn('striping', state[3])

    def test_object_size_alone(self) -> None:
        store = self.make_store(rbd_store_object_size='4096')
        self.assertEqual((4096, 4096, 1), self._state(store)[:3])

    @runs.nightly_after(1)
    @ddt.data(*RANGES)
    def test_range_of_an_image_is_read(
        self, wanted: tuple[int, int | None]
    ) -> None:
        offset, length = wanted
        data = base.content(LENGTH)
        place = self.add(data, LENGTH)
        end = None if length is None else offset + length
        self.check_same(
            data[offset:end],
            self.read(place, offset=offset, chunk_size=length),
        )

    def test_reader_that_goes_away(self) -> None:
        place = self.add(base.content(8 * PIECE), 8 * PIECE)
        reader = iter(self.store.get(place)[0])
        next(reader)
        reader.close()
        self.store.delete(place)
        self.assertEqual([], self.images())

    def test_no_such_image(self) -> None:
        place = self.location('rbd://fsid/images/nothing/snap')
        for method in (self.store.get, self.store.get_size, self.store.delete):
            self.assertRaises(exceptions.NotFound, method, place)

    def test_image_that_goes_before_it_is_read(self) -> None:
        place = self.add(b'data', 4)
        reader, _ = self.store.get(place)
        self.store.delete(place)
        self.assertRaises(exceptions.NotFound, list, reader)

    def test_image_of_the_stock_store(self) -> None:
        other = self.make_store(stock.Store)
        data = base.content(2 * PIECE + 7)
        place = self.add(data, len(data), other)
        self.check_same(data, self.read(place))
        self.store.delete(place)
        self.assertEqual([], self.images())

    def test_image_for_the_stock_store(self) -> None:
        other = self.make_store(stock.Store)
        store = self.make_store(
            rbd_store_object_size='4M',
            rbd_store_stripe_unit='64K',
            rbd_store_stripe_count='8',
            rbd_store_object_map='true',
        )
        data = base.content(2 * PIECE + 7)
        ours = self.add(data, len(data), store)
        place = self.location(
            ours.store_location.get_uri(), stock.StoreLocation
        )
        self.check_same(data, self.read(place, other))
        other.delete(place)
        self.assertEqual([], self.images())
