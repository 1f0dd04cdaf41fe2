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

"""The body of an upload, in pieces that are all of one size."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any


def pieces(source: Any, size: int) -> Iterator[bytes]:
    """Give the bytes of a source; all pieces but the last are of a size.

    :param source: has ``read()``, which may return less than it is asked
        for; or can be iterated over, in chunks of any size
    """
    read = _reader(source)
    parts: list[bytes] = []
    have = 0
    while data := read(size - have):
        start = 0
        while have + len(data) - start >= size:
            end = start + size - have
            # A slice of all there is, and a join of one part, copy nothing.
            parts.append(data[start:end])
            yield _joined(parts)
            have, start = 0, end
        if start < len(data):
            parts.append(data[start:])
            have += len(data) - start
    if parts:
        yield _joined(parts)


def _joined(parts: list[bytes]) -> bytes:
    # No reference is kept: while the next piece is read, this one may go.
    whole = b''.join(parts)
    parts.clear()
    return whole


def _reader(source: Any) -> Callable[[int], bytes]:
    if hasattr(source, 'read'):
        # librbd's binding takes nothing but bytes; some readers of Glance's
        # give a bytearray.
        return lambda wanted: bytes(source.read(wanted))
    chunks = iter(source)
    # An empty chunk isn't the end here.
    return lambda wanted: bytes(next((c for c in chunks if c), b''))
