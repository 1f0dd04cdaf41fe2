# SPDX-License-Identifier: Apache-2.0

"""Fake RBD images with data, which is read and written asynchronously.

They are based on the fake librbd that the tests of all packages share.
"""

from collections.abc import Callable
import concurrent.futures
import errno
import functools
import random
import threading
import time
from typing import Any

from tests.fakes import fake_handle
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.fakes import fake_rados

_CHECK = threading.Lock()


class OSError(fake_images.OSError):
    """An error of librbd with an explicit error number."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class NoSpace(OSError):
    """The pool or a quota is full."""

    def __init__(self, message: str, errno: int = errno.ENOSPC) -> None:
        super().__init__(message, errno)


class Completion:
    """Fake ``rbd.Completion``."""

    def __init__(self, work: Callable[['Completion'], int]) -> None:
        self._work = work
        self._done = threading.Event()
        self._result = 0

    def run(self) -> None:
        """Do the work, as a thread of librbd does."""
        try:
            self._result = self._work(self)
        finally:
            self._done.set()

    def wait_for_complete_and_cb(self) -> None:
        """Wait until the work and its callback are done."""
        self._done.wait()

    def get_return_value(self) -> int:
        """Return the result; a negative error number on failure."""
        return self._result


class Image(fake_handle.Image):
    """Fake ``rbd.Image`` with data."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._random = random.Random(len(self.stored.name))
        self._in_flight: set[Completion] = set()
        self._pool = concurrent.futures.ThreadPoolExecutor(8)

    @property
    def _data(self) -> bytearray:
        holder: Any = self._at or self.stored
        with _CHECK:
            # Writes in flight run in several threads.
            if not hasattr(holder, 'data'):
                holder.data = bytearray(holder.size)
        data: bytearray = holder.data
        return data

    def _start(self, work: Callable[[Completion], int]) -> Completion:
        completion = Completion(work)
        delay = self._random.random() / 200
        with _CHECK:
            self._in_flight.add(completion)
            most = max(self._cluster_most(), len(self._in_flight))
            self._cluster.most_in_flight = most  # type: ignore[attr-defined]

        def run() -> None:
            time.sleep(delay)
            with _CHECK:
                self._in_flight.discard(completion)
            completion.run()

        self._pool.submit(run)
        return completion

    def _cluster_most(self) -> int:
        return getattr(self._cluster, 'most_in_flight', 0)

    def _failed(self, operation: str) -> int:
        try:
            self._cluster.reach(operation)
        except fake_images.OSError as error:
            return -(error.errno or errno.EIO)
        return 0

    def aio_write(
        self, data: bytes, offset: int, oncomplete: Callable[[Any], Any]
    ) -> Completion:
        """Start a write."""
        stored = self._write('Image.aio_write')
        if not isinstance(data, bytes):
            raise TypeError('data must be a byte string')
        if offset + len(data) > stored.size:
            raise AssertionError('a write beyond the end')
        failed = self._failed('Image.aio_write done')

        def work(completion: Completion) -> int:
            if not failed:
                self._data[offset : offset + len(data)] = data
                stored.sent = getattr(  # type: ignore[attr-defined]
                    stored, 'sent', 0
                ) + len(data)
            oncomplete(completion)
            return failed

        return self._start(work)

    def aio_read(
        self, offset: int, length: int, oncomplete: Callable[[Any, Any], Any]
    ) -> Completion:
        """Start a read."""
        self._read('Image.aio_read')
        failed = self._failed('Image.aio_read done')

        def work(completion: Completion) -> int:
            data = bytes(self._data[offset : offset + length])
            oncomplete(completion, None if failed else data)
            return failed or len(data)

        return self._start(work)

    def read(self, offset: int, length: int) -> bytes:
        """Read, as the stock store does."""
        self._read('Image.read')
        return bytes(self._data[offset : offset + length])

    def write(self, data: bytes, offset: int) -> int:
        """Write, as the stock store does."""
        self._write('Image.write')
        self._data[offset : offset + len(data)] = data
        return len(data)

    def resize(self, size: int, allow_shrink: bool = True) -> None:
        """Resize the image."""
        super().resize(size, allow_shrink)
        data = self._data
        del data[size:]
        data.extend(bytes(size - len(data)))

    def flush(self) -> None:
        """Flush the cache of librbd."""
        self._write('Image.flush')

    def create_snap(self, name: str) -> None:
        """Create a snapshot."""
        if self._in_flight:
            raise AssertionError('a snapshot while writes are in flight')
        super().create_snap(name)
        snapshot: Any = self.stored.snapshot(name)
        snapshot.data = bytearray(self._data)

    def close(self) -> None:
        """Close the image; librbd would wait for requests in flight."""
        if not self._closed and self._in_flight:
            self._cluster.end_process('Image.close with requests in flight')
        super().close()
        self._pool.shutdown()


class Librbd(fake_librbd.Librbd):
    """The module ``rbd`` for images with data."""

    OSError = OSError  # type: ignore[assignment]
    NoSpace = NoSpace

    def __init__(self, cluster: fake_rados.Cluster) -> None:
        super().__init__(cluster)
        self.Image = functools.partial(  # type: ignore[assignment]
            Image, cluster
        )
