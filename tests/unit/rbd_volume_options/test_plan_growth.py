# SPDX-License-Identifier: Apache-2.0

"""The rules for extending a volume."""

import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import sizes
from tests.unit import base

_MIB = sizes.MIB


def _layout(unit: int, count: int) -> layout.ImageLayout:
    return layout.ImageLayout(4 * _MIB, layout.Striping(unit, count))


@ddt.ddt
class GrowthTestCase(base.TestCase):
    @ddt.data(
        (sizes.KIB * 64, 8, 1),
        (sizes.KIB * 64, 3, 3),
        (4 * _MIB, 6, 3),
        (4 * _MIB, 512, 2),
        (4 * _MIB, 768, 3),
    )
    @ddt.unpack
    def test_step_is_smallest_whole_size(
        self, unit: int, count: int, gib: int
    ) -> None:
        striped = _layout(unit, count)
        self.assertEqual(gib, operator_limits.whole_stripes_step(striped))
        origins = {keys.STRIPING: errors.Origin.VOLUME_METADATA}
        state = options.image_values(striped, frozenset())
        for size in range(1, 2 * gib + 1):
            try:
                plan.check_growth(
                    state, origins, size * sizes.GIB, operator_limits.Limits()
                )
            except errors.OptionError:
                self.assertNotEqual(0, size % gib)
            else:
                self.assertEqual(0, size % gib)

    def test_no_step_without_striping(self) -> None:
        self.assertEqual(
            1, operator_limits.whole_stripes_step(layout.ImageLayout(4 * _MIB))
        )

    def test_striping_of_ceph_is_not_restricted(self) -> None:
        origins = {keys.STRIPING: errors.Origin.CLUSTER}
        state = options.image_values(_layout(sizes.KIB * 64, 3), frozenset())
        plan.check_growth(state, origins, sizes.GIB, operator_limits.Limits())
