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

"""Pieces of one size, whatever the body comes in."""

import io
import random
from typing import Any

import ddt

from glance_store_objmap import pieces
from tests.unit import base


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
class PiecesTest(base.TestCase):
    @ddt.data(0, 1, 9, 10, 11, 20, 25)
    def test_of_one_size(self, length: int) -> None:
        data = bytes(range(length))
        for source in (
            io.BytesIO(data),
            iter([data]),
            [bytes([one]) for one in data],
        ):
            found = list(pieces.pieces(source, 10))
            self.assertEqual(data, b''.join(found))
            self.assertEqual([], [p for p in found[:-1] if len(p) != 10])
            self.assertNotIn(b'', found)

    def test_any_parts(self) -> None:
        chance = random.Random(7)
        for _ in range(200):
            parts = [chance.randbytes(chance.randrange(40)) for _ in range(12)]
            found = list(pieces.pieces(iter(parts), 10))
            self.assertEqual(b''.join(parts), b''.join(found))
            self.assertEqual({10}, {len(p) for p in found[:-1]} | {10})

    def test_not_read_after_the_end(self) -> None:
        source = _Once(b'12', b'3')
        self.assertEqual([b'123'], list(pieces.pieces(source, 10)))

    def test_no_copy_of_a_whole_piece(self) -> None:
        data = bytes(10)
        (found,) = pieces.pieces(iter([data]), 10)
        self.assertIs(data, found)

    def test_failure_passes_through(self) -> None:
        def body() -> Any:
            yield b'12345'
            raise OSError('gone')

        found = pieces.pieces(body(), 3)
        self.assertEqual(b'123', next(found))
        self.assertRaises(OSError, next, found)
