# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cliff import columns as cliff_columns
import ddt

from rbd_volume_tools.command_line import columns
from tests.unit import base


@ddt.ddt
class ColumnsTest(base.TestCase):
    def _shown(self, column: Any) -> tuple[Any, Any]:
        if isinstance(column, cliff_columns.FormattableColumn):
            return column.human_readable(), column.machine_readable()
        return column, column

    @ddt.data(
        ('rbd:object_size', 4 << 20, '4 MiB'),
        ('rbd:stripe_unit', 65536, '64 KiB'),
        ('rbd:stripe_count', 65536, 65536),
        ('rbd:features', ['layering', 'object-map'], 'layering, object-map'),
        ('', {'a': 'b'}, "a='b'"),
        ('rbd:cache_mode', None, ''),
        ('rbd:cache_mode', 'none', 'none'),
        ('rbd:object_map', False, False),
    )
    @ddt.unpack
    def test_value_has_a_text_for_people(
        self, key: str, value: Any, text: Any
    ) -> None:
        self.assertEqual((text, value), self._shown(columns.value(value, key)))

    @ddt.data(['\x1b'], {'\x1b': '\x1b'}, '\x1b')
    def test_control_characters_are_escaped_for_programs_too(
        self, value: Any
    ) -> None:
        """Formats for programs, such as csv, do not escape by themselves."""
        for shown in self._shown(columns.value(value)):
            self.assertIn('x1b', str(shown))
            self.assertNotIn('\x1b', str(shown))
            self.assertNotIn("'\\x1b'", repr(shown))

    @ddt.data(
        (
            {'type': 'size', 'minimum': 4096, 'maximum': 1 << 25},
            'power of two, 4 KiB to 32 MiB',
        ),
        ({'type': 'count', 'minimum': 1, 'maximum': 64}, '1 to 64'),
        ({'type': 'boolean', 'allowed': [False, True]}, 'false, true'),
        ({'type': 'word', 'allowed': []}, 'nothing'),
    )
    @ddt.unpack
    def test_allowed_values_are_a_list_or_a_range(
        self, option: dict[str, Any], text: str
    ) -> None:
        column = columns.allowed({**option, 'summary': 's', 'default': 1})
        self.assertEqual((text, option), self._shown(column))

    def test_allowed_by_no_rule(self) -> None:
        self.assertEqual(
            ('', None), self._shown(columns.allowed({'type': 'pool'}))
        )
