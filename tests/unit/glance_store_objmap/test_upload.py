# SPDX-License-Identifier: Apache-2.0

"""The writer of an upload, on the fake."""

import functools
import itertools
import os
import sys
from typing import Any
from unittest import mock

import ddt

from glance_store_objmap import budget
from glance_store_objmap import upload
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.glance_store_objmap import fake_data
from tests.unit.glance_store_objmap import test_settings

MIB = 1 << 20
GIB = 1 << 30


class _Sizes:
    """An image that records its sizes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def resize(self, size: int) -> None:
        self.sizes.append(size)

    def flush(self) -> None:
        pass


class _Unfinished(_Sizes):
    """An image whose write completes when the test says so."""

    def aio_write(self, piece: bytes, offset: int, done: Any) -> Any:
        # Keep no reference, like librbd's binding.
        self._done = done
        return mock.create_autospec(fake_data.Completion, instance=True)

    def tell(self) -> None:
        """Complete the write and call back."""
        self._done(None)


class _Slow(_Sizes):
    """An image that records the awaited writes."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[int] = []

    def aio_write(self, piece: bytes, offset: int, done: Any) -> Any:
        completion = mock.create_autospec(fake_data.Completion, instance=True)
        completion.wait_for_complete_and_cb.side_effect = functools.partial(
            self.waited.append, offset
        )
        completion.get_return_value.return_value = 0
        return completion


def _upload(image: Any, size: int, **options: Any) -> upload.Upload:
    settings = test_settings.read(**options)
    share = budget.Share(
        budget.Budget(), settings.memory, settings.piece, settings.write_depth
    )
    return upload.Upload(image, size, settings, share, lambda needed: None)


@ddt.ddt
class UploadTest(base.TestCase):
    def _image(self, size: int) -> Any:
        cluster = fake_rados.Cluster('images')
        client = cluster.rados.Rados()
        client.connect()
        ioctx = client.open_ioctx('images')
        module = fake_data.Librbd(cluster)
        module.RBD().create(ioctx, 'i', size, 20)
        image = module.Image(ioctx, 'i')
        self.addCleanup(image.close)
        return image

    def test_growth_doubles_so_that_few_resizes_block_writes(self) -> None:
        """The growth doubles, so that few resizes block writes."""
        image = _Sizes()
        writing = _upload(image, 0, rbd_thin_provisioning=True)
        zeros = bytes(8 * MIB)
        for _ in range(13):
            writing.write(zeros)
        writing.finish()
        grown = [16 * MIB, 48 * MIB, 112 * MIB]
        self.assertEqual([*grown, 104 * MIB], image.sizes)

    def test_announced_size_limits_the_growth(self) -> None:
        image = _Sizes()
        writing = _upload(image, 30 * MIB, rbd_thin_provisioning=True)
        for part in (1, 9, 20):
            writing.write(bytes(part * MIB))
        writing.finish()
        self.assertEqual([16 * MIB, 30 * MIB], image.sizes)

    def test_growth_has_an_end(self) -> None:
        image = _Sizes()
        writing = _upload(image, 0)
        for end in range(1, 100, 3):
            writing._grow(end * GIB)
        steps = [b - a for a, b in itertools.pairwise(image.sizes)]
        self.assertEqual(upload.MAX_GROWTH, max(steps))

    def test_the_oldest_write_is_waited_for(self) -> None:
        image = _Slow()
        writing = _upload(image, 4, rbd_store_write_depth=2)
        for piece in (b'a', b'b', b'c'):
            writing.write(piece)
        self.assertEqual([0], image.waited)
        writing.write(b'd')
        writing.finish()
        self.assertEqual([0, 1, 2, 3], image.waited)

    def test_piece_is_kept_until_it_is_written(self) -> None:
        """librbd may still read the piece; its binding keeps no reference."""
        image = _Unfinished()
        writing = _upload(image, 9)
        piece = os.urandom(9)
        before = sys.getrefcount(piece)
        writing.write(piece)
        self.assertEqual(before + 1, sys.getrefcount(piece))
        # Simulate the end of a green thread right after the call.
        del writing
        self.assertEqual(before + 1, sys.getrefcount(piece))
        image.tell()
        self.assertEqual(before, sys.getrefcount(piece))

    def test_failure_that_only_a_flush_tells(self) -> None:
        """With librbd's cache enabled, only a flush reports the failure."""
        image = mock.create_autospec(fake_data.Image, instance=True)
        image.flush.side_effect = fake_data.NoSpace('full')
        writing = _upload(image, 1)
        writing.written = 1
        self.assertRaises(fake_data.NoSpace, writing.finish)

    def test_room_for_growth(self) -> None:
        sizes: list[int] = []
        settings = test_settings.read(rbd_thin_provisioning=True)
        with upload.begun(_Sizes(), 0, settings, sizes.append) as writing:
            for _ in range(4):
                writing.write(bytes(8 * MIB))
        self.assertEqual([8 * MIB, 8 * MIB], sizes)

    def test_share_is_returned(self) -> None:
        def fail() -> None:
            with upload.begun(
                _Sizes(), 0, test_settings.read(), lambda needed: None
            ) as writing:
                writing.next_size()
                self.assertLess(0, budget.UPLOADS.reserved())
                raise GeneratorExit

        self.assertRaises(GeneratorExit, fail)
        self.assertEqual(0, budget.UPLOADS.reserved())

    def test_zeros_need_no_memory(self) -> None:
        writing = _upload(_Sizes(), 0, rbd_thin_provisioning=True)
        zeros = bytes(MIB)
        buffers = {
            id(writing.write(bytes(bytearray(zeros)))) for _ in range(9)
        }
        self.assertEqual(1, len(buffers))
        self.assertEqual(zeros, writing.write(zeros))

    def test_data_to_hash_are_those_written(self) -> None:
        for piece in (b'\0' * 9, b'data'):
            for thin in (True, False):
                writing = _upload(_Slow(), 9, rbd_thin_provisioning=thin)
                self.assertEqual(piece, writing.write(piece))

    def test_known_size_is_left_alone(self) -> None:
        image = self._image(3)
        writing = _upload(image, 3)
        writing.write(b'abc')
        writing.finish()
        self.assertEqual(b'abc', image.read(0, 3))

    def test_abandoned_upload_completes_its_writes(self) -> None:
        image = self._image(8)
        writing = _upload(image, 8)
        writing.write(b'abcd')
        writing.abandon()
        self.assertEqual(b'abcd', image.read(0, 4))

    @ddt.data(
        (b'', True),
        (b'\0', True),
        (bytes(8 * MIB), True),
        (bytes(8 * MIB + 1), True),
        (bytes(8 * MIB) + b'1', False),
        (bytes(8 * MIB - 1) + b'1', False),
        (b'1' + bytes(99), False),
        (bytes(99) + b'1', False),
    )
    @ddt.unpack
    def test_is_zero(self, piece: bytes, expected: bool) -> None:
        self.assertIs(expected, upload.is_zero(piece))
