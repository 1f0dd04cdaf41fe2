# SPDX-License-Identifier: Apache-2.0

"""The names of the keys.

The properties of each key are in :mod:`rbd_volume_options.definitions`.
"""

import dataclasses
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
DISCARD = 'rbd:discard'
DISCARD_GRANULARITY = 'rbd:discard_granularity'
DETECT_ZEROES = 'rbd:detect_zeroes'
SECTOR_SIZE = 'rbd:sector_size'
BOOT_FROM_4096 = 'rbd:boot_from_4096'
DATA_POOL = 'rbd:data_pool'
KEEP_DELETED = 'rbd:keep_deleted'
TENANT_OPTIONS = 'rbd:tenant_options'

#: Not a key that can be set: the stripe unit and the stripe count, as one
#: value.
STRIPING = 'striping'


@dataclasses.dataclass(frozen=True)
class LimitKeys:
    """The keys about one limit of reads and writes.

    :ivar name: what is limited, as in librbd's ``rbd_qos_<name>_limit``
    """

    name: str

    @property
    def largest(self) -> int:
        """The largest value: bytes or requests per second."""
        return 1 << 40 if self.name.endswith('bps') else 10**9

    @property
    def smallest(self) -> int:
        """The smallest limit that the owner of a volume can choose.

        Services of Cinder that copy a volume are limited too, and would work
        on it for days.
        """
        return 1 << 20 if self.name.endswith('bps') else 10

    @property
    def limit(self) -> str:
        """The maximum per second."""
        return f'{PREFIX}{self.name}_limit'

    @property
    def burst(self) -> str:
        """The maximum per second in a burst."""
        return f'{PREFIX}{self.name}_burst'

    @property
    def burst_seconds(self) -> str:
        """The length of a burst."""
        return f'{PREFIX}{self.name}_burst_seconds'

    @property
    def per_gib(self) -> str:
        """The limit for each GiB of a volume, in volume types."""
        return f'{self.limit}_per_gib'

    @property
    def minimum(self) -> str:
        """The smallest limit that follows from the size of a volume."""
        return f'{self.limit}_minimum'

    @property
    def maximum(self) -> str:
        """The largest limit and burst that a volume can have."""
        return f'{self.limit}_maximum'


LIMITS = tuple(
    LimitKeys(f'{direction}{what}')
    for what in ('iops', 'bps')
    for direction in ('', 'read_', 'write_')
)


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
