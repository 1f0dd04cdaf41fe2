# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_bench import plan
from rbd_bench import report
from rbd_bench import shipped
from rbd_bench import summary
from rbd_bench import winners
from tests.unit import base
from tests.unit.rbd_bench import samples

_RATES = dict[tuple[str, str], list[float]]


def _table(rates: _RATES, axis: str = 'allocator') -> summary.Table:
    """Return the table of cache modes and values of another axis."""
    whole_plan = shipped.load('ceph-2022')
    measured = samples.found()
    for (mode, value), each in rates.items():
        first = samples.thrice(
            0.0, whole_plan, run='qemu', **{plan.CACHE_MODE: mode, axis: value}
        )[0]
        for place, rate in enumerate(each):
            measured.samples.append(
                samples.changed(
                    first,
                    repetition=place,
                    rate=rate,
                    error='' if rate else 'failed',
                )
            )
    (table,) = summary.tables(whole_plan, measured)
    return table


def _about(rate: float) -> list[float]:
    return [rate - 0.5, rate, rate + 0.5]


@ddt.ddt
class WinnersTest(base.TestCase):
    def test_mode_that_gains_nothing(self) -> None:
        table = _table(
            {
                ('none', 'libc'): _about(100),
                ('none', 'tcmalloc'): _about(150),
                ('writeback', 'libc'): _about(99),
                ('writeback', 'tcmalloc'): _about(151),
            }
        )
        self.assertEqual('none, tcmalloc', table.best.label)
        self.assertEqual(
            ['writeback, tcmalloc'], [x.label for x in table.decision.ties]
        )
        self.assertEqual([], report.volume_types([table]))

    def test_both_changes_gain(self) -> None:
        table = _table(
            {
                ('none', 'libc'): _about(100),
                ('none', 'tcmalloc'): _about(150),
                ('writeback', 'libc'): _about(120),
                ('writeback', 'tcmalloc'): _about(200),
            }
        )
        self.assertEqual('writeback, tcmalloc', table.best.label)
        self.assertEqual((), table.decision.ties)
        (each,) = report.volume_types([table])
        self.assertEqual({'rbd:cache_mode': 'writeback'}, each.properties)

    def test_tie_of_the_fewest_changes(self) -> None:
        # Each change gains without the other, but hardly with it.
        table = _table(
            {
                ('none', 'libc'): _about(100),
                ('none', 'tcmalloc'): _about(150),
                ('writeback', 'libc'): _about(148),
                ('writeback', 'tcmalloc'): _about(152),
            }
        )
        self.assertEqual('none, tcmalloc', table.best.label)
        self.assertEqual(2, len(table.decision.ties))

    @ddt.data(
        ({('none', 'libc'): [100] * 3}, 'only one variant'),
        (
            {('none', 'libc'): [100], ('writeback', 'libc'): [200]},
            'fewer than 3',
        ),
        (
            {('none', 'libc'): [0], ('writeback', 'libc'): [200] * 3},
            'the baseline was not',
        ),
        (
            {
                ('none', 'libc'): [100] * 3,
                ('none', 'tcmalloc'): [100] * 3,
                ('writeback', 'libc'): [0],
            },
            'not measured: writeback',
        ),
        (
            {
                ('none', 'libc'): [100] * 3,
                ('none', 'tcmalloc'): [0],
                ('writeback', 'libc'): [100] * 3,
                ('writeback', 'tcmalloc'): [200] * 3,
            },
            'not known which change',
        ),
    )
    @ddt.unpack
    def test_close_figures_have_no_winner(
        self, rates: _RATES, problem: str
    ) -> None:
        table = _table(rates)
        self.assertIsNone(table.winner)
        self.assertIn(problem, table.decision.problem)
        self.assertFalse(table.decision.is_decided)

    def test_no_clear_difference(self) -> None:
        table = _table(
            {
                ('none', 'libc'): _about(100),
                # As the NBD server of QEMU 7.2 with an I/O thread.
                ('none', 'tcmalloc'): [0],
                ('writeback', 'libc'): _about(101),
            }
        )
        self.assertEqual(
            winners.Decision(open=('none, tcmalloc',)), table.decision
        )
        self.assertTrue(table.decision.is_decided)

    @ddt.data(([0], False), ([99], False), ([99] * 3, True))
    @ddt.unpack
    def test_winner_with_unknown_keys(
        self, rates: list[float], decided: bool
    ) -> None:
        table = _table(
            {
                ('none', 'libc'): _about(100),
                ('none', 'tcmalloc'): _about(150),
                ('writeback', 'libc'): rates,
            }
        )
        self.assertEqual('none, tcmalloc', table.best.label)
        # Nobody knows yet that no cache mode gains.
        self.assertIs(decided, table.decision.is_decided)
