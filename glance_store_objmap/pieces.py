# SPDX-License-Identifier: Apache-2.0

"""The body of an upload, in pieces."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any


def pieces(source: Any, next_size: Callable[[], int]) -> Iterator[bytes]:
    """Yield the data of a source in pieces; only the last may be smaller.

    :param source: has ``read()``, which may return less data than requested,
        or is an iterable of chunks of any size
    :param next_size: returns the size of the next piece, in bytes; called
        before each piece
    """
    read = _reader(source)
    parts: list[bytes] = []
    size, have = next_size(), 0
    while data := read(size - have):
        start = 0
        while have + len(data) - start >= size:
            end = start + size - have
            # Slicing a whole chunk and joining a single part do not copy.
            parts.append(data[start:end])
            if end == len(data):
                # Keep no reference, so that the piece can be freed during the
                # next read.
                data, end = b'', 0
            yield _joined(parts)
            size, have, start = next_size(), 0, end
        if start < len(data):
            parts.append(data[start:])
            have += len(data) - start
    if parts:
        yield _joined(parts)


def power_of_two(size: int) -> int:
    """Return the largest power of two that is not above a size."""
    return 1 << (max(1, size).bit_length() - 1)


def _joined(parts: list[bytes]) -> bytes:
    whole = b''.join(parts)
    parts.clear()
    return whole


def _reader(source: Any) -> Callable[[int], bytes]:
    if hasattr(source, 'read'):
        # librbd's binding accepts only bytes. Some readers of Glance return a
        # bytearray.
        return lambda wanted: bytes(source.read(wanted))
    chunks = iter(source)
    # An empty chunk does not end the data of an iterable.
    return lambda wanted: bytes(next((c for c in chunks if c), b''))
