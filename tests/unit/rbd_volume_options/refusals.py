# SPDX-License-Identifier: Apache-2.0

"""Assertions about errors for the tests of this package."""

from collections.abc import Callable
from typing import Any

from rbd_volume_options import errors
from tests.unit import untrusted

#: Strings that resemble numbers, for keys that require a number.
NO_NUMBERS = {
    'empty': '',
    'a_space': ' ',
    'negative': '-1',
    'signed': '+1',
    'exponent': '1e3',
    'fraction': '1.5',
    'fraction_of_zero': '1.0',
    'hexadecimal': '0x40',
    'octal': '0o100',
    'leading_zero': '064',
    'underscore': '1_000',
    'thousands': '65,536',
    'space_before': ' 64',
    'space_after': '64 ',
    'newline_after': '64\n',
    'nul_after': '64\0',
    'two_numbers': '64 64',
    'no_number': 'big',
    'infinity': 'inf',
    'not_a_number': 'nan',
    'arabic_indic_digits': '\u0666\u0664',
    'fullwidth_digits': '\uff16\uff14',
    'devanagari_digits': '\u096c\u096a',
    'mathematical_bold_digits': '\U0001d7d4\U0001d7d2',
    'ascii_and_arabic_indic_digits': '6\u0664',
    'ascii_and_fullwidth_digits': '6\uff14',
    'superscript': '6\u2074',
    'roman_numeral': '\u216b',
    'ideograph': '\u516b',
    'minus_of_typesetters': '\u22121',
    'zero_width_space': '6\u200b4',
    'right_to_left_mark': '\u200f64',
    'three_hundred_digits': '1' * 300,
    'three_hundred_zeros': '1' + '0' * 300,
}


class RefusalTestCase(untrusted.TestCase):
    """Assertions about all parts of an error."""

    def assertRefused(
        self,
        call: Callable[[], Any],
        key: str,
        value: object,
        reason: str,
        allowed: str | None = None,
        origin: errors.Origin | None = None,
    ) -> errors.OptionError:
        """Check that a call is refused for this value and this reason.

        :param allowed: the expected text; None to skip this check
        """
        error: errors.OptionError = self.assertRaises(errors.OptionError, call)
        self.assertEqual(key, error.key)
        self.assertEqual(value, error.value)
        self.assertEqual(reason, error.reason)
        self.assertEqual(origin, error.origin)
        if allowed is not None:
            self.assertEqual(allowed, error.allowed)
        self.assertMessageIsWhole(error)
        return error

    def assertMessageIsWhole(self, error: errors.OptionError) -> None:
        """Check that the message is complete and safe to log."""
        text = str(error)
        where = f' ({error.origin.label})' if error.origin else ''
        self.assertEqual(
            f'{error.key} = {errors.shown(error.value)}{where}: '
            f'{error.reason}; allowed: {error.allowed}',
            text,
        )
        self.assertNotEqual('', error.allowed)
        self.assertTrue(text.isascii() and text.isprintable(), repr(text))
        # Values are truncated, which limits the length of a message.
        self.assertLess(len(text), 1000)
