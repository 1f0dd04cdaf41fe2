# SPDX-License-Identifier: Apache-2.0

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
