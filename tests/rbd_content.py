# SPDX-License-Identifier: Apache-2.0

"""Data in RBD images, which tests write and compare by checksums."""

import hashlib
from typing import Any

_MIB = 1 << 20
_EMPTY = bytes(_MIB)


def write(image: Any, at: int, length: int) -> None:
    """Write MiB that differ between images, offsets and snapshots."""
    for each in range(at, at + length):
        text = f'{image.id()} {each} {len(list(image.list_snaps()))}'
        block = hashlib.sha256(text.encode()).digest()
        image.write(block * (_MIB // len(block)), each * _MIB)


def sums(image: Any) -> dict[str, str]:
    """Return checksums of the head, by an empty name, and of the snapshots."""
    by_name = {}
    for name in ['', *(each['name'] for each in image.list_snaps())]:
        image.set_snap(name or None)
        by_name[name] = _sum(image)
    image.set_snap(None)
    return by_name


def _sum(image: Any) -> str:
    """Return the checksum of the MiB that are not zero."""
    digest = hashlib.sha256()
    blocks: set[int] = set()

    def there(offset: int, length: int, exists: bool) -> None:
        blocks.update(range(offset // _MIB, (offset + length - 1) // _MIB + 1))

    image.diff_iterate(0, image.size(), None, there)
    for each in sorted(blocks):
        data = image.read(each * _MIB, _MIB)
        if data != _EMPTY:
            digest.update(b'%d' % each)
            digest.update(data)
    return digest.hexdigest()
