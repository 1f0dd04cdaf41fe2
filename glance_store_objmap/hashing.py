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


class Hash(Protocol):
    """What takes pieces: a hashlib object, or Glance's signature verifier."""

    def update(self, data: bytes, /) -> object:
        """Take a piece."""


#: Pieces that wait for a hash; they are held in memory.
BACKLOG = 2


class _Worker:
    """One hash and its thread."""

    def __init__(self, digest: Hash) -> None:
        self._digest = digest
        self._waiting: queue.Queue[bytes | None] = queue.Queue(BACKLOG)
        self._abandoned = False
        self.failure: Exception | None = None
        # A daemon: a process that ends doesn't wait for an upload.
        self._thread = threading.Thread(
            target=self._run, name='glance-upload-hash', daemon=True
        )
        self._thread.start()

    def put(self, piece: bytes) -> None:
        self._waiting.put(piece)

    def end(self, abandon: bool) -> None:
        """Wait for the thread; it drops what waits if that is abandoned."""
        self._abandoned = self._abandoned or abandon
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        # After a failure it goes on taking pieces: who puts them must not
        # wait for ever.
        while (piece := self._waiting.get()) is not None:
            if self._abandoned or self.failure:
                continue
            try:
                self._digest.update(piece)
            except Exception as error:
                self.failure = error
            # Not kept while the thread waits for the next.
            del piece


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
            if worker.failure:
                raise worker.failure
