#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The writing of an upload into an RBD image, several pieces at a time."""

import collections
from collections.abc import Callable
from typing import Any

from glance_store import exceptions
from glance_store import i18n
from glance_store._drivers import rbd as stock

from glance_store_objmap import settings as settings_module
from glance_store_objmap import space
from rbd_volume_options import sizes

#: An image whose size isn't known grows by at most this at a time, as in the
#: stock store.
MAX_GROWTH = 8 * sizes.GIB

_ZEROS = bytes(settings_module.MAX_PIECE)


class Upload:
    """One upload: where it is, and the writes that are in flight.

    Threads: everything here is called by the one that reads the body. A
    write's completion is waited for in librbd, not by a lock of Python's, so
    that it also works where eventlet has patched those.

    :param image: the open RBD image
    :param size: bytes that were announced; 0 where the size isn't known
    :param require: raises where there is no room for so many bytes; called
        when the image grows
    """

    def __init__(
        self,
        image: Any,
        size: int,
        settings: settings_module.StoreSettings,
        require: Callable[[int], object] = lambda needed: None,
    ) -> None:
        self.written = 0
        self._image = image
        self._announced = size
        self._allocated = size
        self._growth = settings.chunk_size
        self._depth = settings.write_depth
        self._thin = settings.thin
        self._require = require
        self._in_flight: collections.deque[_Write] = collections.deque()

    def write(self, piece: bytes) -> None:
        """Write the next piece; waits while too many are in flight.

        :raises glance_store.exceptions.Invalid: for more than was announced
        :raises rbd.Error: where this or an earlier write fails
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
        if not self._announced and end > self._allocated:
            self._grow(end)
        if not (self._thin and is_zero(piece)):
            self._send(piece)
        self.written = end

    def finish(self) -> None:
        """Wait until all is stored, and give the image its size.

        :raises glance_store.exceptions.Invalid: for less than was announced
        :raises rbd.Error: where a write fails
        """
        while self._in_flight:
            self._in_flight.popleft().finish()
        # Where librbd's cache is on from the first write, which a pool's
        # configuration may say, only this tells of a write that failed: the
        # snapshot would be taken.
        self._image.flush()
        if not self._announced:
            # Also takes away what it has grown too far.
            self._image.resize(self.written)
        elif self.written != self._announced:
            raise exceptions.Invalid(
                i18n._(
                    'Size mismatch: expected %(expected)d bytes, got '
                    '%(actual)d bytes'
                )
                % {'expected': self._announced, 'actual': self.written}
            )

    def abandon(self) -> None:
        """Wait for all writes, whatever comes of them.

        An image that is written to can't be closed.
        """
        while self._in_flight:
            self._in_flight.popleft().wait()

    def _grow(self, end: int) -> None:
        """Make room, more each time: resizing stops all writes."""
        self._require(end - self.written)
        while self._allocated < end:
            self._growth = min(self._growth * 2, MAX_GROWTH)
            self._allocated += self._growth
        self._image.resize(self._allocated)

    def _send(self, piece: bytes) -> None:
        if len(self._in_flight) >= self._depth:
            # The oldest. The others go on meanwhile, and it is mostly the
            # first to be done.
            self._in_flight.popleft().finish()
        self._in_flight.append(_Write(self._image, piece, self.written))


class _Write:
    """One write in flight.

    librbd sends from the piece itself (``rbd_disable_zero_copy_writes``), and
    its binding for Python keeps no reference. What librbd calls at the end
    does, also where this object is lost before.
    """

    def __init__(self, image: Any, piece: bytes, start: int) -> None:
        held = [piece]
        self._completion = image.aio_write(
            piece, start, lambda completion: held.clear()
        )

    def wait(self) -> None:
        """Wait until it is done, whatever comes of it."""
        self._completion.wait_for_complete_and_cb()

    def finish(self) -> None:
        """Wait until it is done.

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
        # A full pool and a full quota are one to Glance.
        failure: Exception = stock.rbd.NoSpace(text, errno=number)
    else:
        failure = stock.rbd.OSError(text, errno=number)
    return failure


def is_zero(piece: bytes) -> bool:
    """Return whether a piece is all zeros.

    By a comparison of bytes, which stops at the first one that isn't, and
    else takes a hundredth of the time of ``any(piece)``.
    """
    whole = len(piece) == len(_ZEROS)
    return piece == (_ZEROS if whole else bytes(len(piece)))
