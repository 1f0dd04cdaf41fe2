# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence

from tests.life import minimise
from tests.unit import base


class ReducedTestCase(base.TestCase):
    def _reduced(self, *needed: int) -> tuple[list[int], int]:
        """Reduce 18 steps to those needed; return also the number of tries."""
        tries = []

        def fails(steps: Sequence[int]) -> bool:
            tries.append(steps)
            return set(needed) <= set(steps)

        return minimise.reduced(range(18), fails), len(tries)

    def test_what_is_needed_is_left(self) -> None:
        for needed in ((17,), (0,), (3, 4), (2, 9, 16)):
            left, tries = self._reduced(*needed)
            self.assertEqual([*needed], left)
            self.assertLess(tries, 40)

    def test_all_of_them(self) -> None:
        left, _ = self._reduced(*range(18))
        self.assertEqual([*range(18)], left)
