# SPDX-License-Identifier: Apache-2.0

"""Hashing of an upload in separate threads.

md5 and sha512 take more time than the network and the cluster. hashlib
releases the interpreter lock while it hashes a large piece, so each hash
can use a core of its own.
"""

from collections.abc import Sequence
import queue
import threading
from typing import Protocol

from glance_store import exceptions
from glance_store.common import utils

from glance_store_objmap import i18n


class Hash(Protocol):
    """A consumer of data: a hashlib object or Glance's signature verifier."""

    def update(self, data: bytes, /) -> object:
        """Add a piece."""


class Checksums:
    """The checksums that Glance records of an image.

    :ivar md5: the legacy checksum
    :ivar multihash: the hash of the configured algorithm
    :ivar hashes: both, without repetition
    """

    def __init__(self, algorithm: object) -> None:
        self.md5 = utils.get_hasher('md5', False)
        self.multihash = self.md5
        if str(algorithm) != 'md5':
            self.multihash = utils.get_hasher(algorithm, False)
        self.hashes: list[Hash] = list({self.md5, self.multihash})


#: Maximum number of pieces that are queued for a hash, in memory.
BACKLOG = 2
#: Interval in seconds between checks that a thread is alive.
_WATCH = 1


class _Worker:
    """A hash and its thread.

    :ivar failure: the exception that ended the hash or the thread, if any
    """

    def __init__(self, digest: Hash) -> None:
        self._digest = digest
        self._waiting: queue.Queue[bytes | None] = queue.Queue(BACKLOG)
        self._abandoned = False
        self._complete = False
        self.failure: BaseException | None = None
        # A daemon thread, so that the process can exit during an upload.
        self._thread = threading.Thread(
            target=self._run, name='glance-upload-hash', daemon=True
        )
        self._thread.start()

    def put(self, piece: bytes | None) -> None:
        """Queue a piece; it is dropped if the thread has ended."""
        while self._thread.is_alive():
            try:
                self._waiting.put(piece, timeout=_WATCH)
                return
            except queue.Full:
                continue

    def end(self, abandon: bool) -> None:
        """Wait for the thread to end.

        :param abandon: whether to drop the queued pieces
        """
        self._abandoned = self._abandoned or abandon
        self.put(None)
        self._thread.join()

    def check(self) -> None:
        """Check that all pieces so far are, or will be, part of the hash.

        :raises Exception: the exception of the hash, if it has failed
        :raises glance_store.exceptions.BackendException: if the thread has
            ended early
        """
        if isinstance(self.failure, Exception):
            raise self.failure
        # The exception is wrapped: it was meant to end that thread, not this
        # one.
        if self.failure or not (self._complete or self._thread.is_alive()):
            raise exceptions.BackendException(
                i18n._('Hashing failed: %r') % self.failure
            ) from self.failure

    def _run(self) -> None:
        try:
            while (piece := self._waiting.get()) is not None:
                if not self._abandoned:
                    self._digest.update(piece)
                # Release the piece while the thread waits for the next one.
                del piece
            self._complete = True
        except BaseException as error:
            self.failure = error


class Hashing:
    """Passes each piece to several hashes, in order.

    This is a context manager. On exit it waits until all pieces are hashed
    and the threads have ended. After an exception it drops the queued pieces.
    """

    def __init__(self, digests: Sequence[Hash]) -> None:
        self._digests = digests
        self._workers: list[_Worker] = []

    def __enter__(self) -> 'Hashing':
        try:
            for digest in self._digests:
                self._workers.append(_Worker(digest))
        except BaseException:
            # Starting a thread can fail.
            self._end(abandon=True)
            raise
        return self

    def update(self, piece: bytes) -> None:
        """Pass a piece to all hashes; blocks while the queue of one is full.

        :raises Exception: the exception of a hash, if one has failed
        :raises glance_store.exceptions.BackendException: if a thread has
            ended early
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
