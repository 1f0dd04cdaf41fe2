# SPDX-License-Identifier: Apache-2.0

"""Hashing in separate threads."""

import hashlib
import threading
import time

import ddt
import fixtures
from glance_store import exceptions

from glance_store_objmap import hashing
from tests.unit import base


class _Slow:
    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.go = threading.Event()

    def update(self, piece: bytes) -> None:
        self.go.wait(10)
        self.taken.append(piece)


class _Ends:
    """A hash that ends its thread with an exception."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def update(self, piece: bytes) -> None:
        raise self._error


class _Broken:
    def update(self, piece: bytes) -> None:
        raise ZeroDivisionError


def _threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if 'upload-hash' in t.name]


@ddt.ddt
class HashingTest(base.TestCase):
    def test_in_order(self) -> None:
        parts = [bytes([n]) * 5000 for n in range(50)]
        ours = [hashlib.sha256(), hashlib.sha512()]
        with hashing.Hashing(ours) as hashed:
            for part in parts:
                hashed.update(part)
        data = b''.join(parts)
        self.assertEqual(hashlib.sha256(data).digest(), ours[0].digest())
        self.assertEqual(hashlib.sha512(data).digest(), ours[1].digest())
        self.assertEqual([], _threads())

    def test_waits_for_a_hash_that_is_behind(self) -> None:
        """At most the backlog is kept in memory."""
        slow = _Slow()
        with hashing.Hashing([slow]) as hashed:
            pieces = 0

            def give() -> None:
                nonlocal pieces
                for _ in range(10):
                    hashed.update(b'x')
                    pieces += 1

            giver = threading.Thread(target=give)
            giver.start()
            time.sleep(0.2)
            # The piece that is being hashed and those that wait.
            self.assertEqual(hashing.BACKLOG + 1, pieces)
            slow.go.set()
            giver.join()
        self.assertEqual(10, len(slow.taken))

    def test_failure_is_raised(self) -> None:
        for count in (1, 2, 50):
            hashed = hashing.Hashing([hashlib.sha256(), _Broken()])

            def give(hashed: hashing.Hashing = hashed, n: int = count) -> None:
                with hashed:
                    for _ in range(n):
                        hashed.update(b'x')

            self.assertRaises(ZeroDivisionError, give)
            self.assertEqual([], _threads())

    @ddt.data(
        SystemExit(), KeyboardInterrupt(), GeneratorExit(), BaseException()
    )
    def test_thread_that_ends(self, error: BaseException) -> None:
        """An exception that ends a thread fails the upload; nothing hangs."""
        for count in (1, 2, 50):
            hashed = hashing.Hashing([hashlib.sha256(), _Ends(error)])

            def give(hashed: hashing.Hashing = hashed, n: int = count) -> None:
                with hashed:
                    for _ in range(n):
                        hashed.update(b'x')

            raised = self.assertRaises(exceptions.BackendException, give)
            # Wrapped, because it must not end the caller's thread.
            self.assertIs(error, raised.__cause__)
            self.assertEqual([], _threads())

    def test_thread_that_vanishes(self) -> None:
        """A thread that ends without an exception fails the upload."""
        self.useFixture(
            fixtures.MonkeyPatch(
                'glance_store_objmap.hashing._Worker._run', lambda worker: None
            )
        )

        def give() -> None:
            with hashing.Hashing([hashlib.sha256()]) as hashed:
                for _ in range(50):
                    hashed.update(b'x')

        self.assertRaises(exceptions.BackendException, give)

    def test_the_rest_is_dropped(self) -> None:
        slow = _Slow()
        hashed = hashing.Hashing([slow])

        def give() -> None:
            with hashed:
                for _ in range(hashing.BACKLOG):
                    hashed.update(b'x')
                threading.Timer(0.1, slow.go.set).start()
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, give)
        self.assertEqual([], _threads())
        self.assertLess(len(slow.taken), hashing.BACKLOG)


class ChecksumsTest(base.TestCase):
    def test_two_hashes(self) -> None:
        sums = hashing.Checksums('sha512')
        self.assertEqual('md5', sums.md5.name)
        self.assertEqual('sha512', sums.multihash.name)
        self.assertCountEqual([sums.md5, sums.multihash], sums.hashes)

    def test_one_hash(self) -> None:
        sums = hashing.Checksums('md5')
        self.assertIs(sums.md5, sums.multihash)
        self.assertEqual([sums.md5], sums.hashes)
