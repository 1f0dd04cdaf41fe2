# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB

Origin = errors.Origin

_MAP = frozenset({'layering', 'exclusive-lock', 'object-map', 'fast-diff'})


def _layout(
    object_size: int, striping: tuple[int, int] | None
) -> layout.ImageLayout:
    return layout.ImageLayout(
        object_size, layout.Striping(*striping) if striping else None
    )


@ddt.ddt
class StripeCountTestCase(refusals.RefusalTestCase):
    @ddt.data(
        (1, 1, True),
        (64, 64, True),
        (2, 1, False),
        (65, 64, False),
        (100000, 64, False),
    )
    @ddt.unpack
    def test_maximum_of_the_back_end(
        self, count: int, most: int, is_allowed: bool
    ) -> None:
        def check(origin: Origin = Origin.VOLUME_TYPE) -> None:
            operator_limits.check_layout(
                _layout(4 * MIB, (64 * KIB, count)),
                {keys.STRIPING: origin},
                operator_limits.Limits(max_stripe_count=most),
            )

        # The striping of an image or of Ceph's configuration is not limited.
        check(Origin.CLUSTER)
        if is_allowed:
            check()
            return
        self.assertRefused(
            check,
            'rbd:stripe_count',
            count,
            'more than this back end allows',
            f'1 to {most}',
            Origin.VOLUME_TYPE,
        )


@ddt.ddt
class GrowthTestCase(refusals.RefusalTestCase):
    """The size of a striped volume, when it is extended."""

    def _check(
        self,
        striping: tuple[int, int],
        size: int,
        origin: Origin = Origin.BACKEND,
        **limits: Any,
    ) -> None:
        plan.check_growth(
            options.image_values(_layout(4 * MIB, striping), frozenset()),
            {keys.STRIPING: origin},
            size,
            operator_limits.Limits(**limits),
        )

    @ddt.data(
        # The stripe unit and count, the smallest size in GiB.
        (64 * KIB, 8, 1),
        (4 * MIB, 256, 1),
        (64 * KIB, 3, 3),
        (512, 3, 3),
        (4 * MIB, 6, 3),
        # A maximum of the back end that was lowered later does not matter.
        (4 * MIB, 512, 2),
        (4 * MIB, 768, 3),
    )
    @ddt.unpack
    def test_step_is_smallest_whole_size(
        self, unit: int, count: int, gib: int
    ) -> None:
        striped = _layout(4 * MIB, (unit, count))
        self.assertEqual(gib, operator_limits.whole_stripes_step(striped))
        for size in range(1, 2 * gib + 1):
            try:
                self._check((unit, count), size * GIB)
            except errors.OptionError:
                self.assertNotEqual(0, size % gib)
            else:
                self.assertEqual(0, size % gib)

    def test_no_step_without_striping(self) -> None:
        plain = _layout(4 * MIB, None)
        self.assertEqual(1, operator_limits.whole_stripes_step(plain))

    @ddt.data(
        ((4 * MIB, 3), GIB, '1 GiB is not a multiple of 4 MiB x 3'),
        (
            (64 * KIB, 8),
            GIB + 256 * KIB,
            '1048832 KiB is not a multiple of 64 KiB x 8',
        ),
        (
            (512, 1),
            GIB + 1,
            '1073741825 B is not a multiple of 512 B x 1',
        ),
    )
    @ddt.unpack
    def test_not_whole(
        self, striping: tuple[int, int], size: int, reason: str
    ) -> None:
        self.assertRefused(
            lambda: self._check(striping, size),
            'rbd:stripe_count',
            striping[1],
            reason,
            'values whose product divides the size, such as powers of two',
            Origin.BACKEND,
        )
        # librbd does not require it, so operators can disable the check.
        self._check(striping, size, require_whole_stripes=False)
        # Nor is the striping of Ceph's configuration restricted.
        self._check(striping, size, Origin.CLUSTER)


@ddt.ddt
class ObjectMapTestCase(refusals.RefusalTestCase):
    """librbd allows at most 256,000,000 objects with an object map."""

    @ddt.named_data(
        ['4_kib', 4 * KIB, None, 256_000_000 * 4 * KIB],
        ['976_tib_in_4_mib', 4 * MIB, None, 976 * TIB],
        [
            # The rest of a set of 15 occupies as many objects as it has units.
            'units',
            4 * KIB,
            (512, 15),
            (256_000_000 // 15) * 15 * 4 * KIB + (256_000_000 % 15) * 512,
        ],
    )
    def test_largest_size(
        self, object_size: int, striping: tuple[int, int] | None, size: int
    ) -> None:
        image_layout, origin = _layout(object_size, striping), Origin.CLUSTER
        more = size + (1 if object_size == 4 * KIB else TIB)
        operator_limits.check_object_map(image_layout, size, _MAP, origin)
        without = features.with_object_map(_MAP, False)
        operator_limits.check_object_map(image_layout, more, without, origin)
        error = self.assertRaises(
            errors.OptionError,
            operator_limits.check_object_map,
            *(image_layout, more, _MAP, origin),
        )
        self.assertMessageIsWhole(error)
        self.assertEqual('rbd:object_map', error.key)
        self.assertIn('has 256,', error.reason)
        self.assertEqual(
            'up to 256,000,000 objects; use a larger rbd:object_size, '
            'or rbd:object_map = false',
            error.allowed,
        )
