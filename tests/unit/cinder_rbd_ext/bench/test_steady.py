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


"""Unit tests of cinder_rbd_ext.bench.steady."""

import ddt

from cinder_rbd_ext.bench import steady
from tests.unit import base


@ddt.ddt
class SteadyTest(base.TestCase):
    @ddt.data(
        ([], None),
        ([0, 0, 0, 0, 0], None),
        ([100, 100], None),
        ([100, 101, 99, 100, 100], True),
        # The range is more than a fifth of the average.
        ([100, 100, 130, 100, 100], False),
        # A slope of more than a tenth, within the range.
        ([92, 96, 100, 104, 108], False),
    )
    @ddt.unpack
    def test_check(self, series: list[float], expected: bool | None) -> None:
        self.assertIs(expected, steady.check(series).steady)

    def test_spread(self) -> None:
        found = steady.spread([3.0, 1.0, 2.0])
        self.assertEqual(
            (2.0, 1.0, 3.0, 3),
            (found.median, found.low, found.high, found.count),
        )
        self.assertEqual(1.0, found.part)
        self.assertTrue(found.overlaps(steady.spread([3.0, 4.0])))
        self.assertFalse(found.overlaps(steady.spread([3.1])))
