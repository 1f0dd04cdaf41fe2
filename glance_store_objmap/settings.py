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

"""A store's section of glance-api.conf, parsed once."""

import dataclasses
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import sizes

#: Option of glance-api.conf for a key.
OPTION_OF_KEY = {
    keys.OBJECT_SIZE: 'rbd_store_object_size',
    keys.STRIPE_UNIT: 'rbd_store_stripe_unit',
    keys.STRIPE_COUNT: 'rbd_store_stripe_count',
    keys.OBJECT_MAP: 'rbd_store_object_map',
    keys.FEATURES: 'rbd_store_features',
}

#: The operator is the only one who asks, and a Glance image is as long as
#: what was uploaded, so that neither rule for tenants' volumes holds here.
_LIMITS = limits.Limits(
    max_stripe_count=layout.MAX_STRIPE_COUNT,
    require_whole_stripes=False,
    min_object_size=layout.MIN_OBJECT_SIZE,
    max_objects=1 << 63,
)

#: Larger pieces don't make an upload faster, and it holds up to five of them
#: besides those in flight.
MAX_PIECE = 8 * sizes.MIB

#: librbd holds what it reads twice more, in messages and in its own buffers.
MAX_READ = 4 * sizes.MIB


@dataclasses.dataclass(frozen=True)
class StoreSettings:
    """What an operator set for a store.

    :ivar options: layout and features of images
    :ivar chunk_size: object size in bytes of what the stock store makes
    :ivar write_depth: how many writes are in flight at a time
    :ivar read_depth: how many reads are in flight at a time
    :ivar thin: whether pieces of zeros are left out
    """

    options: options.VolumeOptions
    chunk_size: int
    write_depth: int
    read_depth: int
    thin: bool

    @classmethod
    def read(cls, configuration: Any) -> 'StoreSettings':
        """Read the settings from glance_store's configuration of a store.

        :raises OptionError: for values that contradict each other, or a
            ``rbd_store_chunk_size`` that librbd can't have as an object size;
            its key is the option's name
        """
        given = {
            key: str(value)
            for key, option in OPTION_OF_KEY.items()
            if (value := getattr(configuration, option)) is not None
        }
        chunk_size = layout.parse_chunk_size(
            _power_of_two(configuration.rbd_store_chunk_size),
            errors.Origin.BACKEND,
        )
        origin = errors.Origin.BACKEND
        try:
            parsed = options.parse(given, keys.Scope.VOLUME, origin)
            if parsed.striping:
                layout.check_unit(
                    layout.ImageLayout(
                        parsed.object_size or chunk_size, parsed.striping
                    ),
                    origin,
                )
        except errors.OptionError as error:
            raise error.renamed(OPTION_OF_KEY) from None
        return cls(
            options=parsed,
            chunk_size=chunk_size,
            write_depth=configuration.rbd_store_write_depth,
            read_depth=configuration.rbd_store_read_depth,
            thin=configuration.rbd_thin_provisioning,
        )

    @property
    def piece(self) -> int:
        """Bytes that are written at a time."""
        return min(self.chunk_size, MAX_PIECE)

    @property
    def read_piece(self) -> int:
        """Bytes that are read at a time."""
        return min(self.chunk_size, MAX_READ)

    def plan(self, base: plan.ImageState, size: int) -> plan.ImagePlan:
        """Return how an image is to be made.

        :param base: the image that the stock store would make
        :param size: bytes; 0 where it isn't known
        :raises OptionError: for more objects than an object map can have
        """
        level = precedence.Level(errors.Origin.BACKEND, self.options)
        resolved = precedence.resolve([level])
        try:
            return plan.plan_image(resolved, base, size, _LIMITS)
        except errors.OptionError as error:
            raise error.renamed(OPTION_OF_KEY) from None


def _power_of_two(chunk_size: int) -> int:
    """Return the chunk size that the stock store makes images with: 2 for 3.

    It takes the logarithm and drops what is behind the decimal point.
    """
    return 1 << (chunk_size.bit_length() - 1)
