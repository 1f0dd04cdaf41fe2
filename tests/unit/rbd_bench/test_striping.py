# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_bench import striping
from rbd_bench import workload
from rbd_volume_options import layout
from tests.unit import base

_KIB, _GIB = 2**10, 2**30
_STRIPED = layout.ImageLayout(
    layout.DEFAULT_OBJECT_SIZE, layout.Striping(64 * _KIB, 8)
)


def _work(pattern: str = 'write', depth: int = 64) -> workload.Workload:
    return workload.Workload('w', pattern, 16 * _KIB, depth)


@ddt.ddt
class StripingTest(base.TestCase):
    def gain(self, osds: int, work: workload.Workload) -> float:
        return striping.gain(_STRIPED, work, 8 * _GIB, osds)

    def test_one_osd_gains_nothing(self) -> None:
        self.assertAlmostEqual(1.0, self.gain(1, _work()))

    def test_more_osds_gain_more(self) -> None:
        gains = [self.gain(osds, _work()) for osds in (1, 3, 10, 100, 1000)]
        self.assertEqual(sorted(gains), gains)
        # 64 requests of 16 KiB fill 16 stripe units: all 8 objects, against
        # little more than one of 4 MiB.
        self.assertAlmostEqual(8 / 1.25, gains[-1], delta=0.1)

    def test_one_request_at_a_time_gains_nothing(self) -> None:
        self.assertAlmostEqual(1.0, self.gain(100, _work(depth=1)))

    def test_random_requests_gain_nothing(self) -> None:
        self.assertAlmostEqual(
            1.0, self.gain(100, _work('randread')), delta=0.02
        )

    def test_default_layout(self) -> None:
        plain = layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE)
        self.assertEqual(1.0, striping.gain(plain, _work(), 8 * _GIB, 100))

    @ddt.data((0, 0.0), (1, 1.0))
    @ddt.unpack
    def test_osds_at_work(self, osds: int, expected: float) -> None:
        self.assertEqual(expected, striping.osds_at_work(5, osds))
