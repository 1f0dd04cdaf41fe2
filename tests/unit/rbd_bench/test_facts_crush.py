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

"""Unit tests of rbd_bench.facts."""

from typing import Any

import ddt

from rbd_bench import facts
from tests.unit import base

_EMIT = {'op': 'emit'}
_TREE: dict[str, Any] = {
    'buckets': [
        {'id': -1, 'name': 'default', 'items': [{'id': -2}, {'id': -3}]},
        {'id': -2, 'name': 'host-a', 'items': [{'id': 0}, {'id': 1}]},
        {'id': -3, 'name': 'host-b', 'items': [{'id': 2}]},
        {'id': -4, 'name': 'default~ssd', 'items': [{'id': -5}]},
        {'id': -5, 'name': 'host-a~ssd', 'items': [{'id': 1}]},
    ],
    'rules': [
        {'rule_id': 0, 'steps': [{'op': 'take', 'item': -1}, _EMIT]},
        {'rule_id': 1, 'steps': [{'op': 'take', 'item': -4}, _EMIT]},
        {
            'rule_id': 2,
            'steps': [
                *({'op': 'take', 'item': -5}, _EMIT),
                *({'op': 'take', 'item': -3}, _EMIT),
            ],
        },
    ],
}


@ddt.ddt
class CrushTest(base.TestCase):
    @ddt.data((0, {0, 1, 2}), (1, {1}), (2, {1, 2}), (3, set()))
    @ddt.unpack
    def test_rule_selects_osds_of_its_root_and_class(
        self, rule: int, expected: set[int]
    ) -> None:
        self.assertEqual(expected, facts.osds(_TREE, rule))
