#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Unit tests of cinder_rbd_ext.bench.compare."""

import dataclasses

import ddt

from cinder_rbd_ext.bench import compare
from cinder_rbd_ext.bench import results
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.cinder_rbd_ext.bench import samples


def _found(*rates: float) -> results.Results:
    return samples.found(
        *(samples.sample(rate, place) for place, rate in enumerate(rates))
    )


@ddt.ddt
class CompareTest(base.TestCase):
    @ddt.data(
        ([100, 110], [200, 210], compare.FASTER),
        ([100, 110], [50, 60], compare.SLOWER),
        ([100, 110], [105, 120], compare.SAME),
        ([100, 101], [102, 103], compare.SAME),
        ([100], [200], compare.UNCERTAIN),
    )
    @ddt.unpack
    def test_verdicts(
        self, first: list[float], second: list[float], expected: str
    ) -> None:
        (found,) = compare.compare(_found(*first), _found(*second))
        self.assertEqual(expected, found.verdict)

    def test_only_what_both_have(self) -> None:
        other = samples.found(samples.sample(1.0, cache_mode='unsafe'))
        self.assertEqual([], compare.compare(_found(1.0), other))

    def test_other_settings(self) -> None:
        other = _found(1.0)
        other.settings = dataclasses.replace(other.settings, runtime=9)
        error = self.assertRaises(
            errors.OptionError, compare.compare, _found(1.0), other
        )
        self.assertIn('different settings', str(error))

    def test_differences(self) -> None:
        other = _found(1.0)
        other.environment = {**other.environment, 'osds': 5, 'time': 'now'}
        self.assertEqual(
            {'osds': ('3', '5')}, compare.differences(_found(1.0), other)
        )
