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

"""Option types: an error has the option's name and the parser's message."""

import ddt
from oslo_config import cfg

from glance_store_objmap import config_types
from rbd_volume_options import layout
from tests.unit import base


@ddt.ddt
class ParsedTest(base.TestCase):
    @ddt.data('64K', '65536', '4MiB')
    def test_kept_as_written(self, value: str) -> None:
        self.assertEqual(value, config_types.OBJECT_SIZE(value))

    @ddt.data('3M', '0', '-1', '1e3', 'x', '', '9' * 300, '٤M')
    def test_invalid_sizes_are_refused_without_the_key(
        self, value: str
    ) -> None:
        error = self.assertRaises(ValueError, config_types.OBJECT_SIZE, value)
        self.assertIn('; allowed: ', str(error))
        # oslo.config adds the name of the option; the key is left out.
        self.assertNotIn('rbd:object_size =', str(error))

    def test_equal_when_made_of_the_same(self) -> None:
        same = config_types.Parsed(layout.parse_object_size, 'size in bytes')
        self.assertEqual(same, config_types.OBJECT_SIZE)
        self.assertEqual(hash(same), hash(config_types.OBJECT_SIZE))
        self.assertNotEqual(same, config_types.STRIPE_UNIT)
        self.assertEqual('size in bytes', repr(same))

    def test_formatted_for_the_sample(self) -> None:
        option = cfg.Opt('o', type=config_types.FEATURES, default='layering')
        self.assertEqual(
            'layering', option.type.format_defaults('layering')[0]
        )
