# SPDX-License-Identifier: Apache-2.0

"""Splitting of bodies of any kind into pieces."""

import functools
import io
import itertools
import random
import sys
from typing import Any

import ddt
import hypothesis
from hypothesis import strategies

from glance_store_objmap import pieces
from tests.unit import untrusted


class _Once:
    """A body that must not be read after its end."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = list(parts)
        self._ended = False

    def read(self, wanted: int) -> bytes:
        if self._ended:
            raise AssertionError('read after the end')
        if self._parts:
            return self._parts.pop(0)
        self._ended = True
        return b''


@ddt.ddt
class PiecesTest(untrusted.TestCase):
    @ddt.data(0, 1, 9, 10, 11, 20, 25)
    def test_of_one_size(self, length: int) -> None:
        data = bytes(range(length))
        for source in (
            io.BytesIO(data),
            iter([data]),
            [bytes([one]) for one in data],
        ):
            produced = list(pieces.pieces(source, lambda: 10))
            self.assertEqual(data, b''.join(produced))
            self.assertEqual([], [p for p in produced[:-1] if len(p) != 10])
            self.assertNotIn(b'', produced)

    @hypothesis.given(
        strategies.lists(strategies.binary(max_size=40), max_size=20),
        strategies.lists(strategies.integers(1, 20), min_size=1, max_size=9),
    )
    def test_any_parts_of_sizes_that_change(
        self, parts: list[bytes], sizes: list[int]
    ) -> None:
        next_sizes = itertools.cycle(sizes)
        produced = list(
            pieces.pieces(iter(parts), functools.partial(next, next_sizes))
        )
        self.assertEqual(b''.join(parts), b''.join(produced))
        self.assertEqual(
            [
                size
                for size, _ in zip(
                    itertools.cycle(sizes), produced[:-1], strict=False
                )
            ],
            [len(each) for each in produced[:-1]],
        )

    def test_next_size_is_asked_late(self) -> None:
        """The next size is queried after the previous piece was used."""
        calls: list[str] = []

        def next_size() -> int:
            calls.append('size')
            return 2

        for _ in pieces.pieces(io.BytesIO(b'12345'), next_size):
            calls.append('piece')
        self.assertEqual(['size', 'piece'] * 3, calls)

    def test_no_reference_is_kept(self) -> None:
        """A piece that was read as a whole can be freed at the next read."""
        seen: list[int] = []
        held: list[bytes] = []

        class Source:
            def read(self, wanted: int) -> bytes:
                if held:
                    seen.append(sys.getrefcount(held[0]))
                    return b''
                held.append(random.Random(1).randbytes(wanted))
                return held[0]

        for piece in pieces.pieces(Source(), lambda: 10):
            del piece
        # One reference from the list and one from the call.
        self.assertEqual([2], seen)

    @ddt.data((1, 1), (2, 2), (3, 2), (8, 8), (9, 8), (0, 1), (-5, 1))
    @ddt.unpack
    def test_power_of_two(self, size: int, expected: int) -> None:
        self.assertEqual(expected, pieces.power_of_two(size))

    def test_not_read_after_the_end(self) -> None:
        source = _Once(b'12', b'3')
        self.assertEqual([b'123'], list(pieces.pieces(source, lambda: 10)))

    def test_no_copy_of_a_whole_piece(self) -> None:
        data = bytes(10)
        (piece,) = pieces.pieces(iter([data]), lambda: 10)
        self.assertIs(data, piece)

    def test_failure_passes_through(self) -> None:
        def body() -> Any:
            yield b'12345'
            raise OSError('gone')

        produced = pieces.pieces(body(), lambda: 3)
        self.assertEqual(b'123', next(produced))
        self.assertRaises(OSError, next, produced)
