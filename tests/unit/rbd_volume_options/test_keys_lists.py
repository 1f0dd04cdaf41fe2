# SPDX-License-Identifier: Apache-2.0

"""Test comma-separated lists."""

import ddt
from oslo_config import types

from rbd_volume_options import keys
from tests.unit import base


@ddt.ddt
class SplitTest(base.TestCase):
    @ddt.data('a', 'a,b', 'a, b', ' a ,\tb ', 'a b', '')
    def test_as_oslo_config(self, value: str) -> None:
        self.assertEqual(types.List()(value) or [''], keys.split_list(value))

    @ddt.data(('a,,b', 1), ('a,', 1), (',', 0), ('a, ', 1))
    @ddt.unpack
    def test_empty_words_stay(self, value: str, index: int) -> None:
        self.assertEqual('', keys.split_list(value)[index])

    @ddt.data('a\n', '\u00a0a')
    def test_other_white_space_stays(self, value: str) -> None:
        self.assertEqual([value], keys.split_list(value))
