# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

Origin = errors.Origin


class DefaultsTestCase(refusals.RefusalTestCase):
    def test_defaults_restrict_little(self) -> None:
        default = operator_limits.Limits()
        self.assertEqual(64, default.max_stripe_count)
        self.assertIs(True, default.require_whole_stripes)
        self.assertEqual(frozenset(), default.tenant_options)


@ddt.ddt
class StripeCountTestCase(refusals.RefusalTestCase):
    def _check(self, count: int, most: int) -> None:
        operator_limits.check_stripe_count(
            layout.Striping(64 * KIB, count),
            operator_limits.Limits(max_stripe_count=most),
            Origin.VOLUME_TYPE,
        )

    @ddt.data((1, 1), (16, 64), (64, 64))
    @ddt.unpack
    def test_count_up_to_maximum_is_allowed(
        self, count: int, most: int
    ) -> None:
        self._check(count, most)

    @ddt.data((2, 1), (65, 64), (100000, 64))
    @ddt.unpack
    def test_too_many(self, count: int, most: int) -> None:
        self.assertRefused(
            lambda: self._check(count, most),
            'rbd:stripe_count',
            count,
            'more than this back end allows',
            f'1 to {most}',
            Origin.VOLUME_TYPE,
        )


TIB = 1024 * GIB

_MAP = frozenset({'layering', 'exclusive-lock', 'object-map', 'fast-diff'})


@ddt.ddt
class ObjectMapTestCase(refusals.RefusalTestCase):
    """librbd allows at most 256,000,000 objects with an object map."""

    @ddt.named_data(
        ['measured_960_gib_in_4_kib', 4 * KIB, None, 960 * GIB],
        ['exactly_the_limit', 4 * KIB, None, 256_000_000 * 4 * KIB],
        ['976_gib_in_4_kib', 4 * KIB, None, 976 * GIB],
        ['976_tib_in_4_mib', 4 * MIB, None, 976 * TIB],
        ['7_pib_in_32_mib', 32 * MIB, None, 7 * 1024 * TIB],
        [
            # The rest of a set of 8 occupies as many objects as it has units.
            'exactly_the_limit_by_units',
            4 * KIB,
            (512, 15),
            (256_000_000 // 15) * 15 * 4 * KIB + (256_000_000 % 15) * 512,
        ],
    )
    def test_small_enough(
        self, object_size: int, striping: tuple[int, int] | None, size: int
    ) -> None:
        self._check(object_size, striping, size)

    @ddt.named_data(
        [
            '2_tib_in_4_kib',
            4 * KIB,
            None,
            2 * TIB,
            'a volume of 2048 GiB (4 KiB objects) has 536,870,912 objects',
        ],
        [
            'one_byte_too_many',
            4 * KIB,
            None,
            256_000_000 * 4 * KIB + 1,
            'a volume of 1048576000001 B (4 KiB objects) has 256,000,001 '
            'objects',
        ],
        [
            '977_gib_in_4_kib',
            4 * KIB,
            None,
            977 * GIB,
            'a volume of 977 GiB (4 KiB objects) has 256,114,688 objects',
        ],
        [
            '977_tib_in_4_mib',
            4 * MIB,
            None,
            977 * TIB,
            'a volume of 1000448 GiB (4 MiB objects) has 256,114,688 objects',
        ],
        [
            'one_unit_too_many',
            4 * KIB,
            (512, 15),
            (256_000_000 // 15) * 15 * 4 * KIB + (256_000_000 % 15) * 512 + 1,
            'a volume of 1048575964161 B (4 KiB objects, 512 B x 15) has '
            '256,000,001 objects',
        ],
    )
    def test_too_large(
        self,
        object_size: int,
        striping: tuple[int, int] | None,
        size: int,
        reason: str,
    ) -> None:
        self.assertRefused(
            lambda: self._check(object_size, striping, size),
            'rbd:object_map',
            'true',
            reason,
            'up to 256,000,000 objects; use a larger rbd:object_size, '
            'or rbd:object_map = false',
            errors.Origin.VOLUME_METADATA,
        )

    def test_any_size_without_the_map(self) -> None:
        without = features.with_object_map(_MAP, False)
        self._check(4 * KIB, None, 8 * 1024 * TIB, without)

    def _check(
        self,
        object_size: int,
        striping: tuple[int, int] | None,
        size: int,
        image_features: frozenset[str] = _MAP,
    ) -> None:
        operator_limits.check_object_map(
            layout.ImageLayout(
                object_size, layout.Striping(*striping) if striping else None
            ),
            size,
            image_features,
            errors.Origin.VOLUME_METADATA,
        )
