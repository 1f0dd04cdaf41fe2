# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import ddt

from rbd_bench import plan
from rbd_bench import shipped
from rbd_bench import stored
from tests.unit import base
from tests.unit.rbd_bench import samples


@ddt.ddt
class StoredTest(base.TestCase):
    @ddt.data(*shipped.names())
    def test_stored_plan_is_restored(self, name: str) -> None:
        whole_plan = shipped.load(name)
        text = json.dumps(dataclasses.asdict(whole_plan))
        self.assertEqual(whole_plan, stored.restored(json.loads(text)))

    def test_unknown_field(self) -> None:
        content = dataclasses.asdict(samples.parsed())
        content['magic'] = 1
        self.assertRaises(TypeError, stored.restored, content)

    def test_differences_of_plans_are_listed(self) -> None:
        one = samples.parsed()
        self.assertEqual([], stored.differences(one, samples.parsed()))
        other = plan.parse(
            samples.PLAN.replace("count': 8", "count': 4").replace(
                'title: A', 'title: The'
            )
        )
        self.assertEqual(
            ['runs[disks].layouts.striped.rbd:stripe_count: 8, not 4'],
            stored.differences(one, other),
        )

    def test_order_of_layouts(self) -> None:
        swapped = plan.parse(
            samples.PLAN.replace("without: {'rbd:object_map': 'false'}", 'A')
            .replace("with: {'rbd:object_map': 'true'}", 'B')
            .replace('A\n', "with: {'rbd:object_map': 'true'}\n")
            .replace('B\n', "without: {'rbd:object_map': 'false'}\n")
        )
        self.assertEqual(
            ['runs[deletion].features: without, with, not with, without'],
            stored.differences(samples.parsed(), swapped),
        )

    def test_facts_are_flattened_for_comparison(self) -> None:
        self.assertEqual(
            {'a.b': '1', 'c': 'x, y'},
            stored.flat({'a': {'b': 1}, 'c': ['x', 'y']}),
        )

    def test_long_lists_are_cut(self) -> None:
        self.assertEqual('a; b', stored.joined(['a', 'b']))
        self.assertEqual(
            '0; 1; 2; 3; 4; and 2 more', stored.joined(list('0123456'))
        )
