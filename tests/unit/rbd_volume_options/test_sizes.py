# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import keys
from rbd_volume_options import sizes
from tests.unit.rbd_volume_options import refusals

_KEY = keys.OBJECT_SIZE

# Strings that resemble sizes, without and with units.
_NO_SIZES = {
    **refusals.NO_NUMBERS,
    'unit_alone': 'K',
    'unit_first': 'K64',
    'space_before_unit': '64 K',
    'two_units': '64KM',
    'negative_with_unit': '-64K',
    'exponent_with_unit': '1e3K',
    'fraction_with_unit': '1.5M',
    'ambiguous_kb': '64KB',
    'ambiguous_mb': '4MB',
    'ambiguous_gb': '1gb',
    'bits': '64Kb',
    'unit_in_lower_case_with_ib': '64kib',
    'unit_in_upper_case_with_ib': '64KIB',
    'bytes_spelled_out': '64B',
    'unit_without_b': '64Ki',
    'terabytes': '1T',
    # lower() and upper() map these two onto k and K.
    'kelvin_sign': '64\u212a',
    'long_s': '64\u017f',
    'fullwidth_unit': '64\uff2b',
    'arabic_indic_digits_with_unit': '\u0666\u0664K',
    'fullwidth_digits_with_unit': '\uff16\uff14K',
    'newline_after_unit': '64K\n',
    'twenty_digits': '1' * 20,
    'leading_zero_with_unit': '064K',
    'double_zero': '00',
}


@ddt.ddt
class ParseSizeTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['bytes', '65536', 65536],
        ['a_number', 65536, 65536],
        ['kib_upper', '64K', 65536],
        ['kib_lower', '64k', 65536],
        ['kib_in_full', '64KiB', 65536],
        ['mib_upper', '4M', 4194304],
        ['mib_lower', '4m', 4194304],
        ['mib_in_full', '4MiB', 4194304],
        ['gib_upper', '2G', 2147483648],
        ['gib_lower', '2g', 2147483648],
        ['gib_in_full', '2GiB', 2147483648],
        ['no_power_of_two', '3M', 3145728],
        ['zero', '0', 0],
        ['zero_with_unit', '0K', 0],
        ['nineteen_digits', '9223372036854775808', 2**63],
    )
    def test_is_a_size(self, value: str | int, expected: int) -> None:
        self.assertEqual(expected, sizes.parse_size(_KEY, value))

    @ddt.named_data(*[[name, value] for name, value in _NO_SIZES.items()])
    def test_is_no_size(self, value: str) -> None:
        self.assertRefused(
            lambda: sizes.parse_size(_KEY, value),
            _KEY,
            value,
            'not a size',
            sizes.SIZE_FORMAT,
        )

    @ddt.named_data(
        ['negative', -1],
        ['three_hundred_digits', 10**300],
    )
    def test_number_is_no_size(self, value: int) -> None:
        self.assertRefused(
            lambda: sizes.parse_size(_KEY, value), _KEY, value, 'not a size'
        )

    def test_key_is_named(self) -> None:
        self.assertRefused(
            lambda: sizes.parse_size('rbd_volume_object_size', 'x'),
            'rbd_volume_object_size',
            'x',
            'not a size',
        )

    @hypothesis.given(strategies.integers(0, 2**63))
    def test_all_that_is_written_is_read_again(self, size: int) -> None:
        shown = sizes.format_size(size)
        text = shown.replace(' ', '').removesuffix('B').removesuffix('i')
        self.assertEqual(size, sizes.parse_size(_KEY, text), shown)
        self.assertEqual(size, sizes.parse_size(_KEY, str(size)))


@ddt.ddt
class ParseCountTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['one', '1', 1],
        ['a_number', 16, 16],
        ['large', '100000', 100000],
        ['ten_digits', '9999999999', 9999999999],
    )
    def test_is_a_count(self, value: str | int, expected: int) -> None:
        self.assertEqual(expected, sizes.parse_count(keys.STRIPE_COUNT, value))

    @ddt.named_data(
        *[[name, value] for name, value in refusals.NO_NUMBERS.items()],
        ['zero', '0'],
        ['zero_as_a_number', 0],
        ['negative_number', -1],
        ['unit', '8K'],
        ['eleven_digits', '1' * 11],
        ['number_of_300_digits', 10**300],
    )
    def test_is_no_count(self, value: str | int) -> None:
        self.assertRefused(
            lambda: sizes.parse_count(keys.STRIPE_COUNT, value),
            keys.STRIPE_COUNT,
            value,
            'not a positive whole number',
            'a whole number of at least 1',
        )


@ddt.ddt
class NoTextTestCase(refusals.RefusalTestCase):
    """JSON and option files have more types than text and numbers."""

    @ddt.named_data(
        ['true', True],
        ['false', False],
        ['none', None],
        ['float', 4096.0],
        ['bytes', b'64K'],
        ['list', ['64K']],
    )
    def test_neither_size_nor_count(self, value: object) -> None:
        for parse in (sizes.parse_size, sizes.parse_count):
            self.assertRefused(
                lambda parse=parse: parse(  # type: ignore[misc]
                    _KEY, value
                ),
                _KEY,
                value,
                'not a number',
            )


@ddt.ddt
class FormatSizeTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['zero', 0, '0 B'],
        ['bytes', 512, '512 B'],
        ['not_quite_a_kib', 1023, '1023 B'],
        ['kib', 65536, '64 KiB'],
        ['kib_and_a_byte', 65537, '65537 B'],
        ['mib', 4194304, '4 MiB'],
        ['one_and_a_half_mib', 3 * 2**19, '1536 KiB'],
        ['gib', 2**30, '1 GiB'],
        ['tib', 2 * 2**40, '2048 GiB'],
    )
    def test_size_is_formatted_in_whole_units(
        self, size: int, expected: str
    ) -> None:
        self.assertEqual(expected, sizes.format_size(size))
