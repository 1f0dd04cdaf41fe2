# SPDX-License-Identifier: Apache-2.0

import functools

import hypothesis
from hypothesis import strategies

from rbd_volume_options import keys
from rbd_volume_options import sizes
from tests.unit.rbd_volume_options import refusals

_KEY = keys.OBJECT_SIZE

# Strings that resemble sizes with units.
_NO_SIZES = (
    *('K', 'K64', '64 K', '64KM', '-64K', '1e3K', '1.5M', '64Kb', '64kib'),
    *('64KIB', '64B', '64Ki', '1T', '64K\n', '064K', '00', '1' * 20),
    # Ambiguous: 1,000 or 1,024 bytes.
    *('64KB', '4MB', '1gb'),
    # lower() and upper() map the first two onto k and K.
    *('64\u212a', '64\u017f', '64\uff2b', '\u0666\u0664K', '\uff16\uff14K'),
)
# JSON and option files have more types than text and numbers.
_NO_TEXTS = (True, False, None, 4096.0, b'64K', ['64K'])


class SizesTestCase(refusals.RefusalTestCase):
    def test_units_are_binary(self) -> None:
        sizes_of: tuple[tuple[tuple[str | int, ...], int], ...] = (
            (('65536', 65536, '64K', '64k', '64KiB'), 65536),
            (('4M', '4m', '4MiB'), 4194304),
            (('2G', '2g', '2GiB'), 2147483648),
            (('3M',), 3145728),
            (('0', '0K'), 0),
            (('9223372036854775808',), 2**63),
        )
        for values, size in sizes_of:
            for value in values:
                self.assertEqual(size, sizes.parse_size(_KEY, value))

    def test_what_is_no_size_is_refused(self) -> None:
        values = (*refusals.NO_NUMBERS, *_NO_SIZES, -1, 10**300)
        for key in (_KEY, 'rbd_volume_object_size'):
            self.assertAllRefused(
                functools.partial(sizes.parse_size, key),
                key,
                {'not a size': values, 'not a number': _NO_TEXTS},
            )

    @hypothesis.given(strategies.integers(0, 2**63))
    def test_all_that_is_written_is_read_again(self, size: int) -> None:
        shown = sizes.format_size(size)
        text = shown.replace(' ', '').removesuffix('B').removesuffix('i')
        self.assertEqual(size, sizes.parse_size(_KEY, text), shown)
        self.assertEqual(size, sizes.parse_size(_KEY, str(size)))

    def test_size_is_formatted_in_whole_units(self) -> None:
        for size, expected in (
            (0, '0 B'),
            (1023, '1023 B'),
            (65536, '64 KiB'),
            (65537, '65537 B'),
            (4194304, '4 MiB'),
            (3 * 2**19, '1536 KiB'),
            (2**30, '1 GiB'),
            (2 * 2**40, '2048 GiB'),
        ):
            self.assertEqual(expected, sizes.format_size(size))

    def test_count_is_a_positive_whole_number(self) -> None:
        for text in ('1', '16', '100000', '9999999999'):
            count = sizes.parse_count(keys.STRIPE_COUNT, text)
            self.assertEqual(int(text), count)
        no_counts = ('0', 0, -1, '8K', '1' * 11, 10**300)
        self.assertAllRefused(
            lambda value: sizes.parse_count(keys.STRIPE_COUNT, value),
            keys.STRIPE_COUNT,
            {
                'not a positive whole number': (
                    *refusals.NO_NUMBERS,
                    *no_counts,
                ),
                'not a number': _NO_TEXTS,
            },
            'a whole number of at least 1',
        )
