# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable

from cinder_rbd_ext.retype import comparison
from tests.unit import base


class _Image:
    """An image with extents of a size."""

    def __init__(self, size: int, *extents: tuple[int, int]) -> None:
        self._size = size
        self._extents = extents

    def size(self) -> int:
        return self._size

    def list_snaps(self) -> list[dict[str, str]]:
        return [{'name': 'a'}, {'name': 'b'}]

    def diff_iterate(
        self,
        offset: int,
        length: int,
        before: str | None,
        add: Callable[[int, int, bool], None],
    ) -> None:
        for extent in self._extents:
            add(*extent, True)


class ComparisonTest(base.TestCase):
    """The contents are compared on real Ceph, in the functional tests."""

    def test_head_is_compared_after_the_snapshots(self) -> None:
        snapshots = comparison.snapshots_of(_Image(0))
        self.assertEqual(['a', 'b', None], snapshots)

    def test_extent_over_a_border_changes_both_pieces(self) -> None:
        piece = 4 << 20
        image = _Image(9 * piece, (piece - 1, 2), (5 * piece, piece))
        self.assertEqual({0, 1, 5}, comparison.changed_pieces(image, None))
