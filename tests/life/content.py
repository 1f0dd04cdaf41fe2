# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is in a volume: a few blocks of random bytes, zeros elsewhere.

A thin volume of some GiB is written and read within milliseconds this way.
"""

from __future__ import annotations

import hashlib
import random

BLOCK = 4096
GIB = 2**30

#: The blocks that aren't zeros: the offset in bytes of each, and the number
#: that its bytes are made from.
Content = dict[int, int]
#: What was read: the offset of each block, and the digest of its bytes.
Digests = dict[int, str]

#: Bytes that are read at a time.
CHUNK = 4 * 2**20
_ZEROS = bytes(CHUNK)


def block(number: int) -> bytes:
    """Return the bytes of a block."""
    return random.Random(number).randbytes(BLOCK)


def drawn(rng: random.Random, size: int) -> dict[str, int]:
    """Draw blocks to write to a volume; JSON wants text for names.

    :param size: GiB
    """
    last = size * GIB // BLOCK - 1
    places = {0, last, *(rng.randint(0, last) for _ in range(3))}
    wanted = rng.sample(sorted(places), min(3, len(places)))
    return {str(place * BLOCK): rng.getrandbits(32) for place in wanted}


def digests(content: Content) -> Digests:
    """Return what is to be read of a content."""
    return {at: digest(block(number)) for at, number in content.items()}


def digest(data: bytes) -> str:
    """Return the digest of a block."""
    return hashlib.sha256(data).hexdigest()[:16]


def digests_in(start: int, data: bytes) -> Digests:
    """Return the blocks of data that aren't zeros.

    :param start: where the data begin, a multiple of the block's size
    """
    if data == _ZEROS[: len(data)]:
        return {}
    found = {}
    for at in range(0, len(data), BLOCK):
        piece = data[at : at + BLOCK]
        if piece != _ZEROS[: len(piece)]:
            found[start + at] = digest(piece)
    return found


def restored(before: Content, backup: Content, size: int) -> Content:
    """Return what is in a volume after a backup is restored into it.

    :param size: GiB that the backup has; what lies beyond stays
    """
    kept = {at: no for at, no in before.items() if at >= size * GIB}
    return {**backup, **kept}
