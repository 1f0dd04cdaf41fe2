# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_bench import fields
from rbd_volume_options import errors
from tests.unit import base


@ddt.ddt
class FieldsTest(base.TestCase):
    def test_values_are_parsed_by_their_type(self) -> None:
        top = fields.Fields(
            'top', {'a': 3, 'b': '1T', 'c': True, 'd': ['x']}, 'abcd'
        )
        self.assertEqual(3, top.number('a', 1, 3))
        self.assertEqual(2**40, top.size('b'))
        # YAML parses on as true.
        self.assertEqual('on', top.choice('c', ('on', 'off')))
        self.assertEqual(
            ('top.d[0]=x',), top.each('d', lambda w, v: f'{w}={v}')
        )

    @ddt.data('4K', '4KiB', 4096)
    def test_sizes_have_binary_units(self, size: Any) -> None:
        self.assertEqual(4096, fields.size('x', size))

    @ddt.data(
        (lambda x: x.number('a', 1, 2), "top.a = '3'.*1 to 2"),
        (lambda x: x.number('b', 1, 2), 'not a whole number'),
        (lambda x: x.text('a'), 'not a text'),
        (lambda x: x.name('b'), 'not a name'),
        (lambda x: x.choice('b', ('y', 'n')), 'allowed: y, n'),
        (lambda x: x.each('a', str), 'not a list'),
        (lambda x: x.each('d', lambda w, v: v), 'duplicate value'),
        (lambda x: x.size('c'), 'not a size'),
    )
    @ddt.unpack
    def test_invalid_values_are_named(self, read: Any, text: str) -> None:
        top = fields.Fields(
            'top', {'a': 3, 'b': 'x/y', 'c': '4KB', 'd': [1, 1]}, 'abcd'
        )
        error = self.assertRaises(errors.OptionError, read, top)
        self.assertRegex(str(error), text)

    @ddt.data(3, {'z': 1})
    def test_unknown_fields_are_refused_with_the_allowed_ones(
        self, values: Any
    ) -> None:
        error = self.assertRaises(
            errors.OptionError, fields.Fields, 'top', values, ('a', 'b')
        )
        self.assertIn('allowed: a, b', str(error))
