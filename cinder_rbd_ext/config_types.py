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

"""oslo.config types for our options, based on the neutral package's parsers.

An invalid value prevents the start of the back end with a message that names
the option. Each rule is written once.
"""

from oslo_config import types

from rbd_volume_options import cache_modes
from rbd_volume_options import checked_text
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import tenant_options


class Parsed(checked_text.CheckedText, types.ConfigType):
    """An oslo.config type whose values are checked by a parser."""


OBJECT_SIZE = Parsed(layout.parse_object_size, 'size in bytes')
STRIPE_UNIT = Parsed(layout.parse_stripe_unit, 'size in bytes')
STRIPE_COUNT = Parsed(layout.parse_stripe_count, 'count')
OBJECT_MAP = Parsed(features.parse_object_map, 'boolean value')
FEATURES = Parsed(features.parse_features, 'list of image features')
CACHE_MODE = Parsed(cache_modes.parse_cache_mode, 'cache mode')
CACHE_MODES = Parsed(cache_modes.parse_cache_modes, 'list of cache modes')
KEYS = Parsed(tenant_options.parse, 'list of keys')
POOL = Parsed(options.parse_pool, 'name of a pool')
