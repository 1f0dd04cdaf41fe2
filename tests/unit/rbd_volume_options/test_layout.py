# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from tests.unit import base
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_OBJECT_SIZE_ALLOWED = 'a power of two from 4 KiB to 32 MiB'
_STRIPE_UNIT_ALLOWED = (
    'a power of two from 512 bytes to the object size, '
    'together with rbd:stripe_count'
)


@ddt.ddt
class ParseObjectSizeTestCase(refusals.RefusalTestCase):
    @ddt.data(*range(12, 26))
    def test_every_order_of_librbd(self, order: int) -> None:
        size = layout.parse_object_size(str(1 << order))
        self.assertEqual(1 << order, size)
        self.assertEqual(order, layout.ImageLayout(size).order)

    @ddt.named_data(
        ['kib', '64K', 64 * KIB],
        ['mib_in_full', '4MiB', 4 * MIB],
        ['smallest', '4K', 4096],
        ['largest', '32M', 33554432],
    )
    def test_with_units(self, value: str, expected: int) -> None:
        self.assertEqual(expected, layout.parse_object_size(value))

    @ddt.named_data(
        ['order_11', '2K', 'out of range'],
        ['order_26_the_journal_limit', '64M', 'out of range'],
        ['one_byte', '1', 'out of range'],
        ['huge', '1G', 'out of range'],
        ['largest_that_parses', str(2**63), 'out of range'],
        ['three_mib', '3M', 'not a power of two'],
        ['five_mib', '5M', 'not a power of two'],
        ['one_less', '4194303', 'not a power of two'],
        ['one_more', '4194305', 'not a power of two'],
        ['zero', '0', 'not a power of two'],
    )
    def test_invalid_object_size_is_refused(
        self, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: layout.parse_object_size(value),
            'rbd:object_size',
            value,
            reason,
            _OBJECT_SIZE_ALLOWED,
        )

    @ddt.named_data(*refusals.NO_NUMBERS.items())
    def test_no_number(self, value: str) -> None:
        self.assertRefused(
            lambda: layout.parse_object_size(value),
            'rbd:object_size',
            value,
            'not a size',
        )


@ddt.ddt
class ParseStripeUnitTestCase(refusals.RefusalTestCase):
    @ddt.data(*range(9, 26))
    def test_every_power_of_two_from_512(self, order: int) -> None:
        self.assertEqual(1 << order, layout.parse_stripe_unit(str(1 << order)))

    @ddt.named_data(
        ['below_512', '256', 'out of range'],
        ['above_every_object_size', '64M', 'out of range'],
        ['zero', '0', 'not a power of two'],
        ['three_mib', '3M', 'not a power of two'],
        ['one_less', '65535', 'not a power of two'],
        ['one_more', '513', 'not a power of two'],
    )
    def test_invalid_stripe_unit_is_refused(
        self, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: layout.parse_stripe_unit(value),
            'rbd:stripe_unit',
            value,
            reason,
            _STRIPE_UNIT_ALLOWED,
        )

    @ddt.named_data(*refusals.NO_NUMBERS.items())
    def test_no_number(self, value: str) -> None:
        self.assertRefused(
            lambda: layout.parse_stripe_unit(value),
            'rbd:stripe_unit',
            value,
            'not a size',
        )


@ddt.ddt
class ParseStripeCountTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['one', '1', 1],
        ['no_power_of_two', '3', 3],
        ['librbd_has_no_upper_bound', '100000', 100000],
        ['largest', '2147483647', 2**31 - 1],
    )
    def test_stripe_count_is_parsed(self, value: str, expected: int) -> None:
        self.assertEqual(expected, layout.parse_stripe_count(value))

    def test_beyond_31_bits(self) -> None:
        # librbd truncates to 32 bits in places: with 2^32 + 1 it creates an
        # image and counts that image's objects as if it were 1.
        self.assertRefused(
            lambda: layout.parse_stripe_count('2147483648'),
            'rbd:stripe_count',
            '2147483648',
            'out of range',
            'a whole number from 1 to 2147483647',
        )

    @ddt.named_data(
        *refusals.NO_NUMBERS.items(), ['zero', '0'], ['unit', '8K']
    )
    def test_no_count(self, value: str) -> None:
        self.assertRefused(
            lambda: layout.parse_stripe_count(value),
            'rbd:stripe_count',
            value,
            'not a positive whole number',
        )


@ddt.ddt
class ImageLayoutTestCase(refusals.RefusalTestCase):
    def test_without_striping(self) -> None:
        plain = layout.ImageLayout(4 * MIB)
        self.assertIsNone(plain.striping)
        self.assertEqual(
            (22, 4 * MIB, 1),
            (plain.order, plain.stripe_unit, plain.stripe_count),
        )
        self.assertEqual('4 MiB objects', str(plain))

    def test_with_striping(self) -> None:
        striped = layout.ImageLayout(8 * MIB, layout.Striping(64 * KIB, 16))
        self.assertEqual(
            (23, 64 * KIB, 16),
            (striped.order, striped.stripe_unit, striped.stripe_count),
        )
        self.assertEqual('8 MiB objects, 64 KiB x 16', str(striped))

    def test_width_is_unit_times_count(self) -> None:
        self.assertEqual(MIB, layout.Striping(64 * KIB, 16).width)

    @ddt.named_data(
        # librbd sets the STRIPINGV2 bit for all but the first.
        ['whole_objects_one_by_one', 4 * MIB, 1, False],
        ['whole_objects_in_turn', 4 * MIB, 4, True],
        ['small_units_in_one_object', 64 * KIB, 1, True],
        ['small_units_in_turn', 64 * KIB, 8, True],
    )
    def test_of_librbd_numbers(
        self, unit: int, count: int, striped: bool
    ) -> None:
        made = layout.ImageLayout.from_numbers(4 * MIB, unit, count)
        self.assertEqual(striped, made.striping is not None)
        self.assertEqual(
            (4 * MIB, unit, count),
            (made.object_size, made.stripe_unit, made.stripe_count),
        )

    def test_equal_by_value(self) -> None:
        self.assertEqual(
            {layout.ImageLayout(4 * MIB)},
            {
                layout.ImageLayout.from_numbers(4 * MIB, 4 * MIB, 1),
                layout.ImageLayout(4 * MIB),
            },
        )

    @ddt.named_data(
        ['zero', 0, False],
        ['negative', -4, False],
        ['one', 1, True],
        ['three', 3, False],
        ['four', 4, True],
        ['large', 2**62, True],
        ['large_and_one', 2**62 + 1, False],
    )
    def test_power_of_two(self, number: int, expected: bool) -> None:
        self.assertIs(expected, layout.is_power_of_two(number))


@ddt.ddt
class ObjectCountTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['nothing', None, 0, 0],
        ['one_byte', None, 1, 1],
        ['a_whole_object', None, 4 * MIB, 1],
        ['a_byte_more', None, 4 * MIB + 1, 2],
        ['one_gib', None, GIB, 256],
        ['one_unit_reaches_one_object', (64 * KIB, 8), 64 * KIB, 1],
        ['a_byte_more_reaches_two', (64 * KIB, 8), 64 * KIB + 1, 2],
        ['one_stripe_reaches_all', (64 * KIB, 8), 512 * KIB, 8],
        ['second_stripe_stays_in_them', (64 * KIB, 8), 512 * KIB + 1, 8],
        ['a_full_period', (64 * KIB, 8), 32 * MIB, 8],
        ['next_period', (64 * KIB, 8), 32 * MIB + 1, 9],
        ['more_objects_than_units', (4 * MIB, 100000), GIB, 256],
        ['small_unit_many_objects', (512, 100000), GIB, 100000],
    )
    def test_of_4_mib_objects(
        self, striping: tuple[int, int] | None, size: int, expected: int
    ) -> None:
        image = layout.ImageLayout(
            4 * MIB, layout.Striping(*striping) if striping else None
        )
        self.assertEqual(expected, image.object_count(size))

    def test_at_the_limit_of_the_object_map(self) -> None:
        image = layout.ImageLayout(4 * KIB)
        self.assertEqual(256_000_000, image.object_count(256_000_000 * 4096))
        self.assertEqual(
            256_000_001, image.object_count(256_000_000 * 4096 + 1)
        )
        self.assertEqual(2**29, image.object_count(2048 * GIB))
        # 8 EiB minus one byte, which floats would round.
        self.assertEqual(2**51, image.object_count(2**63 - 1))

    @hypothesis.given(
        strategies.sampled_from((1, 2, 4, 8, 16)),
        strategies.integers(1, 8),
        strategies.integers(0, 300 * 512),
    )
    def test_as_many_objects_as_the_units_fall_into(
        self, per_object: int, count: int, size: int
    ) -> None:
        # As the Ceph documentation describes striping: unit by unit
        # over the objects of a set, stripe by stripe, set by set.
        objects = set()
        for number in range(-(-size // 512)):
            stripe, position = divmod(number, count)
            objects.add((stripe // per_object, position))
        image = layout.ImageLayout.from_numbers(512 * per_object, 512, count)
        self.assertEqual(len(objects), image.object_count(size))


class RuleTextTestCase(refusals.RefusalTestCase):
    def test_texts_say_what_the_numbers_are(self) -> None:
        self.assertEqual(
            (12, 25),
            (
                layout.ImageLayout(layout.MIN_OBJECT_SIZE).order,
                layout.ImageLayout(layout.MAX_OBJECT_SIZE).order,
            ),
        )
        self.assertEqual(512, layout.MIN_STRIPE_UNIT)
        self.assertIn(keys.STRIPE_COUNT, layout.STRIPE_UNIT_ALLOWED)


class ChunkSizeTestCase(base.TestCase):
    """``rbd_store_chunk_size`` of Cinder and Glance, in mebibytes."""

    def test_sizes_that_librbd_knows(self) -> None:
        for mebibytes in (1, 2, 4, 8, 16, 32):
            self.assertEqual(
                mebibytes << 20, layout.parse_chunk_size(mebibytes)
            )

    def test_invalid_chunk_size_is_refused(self) -> None:
        for mebibytes in (0, -4, 3, 6, 64):
            error = self.assertRaises(
                errors.OptionError, layout.parse_chunk_size, mebibytes
            )
            self.assertIn('rbd_store_chunk_size', str(error))
            self.assertIn('1, 2, 4, 8, 16 or 32', str(error))


@ddt.ddt
class UnitTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['smallest', 4 * MIB, 512],
        ['ordinary', 4 * MIB, 64 * KIB],
        ['the_whole_object', 4 * MIB, 4 * MIB],
        ['smallest_object', 4 * KIB, 4 * KIB],
        ['largest_object', 32 * MIB, 32 * MIB],
    )
    def test_factor_of_object_size_is_accepted(
        self, object_size: int, unit: int
    ) -> None:
        layout.check_unit(
            layout.ImageLayout(object_size, layout.Striping(unit, 8))
        )

    def test_no_striping(self) -> None:
        layout.check_unit(layout.ImageLayout(4 * MIB))

    @ddt.named_data(
        ['twice_the_object', 4 * MIB, 8 * MIB, '4 MiB'],
        ['much_larger', 4 * KIB, 32 * MIB, '4 KiB'],
        ['no_divisor', 4 * MIB, 3 * MIB, '4 MiB'],
        ['one_less', 64 * KIB, 64 * KIB - 1, '64 KiB'],
    )
    def test_no_factor(self, object_size: int, unit: int, text: str) -> None:
        self.assertRefused(
            lambda: layout.check_unit(
                layout.ImageLayout(object_size, layout.Striping(unit, 8)),
                errors.Origin.VOLUME_TYPE,
            ),
            'rbd:stripe_unit',
            unit,
            f'not a factor of the object size, {text}',
            f'a power of two from 512 bytes to {text}',
            errors.Origin.VOLUME_TYPE,
        )
