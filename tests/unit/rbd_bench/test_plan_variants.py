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

"""Unit tests of rbd_bench.plan."""

from typing import Any

import ddt

from rbd_bench import fields
from rbd_bench import plan
from rbd_volume_options import errors
from tests.unit import base


@ddt.ddt
class VariantsTest(base.TestCase):
    def read(self, given: Any) -> dict[str, plan.Keys]:
        found = fields.Fields('runs[0]', {'layouts': given}, ('layouts',))
        return plan.read_variants(found, 'layouts')

    def test_variants_have_keys_of_volumes(self) -> None:
        self.assertEqual(
            {'stock': {}, 'small': {'rbd:object_size': '1M'}},
            self.read({'stock': None, 'small': {'rbd:object_size': '1M'}}),
        )

    def test_default_variant_has_no_keys(self) -> None:
        found = fields.Fields('runs[0]', {}, ())
        self.assertEqual({'default': {}}, plan.read_variants(found, 'layouts'))

    @ddt.data(
        (
            {'x': {'rbd:stripe_unit': '8M', 'rbd:stripe_count': 2}},
            r'runs\[0\].layouts.x.rbd:stripe_unit = .*factor.*to 4 MiB',
        ),
        ({'x': {'rbd:stripe_unit': '64K'}}, r'layouts\.x.*stripe_count'),
        ({'x': {'rbd:object_size': '3M'}}, "layouts.x.*'3M'.*power of two"),
        ({'x': 5}, 'layouts.x = .*not a mapping'),
        ({}, 'not a mapping'),
        ({5: {}}, 'not a name'),
    )
    @ddt.unpack
    def test_invalid_variants_are_refused(self, given: Any, text: str) -> None:
        error = self.assertRaises(errors.OptionError, self.read, given)
        self.assertRegex(str(error), text)

    def test_keys_of_layout_and_features_do_not_contradict(self) -> None:
        found = fields.Fields('runs[0]', {}, ())
        layouts = {'a': {'rbd:features': 'layering'}}
        for keys, text in (
            ({'rbd:features': 'layering'}, 'set in layouts too'),
            ({'rbd:object_map': 'true'}, r'features\.b.*contradicts'),
        ):
            error = self.assertRaises(
                errors.OptionError,
                *(plan.check_together, found, layouts, {'b': keys}),
            )
            self.assertRegex(str(error), text)
