# SPDX-License-Identifier: Apache-2.0
"""The space that an image uses, read from its object maps."""

from collections.abc import Iterable
from typing import Any


def of(librbd: Any, image: Any, snapshots: Iterable[str]) -> int | None:
    """Return the bytes of the objects of an image and its snapshots.

    The result is that of ``rbd du``: objects that are written in part count in
    full, and the objects of a parent do not count. With a valid fast-diff map,
    librbd reads one object of the map for the image and for each snapshot.
    Without one, it would query each object of the image.

    :param librbd: the module ``rbd``
    :param image: open, and not set to a snapshot
    :param snapshots: names of the snapshots in the namespace ``user``, the
        oldest first
    :returns: None unless the image and each snapshot have a valid fast-diff
        map, and if a snapshot is deleted meanwhile
    :raises rbd.Error: if librbd cannot read a map
    """
    if not image.features() & librbd.RBD_FEATURE_FAST_DIFF:
        return None
    lengths: list[int] = []

    def add(offset: int, length: int, exists: bool) -> None:
        if exists:
            lengths.append(length)

    before = None
    try:
        for name in (*snapshots, None):
            image.set_snap(name)
            if image.flags() & librbd.RBD_FLAG_FAST_DIFF_INVALID:
                return None
            image.diff_iterate(
                *(0, image.size(), before, add),
                include_parent=False,
                whole_object=True,
            )
            before = name
    except librbd.ImageNotFound:
        # A snapshot was deleted since it was listed.
        return None
    finally:
        image.set_snap(None)
    return sum(lengths)
