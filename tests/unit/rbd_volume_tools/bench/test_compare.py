# SPDX-License-Identifier: Apache-2.0

from rbd_volume_options import errors
from rbd_volume_tools.bench import compare
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


class CompareTest(base.TestCase):
    def test_ratio_and_overlap_of_two_results(self) -> None:
        first = samples.measured(
            *samples.thrice(100.0), *samples.thrice(5.0, layout='striped')
        )
        second = samples.measured(
            *samples.thrice(200.0), *samples.thrice(6.0, layout='striped'),
            samples.sample(1.0, cache_mode='unsafe'),
        )  # fmt: skip
        one, other, new = compare.rows(first, second)
        self.assertEqual((101.0, 201.0, 1.99, False), one[1:])
        self.assertIs(True, other[4])
        self.assertEqual((None, 1.0, None, None), new[1:])

    def test_other_settings_are_refused(self) -> None:
        first, second = samples.measured(), samples.measured()
        second.document = {**second.document, 'settings': {}}
        error = self.assertRaises(
            errors.OptionError, next, compare.rows(first, second)
        )
        self.assertIn('different plans or settings', str(error))

    def test_facts_that_differ_are_listed(self) -> None:
        first, second = samples.measured(), samples.measured()
        second.environment = {**second.environment, 'osds': 5, 'time': 'now'}
        second.fsid = 'b'
        self.assertEqual(
            {'cluster': ('cluster', 'b'), 'osds': ('3', '5')},
            compare.differences(first, second),
        )
