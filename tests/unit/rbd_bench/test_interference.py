# SPDX-License-Identifier: Apache-2.0

from rbd_bench import interference
from rbd_bench import results
from tests.unit import base
from tests.unit.rbd_bench import samples


def _disturbed(rate: float, others: float, **values: str) -> results.Sample:
    return samples.changed(
        samples.sample(rate, 0, '', **values),
        detail={'others_operations_per_second': others},
    )


class InterferenceTest(base.TestCase):
    def test_idle_cluster_has_no_interference(self) -> None:
        measured = samples.found(_disturbed(100.0, 4.0))
        self.assertEqual('', interference.find(measured))

    def test_during_a_slow_measurement(self) -> None:
        measured = samples.found(
            _disturbed(100.0, 20.0),
            # A fast combination does not hide it.
            _disturbed(10000.0, 20.0, cache_mode='writeback'),
        )
        text = interference.find(measured)
        self.assertIn('During 1 of 2 measurements', text)
        self.assertIn('up to 20 %', text)

    def test_foreign_load_is_interference(self) -> None:
        measured = samples.found(
            samples.sample(100.0),
            samples.sample(10000.0, cache_mode='writeback'),
        )
        measured.loads[0]['operations_per_second'] = 20.0
        text = interference.find(measured)
        self.assertIn('up to 20 operations per second', text)
        self.assertIn('of 1 of 2 measurements', text)

    def test_own_deletions_are_no_interference(self) -> None:
        # Each deletion is many operations, so its rate says nothing.
        measured = samples.found(_disturbed(0.1, 20.0, features='with'))
        measured.loads[0]['operations_per_second'] = 20.0
        self.assertEqual('', interference.find(measured))

    def test_load_average(self) -> None:
        measured = samples.found(samples.sample(100.0))
        after = {**measured.loads[0], 'when': 'after'}
        # The benchmark itself causes the load after the run.
        measured.loads.append({**after, 'client_load_average': 9.0})
        self.assertEqual('', interference.find(measured))
        measured.loads[0]['client_load_average'] = 7.5
        self.assertIn(
            'Before the run, the load average of the client over one minute '
            'was 7.5 on 2 cores',
            interference.find(measured),
        )
