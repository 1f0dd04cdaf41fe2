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

"""oslo.config types for our options, on the parsers of the neutral package.

A wrong value then stops the backend when it starts, with the option's name,
and is written in one place in the code.
"""

from collections.abc import Callable
from typing import Any

from oslo_config import types

from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import options


class Parsed(types.ConfigType):
    """A type whose values are checked by a parser, and kept as text.

    oslo.config shows an option's value in the log when a service starts with
    debug on, and samples its default: both are best as people wrote them.
    """

    def __init__(self, parser: Callable[[str], Any], type_name: str) -> None:
        super().__init__(type_name=type_name)
        self._parser = parser

    def __call__(self, value: Any) -> str:
        try:
            self._parser(str(value))
        except errors.OptionError as error:
            # Without the key: oslo.config names the option itself.
            raise ValueError(
                f'{error.reason}; allowed: {error.allowed}'
            ) from error
        return str(value)

    def __repr__(self) -> str:
        return self.type_name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Parsed)
            and self._parser == other._parser
            and self.type_name == other.type_name
        )

    def __hash__(self) -> int:
        return hash(self.type_name)

    def _formatter(self, value: Any) -> str:
        return str(value)


OBJECT_SIZE = Parsed(layout.parse_object_size, 'size in bytes')
STRIPE_UNIT = Parsed(layout.parse_stripe_unit, 'size in bytes')
STRIPE_COUNT = Parsed(layout.parse_stripe_count, 'count')
OBJECT_MAP = Parsed(features.parse_object_map, 'boolean value')
FEATURES = Parsed(features.parse_features, 'list of image features')
CACHE_MODE = Parsed(cache_modes.parse_cache_mode, 'cache mode')
CACHE_MODES = Parsed(cache_modes.parse_cache_modes, 'list of cache modes')
KEYS = Parsed(options.parse_tenant_options, 'list of keys')
POOL = Parsed(options.parse_pool, 'name of a pool')
