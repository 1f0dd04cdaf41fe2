# SPDX-License-Identifier: Apache-2.0

import functools

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import errors
from rbd_volume_options import layout
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class ParseTestCase(refusals.RefusalTestCase):
    def test_sizes_are_the_powers_of_two_of_librbd(self) -> None:
        for order in range(9, 26):
            text = str(1 << order)
            self.assertEqual(1 << order, layout.parse_stripe_unit(text))
            if order >= 12:
                size = layout.parse_object_size(text)
                self.assertEqual(order, layout.ImageLayout(size).order)
        self.assertEqual(64 * KIB, layout.parse_object_size('64K'))

    def test_other_object_sizes_are_refused(self) -> None:
        self.assertAllRefused(
            layout.parse_object_size,
            'rbd:object_size',
            {
                # Order 26 is the limit of journal objects.
                'out of range': ('2K', '64M', '1', '1G', str(2**63)),
                'not a power of two': ('3M', '4194303', '4194305', '0'),
            },
            'a power of two from 4 KiB to 32 MiB',
        )

    def test_other_stripe_units_are_refused(self) -> None:
        self.assertAllRefused(
            layout.parse_stripe_unit,
            'rbd:stripe_unit',
            {
                'out of range': ('256', '64M'),
                'not a power of two': ('0', '3M', '65535', '513'),
            },
            'a power of two from 512 bytes to the object size, '
            'together with rbd:stripe_count',
        )

    def test_stripe_count_has_31_bits(self) -> None:
        for count in (1, 3, 100000, 2**31 - 1):
            self.assertEqual(count, layout.parse_stripe_count(str(count)))
        # librbd truncates to 32 bits in places: with 2^32 + 1 it creates an
        # image and counts that image's objects as if it were 1.
        self.assertRefused(
            lambda: layout.parse_stripe_count('2147483648'),
            'rbd:stripe_count',
            '2147483648',
            'out of range',
            'a whole number from 1 to 2147483647',
        )

    def test_chunk_size_is_in_mebibytes(self) -> None:
        for mebibytes in (1, 2, 4, 8, 16, 32):
            self.assertEqual(
                mebibytes << 20, layout.parse_chunk_size(mebibytes)
            )
        self.assertAllRefused(
            layout.parse_chunk_size,
            'rbd_store_chunk_size',
            {'not an object size that librbd supports': (0, -4, 3, 6, 64)},
            '1, 2, 4, 8, 16 or 32 (MiB)',
        )


class ImageLayoutTestCase(refusals.RefusalTestCase):
    def test_layout_has_the_numbers_of_librbd(self) -> None:
        for numbers, order, text in (
            ((4 * MIB, 4 * MIB, 1), 22, '4 MiB objects'),
            ((4 * MIB, 4 * MIB, 4), 22, '4 MiB objects, 4 MiB x 4'),
            ((4 * MIB, 64 * KIB, 1), 22, '4 MiB objects, 64 KiB x 1'),
            ((8 * MIB, 64 * KIB, 16), 23, '8 MiB objects, 64 KiB x 16'),
        ):
            made = layout.ImageLayout.from_numbers(*numbers)
            self.assertEqual(
                numbers,
                (made.object_size, made.stripe_unit, made.stripe_count),
            )
            self.assertEqual((order, text), (made.order, str(made)))
            # librbd sets the STRIPINGV2 bit for these.
            self.assertEqual(' x ' in text, made.striping is not None)
        self.assertEqual(MIB, layout.Striping(64 * KIB, 16).width)


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


class UnitTestCase(refusals.RefusalTestCase):
    def test_stripe_unit_is_a_factor_of_the_object_size(self) -> None:
        layout.check_unit(layout.ImageLayout(4 * MIB))
        for object_size, unit, text in (
            (4 * MIB, 512, None),
            (4 * MIB, 4 * MIB, None),
            (4 * KIB, 4 * KIB, None),
            (32 * MIB, 32 * MIB, None),
            (4 * MIB, 8 * MIB, '4 MiB'),
            (4 * KIB, 32 * MIB, '4 KiB'),
            (4 * MIB, 3 * MIB, '4 MiB'),
            (64 * KIB, 64 * KIB - 1, '64 KiB'),
        ):
            check = functools.partial(
                layout.check_unit,
                layout.ImageLayout(object_size, layout.Striping(unit, 8)),
                errors.Origin.VOLUME_TYPE,
            )
            if text is None:
                check()
                continue
            self.assertRefused(
                check,
                'rbd:stripe_unit',
                unit,
                f'not a factor of the object size, {text}',
                f'a power of two from 512 bytes to {text}',
                errors.Origin.VOLUME_TYPE,
            )
