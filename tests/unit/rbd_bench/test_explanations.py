# SPDX-License-Identifier: Apache-2.0

from collections.abc import Mapping

import ddt

from rbd_bench import explanations
from rbd_bench import plan
from rbd_bench import steady
from tests.unit import base
from tests.unit.rbd_bench import samples


def _side(
    rate: float, detail: Mapping[str, float] | None = None, **values: str
) -> explanations.Side:
    return explanations.Side(
        samples.cell(None, **values), steady.spread([rate]), detail or {}, ''
    )


def _explain(
    of: explanations.Side,
    to: explanations.Side,
    *names: str,
    is_short: bool = True,
) -> str:
    return ' '.join(
        explanations.explain(names, of, to, samples.found(), is_short)
    )


@ddt.ddt
class ExplanationsTest(base.TestCase):
    @ddt.data('cache-policy', 'flush', 'rate', 'same-host')
    def test_of_a_missing_gain_only(self, name: str) -> None:
        sides = _side(90.0, cache_mode='writeback'), _side(100.0)
        self.assertTrue(_explain(*sides, name))
        self.assertEqual('', _explain(*sides, name, is_short=False))

    def test_all_are_known(self) -> None:
        sides = _side(1.0, features='with'), _side(1.0, features='without')
        self.assertTrue(_explain(*sides, 'objects', is_short=False))
        for name in set(plan.EXPLANATIONS) - {'objects'}:
            sides = _side(90.0, layout='striped'), _side(100.0)
            self.assertTrue(_explain(*sides, name), name)

    def test_explanations_name_options_and_latencies(self) -> None:
        text = _explain(
            _side(90.0, {'read_ms_mean': 5.0}, cache_mode='writeback'),
            _side(100.0, {'read_ms_mean': 4.0}),
            *('cache-policy', 'flush', 'rate', 'same-host'),
        )
        for part in (
            'rbd_cache_policy is writearound',
            'A read took 5.00 ms on average with writeback and 4.00 ms with '
            'none',
            'The workload never flushes',
            '90 and 100 operations per second',
            'shares its 2 cores',
        ):
            self.assertIn(part, text)

    def test_computed_gain(self) -> None:
        text = _explain(_side(1.0, layout='striped'), _side(1.0), 'osds')
        self.assertRegex(text, r'a factor of 1\.\d\d at most')

    def test_deletion_is_explained_by_number_of_objects(self) -> None:
        sides = _side(10.0, features='with'), _side(0.05, features='without')
        self.assertIn('20.0 s, 13,107 requests', _explain(*sides, 'objects'))

    @ddt.data(
        ({}, 'operations per second were measured. What the client'),
        ({'client_cpu_percent': 30.4}, 'fio used 30 % and 30 % of a core'),
        (
            {'client_cpu_percent': 99.0},
            'fio itself was the limit: it used 99',
        ),
    )
    @ddt.unpack
    def test_busy_client(
        self, detail: Mapping[str, float], expected: str
    ) -> None:
        sides = _side(90.0, detail), _side(100.0, detail)
        self.assertIn(expected, _explain(*sides, 'rate'))
