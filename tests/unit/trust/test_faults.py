# SPDX-License-Identifier: Apache-2.0


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

    def test_both_drivers_are_interrupted_between_their_steps(self) -> None:
        rng = random.Random(1)
        drawn = [faults.drawn(rng, ('kill',)) for _ in range(100)]
        self.assertEqual(
            {0, 1}, {fault.side for fault in drawn if fault.changes}
        )
