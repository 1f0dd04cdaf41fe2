# SPDX-License-Identifier: Apache-2.0

"""Download of an RBD image with read-ahead."""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import Any

from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import i18n

OpenImage = Callable[[], contextlib.AbstractContextManager[Any]]


class ImageReader:
    """Iterates over the data in a range of an RBD image.

    The image is opened for the first piece. It is closed after the last
    piece, or when the iterator is closed.

    :param open_image: opens the RBD image
    :param name: name of the RBD image, for messages
    :param offset: offset of the range, in bytes
    :param length: length of the range, in bytes; None for the rest
    :param piece: size of a read, in bytes
    :param depth: maximum number of reads in flight
    """

    def __init__(
        self,
        open_image: OpenImage,
        name: str,
        offset: int,
        length: int | None,
        piece: int,
        depth: int,
    ) -> None:
        self._open_image = open_image
        self._name = name
        self._offset = offset
        self._length = length
        self._piece = piece
        self._depth = depth

    def __iter__(self) -> Iterator[bytes]:
        with contextlib.ExitStack() as stack:
            image = self._opened(stack)
            end = image.size()
            if self._length is not None:
                end = min(end, self._offset + self._length)
            yield from self._read(image, self._offset, end)

    def _opened(self, stack: contextlib.ExitStack) -> Any:
        # Only the opening is in this handler, which needs librbd: exceptions
        # that end the iteration later must not pass through it.
        try:
            return stack.enter_context(self._open_image())
        except stock.rbd.ImageNotFound as error:
            raise exceptions.NotFound(
                i18n._('RBD image %s does not exist') % self._name
            ) from error

    def _read(self, image: Any, start: int, end: int) -> Iterator[bytes]:
        in_flight: collections.deque[_Read] = collections.deque()
        try:
            while start < end or in_flight:
                while start < end and len(in_flight) < self._depth:
                    length = min(self._piece, end - start)
                    in_flight.append(_Read(image, start, length))
                    start += length
                yield in_flight.popleft().data()
        finally:
            # An image cannot be closed while reads are in flight.
            for read in in_flight:
                read.wait()


class _Read:
    """A read in flight."""

    def __init__(self, image: Any, start: int, length: int) -> None:
        self._start = start
        self._length = length
        # The callback refers to a list, not to this object. Otherwise the
        # completion would make a reference cycle, which keeps the data until
        # Python's garbage collector runs.
        self._found: list[bytes | None] = []
        source = self._found
        self._completion = image.aio_read(
            start, length, lambda completion, data: source.append(data)
        )

    def wait(self) -> None:
        self._completion.wait_for_complete_and_cb()

    def data(self) -> bytes:
        self.wait()
        result = self._completion.get_return_value()
        data = self._found.pop() if self._found else None
        if result < 0 or data is None:
            raise stock.rbd.OSError('error reading image', errno=-result)
        if len(data) != self._length:
            # The image was shrunk during the download.
            raise exceptions.BackendException(
                i18n._('RBD image ended at %d bytes')
                % (self._start + len(data))
            )
        return data
