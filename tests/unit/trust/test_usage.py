# SPDX-License-Identifier: Apache-2.0


from tests.trust import usage
from tests.unit import base


class GrowthTestCase(base.TestCase):
    def _growth(self, *values: float) -> list[str]:
        growth = usage.Growth()
        for number, value in enumerate(values):
            growth.add({'threads': value}, number / 4)
        return growth.table().splitlines()[1].split()

    def test_growth_is_the_slope_with_its_standard_error(self) -> None:
        # The first sample is taken before caches are filled.
        shown = self._growth(1, 10, 12, 14, 16)
        self.assertEqual(['threads', '1', '16', '+8.0', '±', '0.0'], shown)

    def test_the_error_of_the_growth_is_that_of_scattered_samples(
        self,
    ) -> None:
        # By hand: x = 0, 1, 2 in quarters of hours, residuals -1/3, 2/3, -1/3.
        shown = self._growth(0, 5, 6, 5)
        self.assertEqual(['+0.0', '±', '2.3'], shown[3:])

    def test_two_samples_have_no_growth(self) -> None:
        self.assertEqual(['threads', '1', '2', '-'], self._growth(1, 2))
