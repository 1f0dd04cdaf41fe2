# SPDX-License-Identifier: Apache-2.0

from rbd_volume_options import definitions
from rbd_volume_options import errors
from tests.unit import base


def _even(value: str) -> int:
    if int(value) % 2:
        raise errors.OptionError('a key', value, 'odd', 'even numbers')
    return int(value)


class CheckedTextTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.type = definitions.CheckedText(_even, 'even number')

    def test_keeps_what_was_written(self) -> None:
        self.assertEqual('0002', self.type('0002'))
        self.assertEqual('2', self.type(2))
        self.assertEqual('even number', repr(self.type))

    def test_says_why_and_what_is_allowed(self) -> None:
        error = self.assertRaises(ValueError, self.type, '3')
        self.assertEqual('odd; allowed: even numbers', str(error))

    def test_equal_by_parser_and_name(self) -> None:
        same = definitions.CheckedText(_even, 'even number')
        self.assertEqual(self.type, same)
        self.assertEqual(hash(self.type), hash(same))
        for other in (
            definitions.CheckedText(_even, 'another name'),
            definitions.CheckedText(int, 'even number'),
            'even number',
        ):
            self.assertNotEqual(self.type, other)
