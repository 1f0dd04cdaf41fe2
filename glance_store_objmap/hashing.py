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

"""Hashing of an upload, on threads of its own.

md5 and sha512 take more time than the network and the cluster do. hashlib
lets other threads run while it digests a large piece, so that each hash has
a core of its own where there is one.
"""

from collections.abc import Sequence
import queue
import threading
from typing import Protocol

from glance_store import exceptions
from glance_store import i18n


class Hash(Protocol):
    """What takes pieces: a hashlib object, or Glance's signature verifier."""

    def update(self, data: bytes, /) -> object:
        """Take a piece."""


#: Pieces that wait for a hash; they are held in memory.
BACKLOG = 2
#: Seconds between two looks at whether a thread is alive.
_WATCH = 1


class _Worker:
    """One hash and its thread.

    :ivar failure: what the hash, or the thread, has ended with
    """

    def __init__(self, digest: Hash) -> None:
        self._digest = digest
        self._waiting: queue.Queue[bytes | None] = queue.Queue(BACKLOG)
        self._abandoned = False
        self._complete = False
        self.failure: BaseException | None = None
        # A daemon: a process that ends doesn't wait for an upload.
        self._thread = threading.Thread(
            target=self._run, name='glance-upload-hash', daemon=True
        )
        self._thread.start()

    def put(self, piece: bytes | None) -> None:
        """Hand a piece over; dropped where nobody takes it any more."""
        while self._thread.is_alive():
            try:
                self._waiting.put(piece, timeout=_WATCH)
                return
            except queue.Full:
                continue

    def end(self, abandon: bool) -> None:
        """Wait for the thread; it drops what waits if that is abandoned."""
        self._abandoned = self._abandoned or abandon
        self.put(None)
        self._thread.join()

    def check(self) -> None:
        """Check that all pieces so far are, or will be, in the hash.

        :raises Exception: what the hash has failed with
        :raises glance_store.exceptions.BackendException: for a thread that
            has ended early
        """
        if isinstance(self.failure, Exception):
            raise self.failure
        # Not raised as it is: it was to end that thread, not the caller's.
        if self.failure or not (self._complete or self._thread.is_alive()):
            raise exceptions.BackendException(
                i18n._('Hashing has ended early: %r') % self.failure
            ) from self.failure

    def _run(self) -> None:
        try:
            while (piece := self._waiting.get()) is not None:
                if not self._abandoned:
                    self._digest.update(piece)
                # Not kept while the thread waits for the next.
                del piece
            self._complete = True
        except BaseException as error:
            self.failure = error


class Hashing:
    """Hands each piece to several hashes, in order.

    A context manager: at its end all pieces are hashed and the threads gone,
    or, after an exception, the rest is dropped.
    """

    def __init__(self, digests: Sequence[Hash]) -> None:
        self._digests = digests
        self._workers: list[_Worker] = []

    def __enter__(self) -> 'Hashing':
        try:
            for digest in self._digests:
                self._workers.append(_Worker(digest))
        except BaseException:
            # A process can run out of threads.
            self._end(abandon=True)
            raise
        return self

    def update(self, piece: bytes) -> None:
        """Hand a piece over; waits where a hash is behind.

        :raises Exception: what a hash has failed with
        """
        for worker in self._workers:
            worker.put(piece)
        self._check()

    def __exit__(
        self, failure: type[BaseException] | None, *_: object
    ) -> None:
        self._end(abandon=failure is not None)
        if failure is None:
            self._check()

    def _end(self, abandon: bool) -> None:
        for worker in self._workers:
            worker.end(abandon)

    def _check(self) -> None:
        for worker in self._workers:
            worker.check()
