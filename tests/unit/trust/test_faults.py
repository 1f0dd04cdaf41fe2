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


import random

from tests.trust import faults
from tests.unit import base


class DrawnTestCase(base.TestCase):
    def test_a_seed_draws_the_same_faults_again(self) -> None:
        first, second = (
            [faults.drawn(rng, ('kill', 'stop', 'cluster')) for _ in range(9)]
            for rng in (random.Random(5), random.Random(5))
        )
        self.assertEqual(first, second)

    def test_all_faults_of_a_kind_are_drawn(self) -> None:
        rng = random.Random(1)
        drawn = [faults.drawn(rng, ('cluster',)) for _ in range(200)]
        self.assertEqual(
            set(faults.CLUSTER), {fault.target for fault in drawn}
        )
        self.assertEqual({'cluster'}, {fault.kind for fault in drawn})
        self.assertTrue(any(fault.delay < 0 for fault in drawn))
