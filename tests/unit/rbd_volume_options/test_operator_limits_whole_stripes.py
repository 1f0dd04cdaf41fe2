# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

Origin = errors.Origin


@ddt.ddt
class WholeStripesTestCase(refusals.RefusalTestCase):
    def _check(
        self,
        striping: layout.Striping | None,
        size: int,
        required: bool = True,
    ) -> None:
        operator_limits.check_whole_stripes(
            layout.ImageLayout(4 * MIB, striping),
            size,
            operator_limits.Limits(require_whole_stripes=required),
            Origin.BACKEND,
        )

    @ddt.named_data(
        ['powers_of_two', 64 * KIB, 8, GIB],
        ['one_stripe_is_the_volume', 4 * MIB, 256, GIB],
        ['three_in_three_gib', 4 * MIB, 3, 3 * GIB],
        ['odd_count_of_small_units', 512, 3, 3 * GIB],
    )
    def test_whole_stripes_are_allowed(
        self, unit: int, count: int, size: int
    ) -> None:
        self._check(layout.Striping(unit, count), size)

    @ddt.named_data(
        [
            'three_in_one_gib',
            4 * MIB,
            3,
            GIB,
            '1 GiB is not a multiple of 4 MiB x 3',
        ],
        [
            'stripe_over_volume',
            4 * MIB,
            512,
            GIB,
            '1 GiB is not a multiple of 4 MiB x 512',
        ],
        [
            'half_a_stripe_more',
            64 * KIB,
            8,
            GIB + 256 * KIB,
            '1048832 KiB is not a multiple of 64 KiB x 8',
        ],
        [
            'a_byte_more',
            512,
            1,
            GIB + 1,
            '1073741825 B is not a multiple of 512 B x 1',
        ],
    )
    def test_not_whole(
        self, unit: int, count: int, size: int, reason: str
    ) -> None:
        striping = layout.Striping(unit, count)
        self.assertRefused(
            lambda: self._check(striping, size),
            'rbd:stripe_count',
            count,
            reason,
            'values whose product divides the size, such as powers of two',
            Origin.BACKEND,
        )
        # librbd does not require it, so operators can disable the check.
        self._check(striping, size, required=False)

    def test_no_striping_no_stripes(self) -> None:
        self._check(None, 4 * MIB + 1)
