# SPDX-License-Identifier: Apache-2.0

"""The reader of a download, on the fake."""

from collections.abc import Iterator
import contextlib
import errno
from typing import Any

import ddt
import fixtures
from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import download
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.glance_store_objmap import fake_data

DATA = bytes(range(250))


@ddt.ddt
class ImageReaderTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('images')
        client = self.cluster.rados.Rados()
        client.connect()
        ioctx = client.open_ioctx('images')
        self.module = fake_data.Librbd(self.cluster)
        self.module.RBD().create(ioctx, 'i', len(DATA), 20)
        with self.module.Image(ioctx, 'i') as image:
            image.write(DATA, 0)
        self.ioctx = ioctx
        self.opened = 0
        self._have(self.module)

    def _have(self, module: Any) -> None:
        """Replace the stock driver's module ``rbd``.

        It is None without Ceph's bindings, or left from another test.
        """
        self.useFixture(fixtures.MonkeyPatch(f'{stock.__name__}.rbd', module))

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        with self.module.Image(self.ioctx, 'i', read_only=True) as image:
            self.opened += 1
            yield image

    def _reader(
        self, offset: int = 0, length: int | None = None, depth: int = 3
    ) -> download.ImageReader:
        return download.ImageReader(self._open, 'i', offset, length, 10, depth)

    @ddt.data(1, 2, 3, 100)
    def test_in_order(self, depth: int) -> None:
        pieces = list(self._reader(depth=depth))
        self.assertEqual(DATA, b''.join(pieces))
        self.assertEqual({10}, {len(piece) for piece in pieces})

    def test_every_range(self) -> None:
        for offset in (0, 1, 9, 10, 11, 240, 249, 250, 251):
            for length in (None, 0, 1, 9, 10, 11, 20, 250, 999):
                end = None if length is None else offset + length
                piece = b''.join(self._reader(offset, length, depth=20))
                self.assertEqual(DATA[offset:end], piece, f'{offset} {length}')

    def test_opened_when_read(self) -> None:
        reader = self._reader()
        self.assertEqual(0, self.opened)
        next(iter(reader))
        self.assertEqual(1, self.opened)

    def test_closed_when_who_reads_goes(self) -> None:
        # This works even without librbd, because a process that exits clears
        # its modules.
        self._have(None)
        pieces = iter(self._reader())
        next(pieces)
        self.assertEqual(1, len(self.cluster.open_images))
        pieces.close()  # type: ignore[attr-defined]
        self.assertEqual([], self.cluster.open_images)
        self.assertEqual([], self.cluster.ended)

    def test_can_be_read_again(self) -> None:
        reader = self._reader()
        self.assertEqual(list(reader), list(reader))

    def test_image_that_is_not_there(self) -> None:
        reader = download.ImageReader(self._open_nothing, 'i', 0, None, 10, 3)
        error = self.assertRaises(exceptions.NotFound, list, reader)
        self.assertIn('RBD image i does not exist', str(error))

    @contextlib.contextmanager
    def _open_nothing(self) -> Iterator[Any]:
        with self.module.Image(self.ioctx, 'other') as image:
            yield image

    def test_read_that_fails(self) -> None:
        error = fake_data.OSError('broken', errno.EIO)
        self.cluster.fail('Image.aio_read done', error)
        failed = self.assertRaises(fake_data.OSError, list, self._reader())
        self.assertEqual(errno.EIO, failed.errno)
        self.assertEqual([], self.cluster.open_images)
        self.assertEqual([], self.cluster.ended)
