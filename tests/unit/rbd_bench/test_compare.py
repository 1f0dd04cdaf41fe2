# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt

from rbd_bench import compare
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import steady
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.rbd_bench import samples


def _found(*rates: float) -> results.Results:
    return samples.found(
        *(samples.sample(rate, place) for place, rate in enumerate(rates))
    )


@ddt.ddt
class CompareTest(base.TestCase):
    @ddt.data(
        ([100, 105, 110], [200, 205, 210], compare.FASTER),
        ([100, 105, 110], [50, 55, 60], compare.SLOWER),
        ([100, 105, 110], [105, 110, 120], steady.NOT_SHOWN),
        ([100, 101, 101], [102, 103, 103], steady.NOT_SHOWN),
        ([100, 105, 110], [200, 205], steady.UNDECIDED),
        ([100], [200], steady.UNDECIDED),
    )
    @ddt.unpack
    def test_verdict_depends_on_spread(
        self, first: list[float], second: list[float], expected: str
    ) -> None:
        (row,) = compare.compare(_found(*first), _found(*second))
        self.assertEqual(expected, row.verdict)

    def test_missing_and_failed(self) -> None:
        first, second = _found(1.0), _found(1.0)
        first.samples.append(samples.sample(1.0, layout='striped'))
        first.samples.append(samples.sample(1.0, features='with'))
        second.samples.append(samples.sample(0, error='x', layout='striped'))
        second.samples.append(samples.sample(1.0, features='without'))
        self.assertEqual(
            [
                'failed in the second',
                'not measured in the second',
                'not measured in the first',
            ],
            [each.verdict for each in compare.compare(first, second)[1:]],
        )

    def test_nothing_in_common(self) -> None:
        for sample in (
            samples.sample(1.0, cache_mode='unsafe'),
            samples.sample(0.0, error='failed'),
        ):
            error = self.assertRaises(
                errors.OptionError,
                compare.compare,
                _found(1.0),
                samples.found(sample),
            )
            self.assertIn('no combination was measured in both', str(error))

    def refusal(self, first: results.Results, second: results.Results) -> str:
        return str(
            self.assertRaises(
                errors.OptionError, compare.compare, first, second
            )
        )

    def test_other_settings(self) -> None:
        other = _found(1.0)
        other.whole_plan = dataclasses.replace(
            other.whole_plan,
            settings=dataclasses.replace(other.settings, runtime=9),
        )
        text = self.refusal(_found(1.0), other)
        self.assertIn('settings.runtime: 1, not 9', text)
        self.assertNotIn('Settings(', text)

    def test_other_plan(self) -> None:
        first, second = _found(1.0), _found(1.0)
        second.whole_plan = plan.parse(
            samples.PLAN.replace('block_size: 4K', 'block_size: 8K')
        )
        self.assertIn('block_size: 4096', self.refusal(first, second))

    def test_differences_of_environments_are_listed(self) -> None:
        other = _found(1.0)
        other.environment = {**other.environment, 'osds': 5, 'time': 'now'}
        self.assertEqual(
            {'osds': ('3', '5')}, compare.differences(_found(1.0), other)
        )

    def test_other_cluster(self) -> None:
        first, second = _found(1.0), _found(1.0)
        first.fsid = second.fsid = 'a'
        self.assertEqual({}, compare.differences(first, second))
        second.fsid = 'b'
        self.assertEqual(
            {'cluster': ('a', 'b')}, compare.differences(first, second)
        )
