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
            found, tries = self._reduced(*needed)
            self.assertEqual([*needed], found)
            self.assertLess(tries, 40)

    def test_all_of_them(self) -> None:
        found, _ = self._reduced(*range(18))
        self.assertEqual([*range(18)], found)
