# SPDX-License-Identifier: Apache-2.0

from typing import Any
import unicodedata

import ddt
import hypothesis

from rbd_volume_tools.command_line import printable
from tests.unit import untrusted


@ddt.ddt
class PrintableTest(untrusted.TestCase):
    """Escaping of terminal control characters."""

    @ddt.data(
        ('plain, \u00fcml\u00e4ut \u4e2d', 'plain, \u00fcml\u00e4ut \u4e2d'),
        ('\x1b[31mred\x07', r'\x1b[31mred\x07'),
        ('\x9b2J', r'\x9b2J'),
        ('a\nb\r\tc', r'a\nb\r\tc'),
        ('\u202egpj.exe', r'\u202egpj.exe'),
        ('a\u2028b\u200b\ufeff', r'a\u2028b\u200b\ufeff'),
        ('\ud800\x00\x7f', r'\ud800\x00\x7f'),
        ('', ''),
    )
    @ddt.unpack
    def test_control_characters_are_escaped(
        self, text: str, shown: str
    ) -> None:
        self.assertEqual(shown, printable.text(text))

    def test_every_character(self) -> None:
        every = ''.join(map(chr, range(0x3000)))
        shown = printable.text(every)
        self.assertEqual(
            set(), {c for c in shown if unicodedata.category(c)[0] == 'C'}
        )

    @hypothesis.given(untrusted.DATA)
    def test_any_value_is_printable(self, value: Any) -> None:
        shown = printable.value(value)
        self.assertEqual(repr(shown), repr(printable.value(shown)))
        text = printable.text(str(value))
        self.assertTrue(text.replace('\xa0', ' ').isprintable(), text)

    def test_texts_in_collections_are_escaped(self) -> None:
        value = {'a\x1b': ['\x1b', 1, None, {'b': ('\x07',)}], 'c': True}
        wanted = {
            'a\\x1b': ['\\x1b', 1, None, {'b': ('\\x07',)}],
            'c': True,
        }
        self.assertEqual(wanted, printable.value(value))
