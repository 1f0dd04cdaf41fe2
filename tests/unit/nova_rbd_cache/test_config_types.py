# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Types of options: errors name the option and give the reason."""

import ddt
from oslo_config import cfg

from nova_rbd_cache import config_types
from rbd_volume_options import cache_modes
from tests.unit import base


@ddt.ddt
class ParsedTest(base.TestCase):
    @ddt.data('none', 'none,writeback', 'unsafe')
    def test_kept_as_written(self, value: str) -> None:
        self.assertEqual(value, config_types.CACHE_MODES(value))

    @ddt.data('', 'none,,writeback', 'writeback,', 'WRITEBACK', 'default')
    def test_invalid_modes_are_refused_without_the_key(
        self, value: str
    ) -> None:
        error = self.assertRaises(ValueError, config_types.CACHE_MODES, value)
        self.assertIn('; allowed: ', str(error))
        # oslo.config names the option; the key must not be named.
        self.assertNotIn('rbd:cache_mode', str(error))

    def test_equal_when_made_of_the_same(self) -> None:
        same = config_types.Parsed(
            cache_modes.parse_cache_modes, 'list of cache modes'
        )
        self.assertEqual(same, config_types.CACHE_MODES)
        self.assertEqual(hash(same), hash(config_types.CACHE_MODES))
        self.assertNotEqual(same, config_types.FEATURES)
        self.assertEqual('list of cache modes', repr(same))

    def test_formatted_for_the_sample(self) -> None:
        option = cfg.Opt('o', type=config_types.CACHE_MODES, default='none')
        self.assertEqual(['none'], option.type.format_defaults('none'))
