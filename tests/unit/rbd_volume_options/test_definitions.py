# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import definitions
from rbd_volume_options.families import cache_modes
from tests.unit import base


@ddt.ddt
class ValueTestCase(base.TestCase):
    @ddt.named_data(
        ['number', 65536, 65536, '65536', 65536],
        ['boolean', True, True, 'true', True],
        ['word', cache_modes.CacheMode.NONE, 'none', 'none', 'none'],
        ['names', frozenset('ba'), ['a', 'b'], 'a,b', 'a,b'],
    )
    def test_value_in_responses_texts_and_reports(
        self, value: Any, json: Any, text: str, capability: Any
    ) -> None:
        self.assertEqual(json, definitions.as_json(value))
        self.assertEqual(text, definitions.as_text(value))
        self.assertEqual(capability, definitions.as_capability(value))

    def test_typical_sizes_are_powers_of_two_with_a_unit(self) -> None:
        self.assertEqual(
            ('512KiB', '1MiB', '2MiB'), definitions.powers(2**19, 2**21)
        )
