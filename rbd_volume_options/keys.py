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

"""The names of the keys.

The properties of each key are in :mod:`rbd_volume_options.definitions`.
"""

import enum

from rbd_volume_options import phrases

#: The prefix of all keys of the suite. Other names are ignored.
PREFIX = 'rbd:'

OBJECT_SIZE = 'rbd:object_size'
STRIPE_UNIT = 'rbd:stripe_unit'
STRIPE_COUNT = 'rbd:stripe_count'
OBJECT_MAP = 'rbd:object_map'
FEATURES = 'rbd:features'
CACHE_MODE = 'rbd:cache_mode'
COMPRESSION_HINT = 'rbd:compression_hint'
DATA_POOL = 'rbd:data_pool'
TENANT_OPTIONS = 'rbd:tenant_options'


class Scope(enum.Enum):
    """A place where a key may be set."""

    VOLUME = 'volume metadata'
    TYPE = 'volume type extra specs'
    #: Options of cinder.conf and reports of back ends, which set each key.
    BACKEND = 'back end'


#: Maximum length of the name of an item, which Cinder's schemas check.
MAX_NAME = 255

#: The allowed keys in messages if no key is allowed.
NO_KEY = phrases.Phrase('none of the rbd: keys')
