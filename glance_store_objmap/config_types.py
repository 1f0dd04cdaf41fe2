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

"""oslo.config types for our options, with the parsers of the neutral package.

An invalid value prevents startup of glance-api with an error that names the
option.
"""

from oslo_config import types

from rbd_volume_options import checked_text
from rbd_volume_options import features
from rbd_volume_options import layout


class Parsed(checked_text.CheckedText, types.ConfigType):
    """An oslo.config type whose values are checked by a parser."""


OBJECT_SIZE = Parsed(layout.parse_object_size, 'size in bytes')
STRIPE_UNIT = Parsed(layout.parse_stripe_unit, 'size in bytes')
STRIPE_COUNT = Parsed(layout.parse_stripe_count, 'count')
OBJECT_MAP = Parsed(features.parse_object_map, 'boolean value')
FEATURES = Parsed(features.parse_features, 'list of image features')
