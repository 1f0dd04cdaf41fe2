# SPDX-License-Identifier: Apache-2.0

"""Content of volumes: a few random blocks, zeros elsewhere.

Thin volumes of several GiB are thus written and read within milliseconds.
"""

from __future__ import annotations

import hashlib
import random

BLOCK = 4096
GIB = 2**30

#: The non-zero blocks: the offset in bytes and the seed of each.
Content = dict[int, int]
#: Content that was read: the offset and the digest of each block.
Digests = dict[int, str]

#: Size of one read, in bytes.
CHUNK = 4 * 2**20
_ZEROS = bytes(CHUNK)


def block(number: int) -> bytes:
    """Return the bytes of a block."""
    return random.Random(number).randbytes(BLOCK)


def drawn(rng: random.Random, size: int) -> Content:
    """Draw blocks to write to a volume.

    :param size: size of the volume in GiB
    """
    last = size * GIB // BLOCK - 1
    places = {0, last, *(rng.randint(0, last) for _ in range(3))}
    wanted = rng.sample(sorted(places), min(3, len(places)))
    return {place * BLOCK: rng.getrandbits(32) for place in wanted}


def digests(content: Content) -> Digests:
    """Return the digests to expect when a content is read."""
    return {at: digest(block(number)) for at, number in content.items()}


def digest(data: bytes) -> str:
    """Return the digest of a block."""
    return hashlib.sha256(data).hexdigest()[:16]


def digests_in(start: int, data: bytes) -> Digests:
    """Return the digests of the non-zero blocks in data.

    :param start: offset of the data, a multiple of the block size
    """
    if data == _ZEROS[: len(data)]:
        return {}
    sums = {}
    for at in range(0, len(data), BLOCK):
        piece = data[at : at + BLOCK]
        if piece != _ZEROS[: len(piece)]:
            sums[start + at] = digest(piece)
    return sums


def restored(before: Content, backup: Content, size: int) -> Content:
    """Return the content of a volume after a backup is restored to it.

    :param size: size of the backup in GiB; content beyond it is kept
    """
    kept = {at: no for at, no in before.items() if at >= size * GIB}
    return {**backup, **kept}
