# SPDX-License-Identifier: Apache-2.0

"""Upload to an RBD image with several writes in flight.

An image grows with the data that arrive, never ahead to a size that a client
only announced: the removal of a failed upload visits each object below the
image's size, so it takes as long as the upload did at most.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import Any

from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import budget
from glance_store_objmap import i18n
from glance_store_objmap import settings as settings_module
from glance_store_objmap import space
from rbd_volume_options import sizes

#: Maximum growth of an image in one step, in bytes, as in the stock store for
#: unknown sizes.
MAX_GROWTH = 8 * sizes.GIB


@contextlib.contextmanager
def begun(
    image: Any,
    size: int,
    settings: settings_module.StoreSettings,
    require: Callable[[int], object],
) -> Iterator['Upload']:
    """Begin an upload with its share of the memory; wait for it at the end.

    The parameters are those of :class:`Upload`.
    """
    with budget.UPLOADS.share(
        settings.memory, settings.piece, settings.write_depth
    ) as share:
        writing = Upload(image, size, settings, share, require)
        try:
            yield writing
        finally:
            writing.abandon()


class Upload:
    """The progress of an upload and its writes in flight.

    All methods are called by the thread that reads the body. The wait for a
    write is in librbd and does not use a lock of Python, so it also
    works with locks that eventlet has patched.

    :param image: the open RBD image, which is empty
    :param size: announced size in bytes; 0 if unknown
    :param settings: the settings of the store
    :param share: the memory of the upload
    :param require: raises an exception if the pool has less space than the
        given number of bytes; called when the image grows
    """

    def __init__(
        self,
        image: Any,
        size: int,
        settings: settings_module.StoreSettings,
        share: budget.Share,
        require: Callable[[int], object],
    ) -> None:
        self.written = 0
        self._image = image
        self._announced = size
        self._allocated = 0
        self._growth = settings.chunk_size
        self._share = share
        self._thin = settings.thin
        self._require = require
        self._in_flight: collections.deque[_Write] = collections.deque()
        # Sizes of the newest pieces, which can be in memory.
        self._held: collections.deque[int] = collections.deque()

    def next_size(self) -> int:
        """Return the size of the next piece, in bytes."""
        return self._share.next_size(sum(self._held), self.written)

    def write(self, piece: bytes) -> bytes:
        """Write the next piece; waits if too many writes are in flight.

        :returns: equal data to hash; zeros that are not written do not need
            memory
        :raises glance_store.exceptions.Invalid: for more data than announced
        :raises rbd.Error: if this or an earlier write fails
        """
        end = self.written + len(piece)
        if self._announced and end > self._announced:
            raise exceptions.Invalid(
                i18n._(
                    'Size exceeds: expected %(expected)d bytes, got '
                    '%(actual)d bytes'
                )
                % {'expected': self._announced, 'actual': end}
            )
        if end > self._allocated:
            self._grow(end)
        if self._thin and is_zero(piece):
            piece = _zeros(len(piece))
        else:
            self._send(piece)
        self.written = end
        return piece

    def finish(self) -> None:
        """Wait until all data is stored, and set the size of the image.

        :raises glance_store.exceptions.Invalid: for less data than announced
        :raises rbd.Error: if a write fails
        """
        while self._in_flight:
            self._in_flight.popleft().finish()
        # If the configuration of the pool enables librbd's cache from the
        # first write, only the flush reports a failed write. Without it, the
        # snapshot would be created.
        self._image.flush()
        if self._announced and self.written != self._announced:
            raise exceptions.Invalid(
                i18n._(
                    'Size mismatch: expected %(expected)d bytes, got '
                    '%(actual)d bytes'
                )
                % {'expected': self._announced, 'actual': self.written}
            )
        if self._allocated != self.written:
            # The excess from growing in steps.
            self._image.resize(self.written)

    def abandon(self) -> None:
        """Wait for all writes and ignore their results.

        An image cannot be closed while writes are in flight.
        """
        while self._in_flight:
            self._in_flight.popleft().wait()

    def _grow(self, end: int) -> None:
        """Grow the image, in increasing steps, as resizing stops writes."""
        self._require(end - self.written)
        while self._allocated < end:
            self._growth = min(self._growth * 2, MAX_GROWTH)
            self._allocated += self._growth
        if self._announced:
            self._allocated = min(self._allocated, self._announced)
        self._image.resize(self._allocated)

    def _send(self, piece: bytes) -> None:
        while len(self._in_flight) >= self._share.depth:
            # Wait for the oldest write, which usually completes first. The
            # others continue meanwhile.
            self._in_flight.popleft().finish()
        self._in_flight.append(_Write(self._image, piece, self.written))
        self._held.append(len(piece))
        # An older piece is written and hashed.
        while len(self._held) > max(len(self._in_flight), budget.HASHING):
            self._held.popleft()


class _Write:
    """A write in flight.

    librbd sends the data from the piece itself
    (``rbd_disable_zero_copy_writes``), and its Python binding keeps no
    reference to it. The callback of the completion keeps the reference, even
    if this object is deleted before the write ends.
    """

    def __init__(self, image: Any, piece: bytes, start: int) -> None:
        held = [piece]
        self._completion = image.aio_write(
            piece, start, lambda completion: held.clear()
        )

    def wait(self) -> None:
        """Wait until the write is complete and ignore its result."""
        self._completion.wait_for_complete_and_cb()

    def finish(self) -> None:
        """Wait until the write is complete.

        :raises rbd.Error: if it has failed
        """
        self.wait()
        result = self._completion.get_return_value()
        if result < 0:
            raise _failure(-result)


def _failure(number: int) -> Exception:
    """Return librbd's exception for an error number."""
    text = 'error writing to image'
    if number in space.FULL:
        # Glance does not distinguish a full pool from a reached quota.
        failure: Exception = stock.rbd.NoSpace(text, errno=number)
    else:
        failure = stock.rbd.OSError(text, errno=number)
    return failure


def is_zero(piece: bytes) -> bool:
    """Return whether a piece contains only zeros.

    This compares bytes objects. The comparison stops at the first byte that
    differs, and for zeros takes a hundredth of the time of ``any(piece)``.
    """
    return piece == _zeros(len(piece))


def _zeros(length: int) -> bytes:
    # Only the last piece of an upload has another size.
    return _ZEROS.get(length) or bytes(length)


#: The kernel maps zeros that are only read to a single page.
_ZEROS = {
    size: bytes(size)
    for order in range(settings_module.MAX_PIECE.bit_length())
    if (size := 1 << order) >= budget.MIN_PIECE
}
