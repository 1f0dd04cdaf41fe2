# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_bench import plan
from rbd_bench import published
from rbd_bench import results
from rbd_bench import steady
from tests.unit import base
from tests.unit.rbd_bench import samples


@ddt.ddt
class PublishedTest(base.TestCase):
    def compare(self, *taken: results.Sample) -> list[published.Compared]:
        return published.compare(samples.parsed(), samples.found(*taken))

    @ddt.data(
        (2.0, [200] * 3, [100] * 3, published.REPRODUCED),
        (2.0, [150] * 3, [100] * 3, published.REPRODUCED),
        (2.0, [120] * 3, [100] * 3, published.WEAKER),
        (2.0, [102] * 3, [100] * 3, steady.NOT_SHOWN),
        (2.0, [120, 90, 120], [100, 110, 105], steady.NOT_SHOWN),
        (2.0, [50] * 3, [100] * 3, published.OPPOSITE),
        (2.0, [500] * 3, [100] * 3, published.LARGER),
        (1.1, [300] * 3, [100] * 3, published.LARGER),
        (0.7, [80] * 3, [100] * 3, published.REPRODUCED),
        (0.7, [150] * 3, [100] * 3, published.OPPOSITE),
        (0.7, [20] * 3, [100] * 3, published.LARGER),
        # No difference beyond the spread does not show that there is none.
        (1.04, [100] * 3, [100] * 3, steady.NOT_SHOWN),
        (1.0, [200] * 3, [100] * 3, published.LARGER),
        (1.04, [60, 150, 160], [90, 100, 170], steady.NOT_SHOWN),
        # Two measurements may differ by chance.
        (2.0, [200], [100], steady.UNDECIDED),
        (2.0, [200] * 2, [100] * 3, steady.UNDECIDED),
        (None, [200] * 2, [100] * 2, steady.UNDECIDED),
        (
            None,
            [200] * 3,
            [100] * 3,
            f'{published.NO_FIGURE}; measured: faster',
        ),
    )
    @ddt.unpack
    def test_verdict_compares_with_the_published_ratio(
        self,
        wanted: float | None,
        of: list[float],
        to: list[float],
        expected: str,
    ) -> None:
        self.assertEqual(
            expected,
            published.verdict(wanted, steady.spread(of), steady.spread(to)),
        )

    def test_explanations_of_a_missing_gain(self) -> None:
        cache, striping, mapped = self.compare(
            *samples.thrice(100.0),
            *samples.thrice(90.0, cache_mode='writeback'),
            *samples.thrice(110.0, layout='striped'),
            *samples.thrice(1.0, features='without'),
            *samples.thrice(100.0, features='with'),
        )
        self.assertAlmostEqual(0.9, cache.ratio or 0, delta=0.01)
        self.assertEqual(published.OPPOSITE, cache.verdict)
        self.assertEqual(4, len(cache.reasons))
        self.assertIn('The pool uses 3 OSDs', striping.reasons[0])
        self.assertIn('all 262,144 objects', mapped.reasons[0])

    def test_explanations_of_a_gain(self) -> None:
        cache, *_ = self.compare(
            *samples.thrice(100.0),
            *samples.thrice(200.0, cache_mode='writeback'),
        )
        self.assertEqual(published.REPRODUCED, cache.verdict)
        self.assertEqual((), cache.reasons)

    def test_other_path_than_published_is_named(self) -> None:
        for path, rate, expected in (
            ('', 90.0, 'unknown, here qemu'),
            ('qemu', 90.0, 'qemu, here qemu'),
            ('guest', 90.0, 'guest, here qemu'),
            ('guest', 200.0, 'guest, here qemu'),
        ):
            more = f'ratio: 2\n    path: {path}\n' if path else 'ratio: 2\n'
            whole_plan = plan.parse(samples.PLAN.replace('ratio: 2\n', more))
            measured = samples.found(
                *samples.thrice(100.0),
                *samples.thrice(rate, cache_mode='writeback'),
            )
            cache = published.compare(whole_plan, measured)[0]
            self.assertEqual(expected, cache.paths)
            self.assertEqual(
                path == 'guest' and rate < 100,
                'The path of the published figures is guest' in str(cache),
            )

    def test_not_measured(self) -> None:
        cache, striping, _ = self.compare(
            samples.sample(100.0),
            samples.sample(0, error='QEMU failed', cache_mode='writeback'),
        )
        self.assertEqual(published.NOT_MEASURED, cache.verdict)
        self.assertEqual(('QEMU failed',), cache.reasons)
        self.assertEqual(('It was not selected.',), striping.reasons)
