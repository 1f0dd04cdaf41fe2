#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Test comma-separated lists."""

import ddt
from oslo_config import types

from rbd_volume_options import lists
from tests.unit import base


@ddt.ddt
class SplitTest(base.TestCase):
    @ddt.data('a', 'a,b', 'a, b', ' a ,\tb ', 'a b', '')
    def test_as_oslo_config(self, value: str) -> None:
        self.assertEqual(types.List()(value) or [''], lists.split(value))

    @ddt.data(('a,,b', 1), ('a,', 1), (',', 0), ('a, ', 1))
    @ddt.unpack
    def test_empty_words_stay(self, value: str, index: int) -> None:
        self.assertEqual('', lists.split(value)[index])

    @ddt.data('a\n', '\u00a0a')
    def test_other_white_space_stays(self, value: str) -> None:
        self.assertEqual([value], lists.split(value))
