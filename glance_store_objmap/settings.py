# SPDX-License-Identifier: Apache-2.0

"""The section of a store in glance-api.conf, parsed once."""

import dataclasses
from typing import Any

from glance_store_objmap import pieces
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import sizes

#: The option of glance-api.conf for each key.
OPTION_OF_KEY = {
    keys.OBJECT_SIZE: 'rbd_store_object_size',
    keys.STRIPE_UNIT: 'rbd_store_stripe_unit',
    keys.STRIPE_COUNT: 'rbd_store_stripe_count',
    keys.OBJECT_MAP: 'rbd_store_object_map',
    keys.FEATURES: 'rbd_store_features',
}

#: The limits for tenants' volumes do not apply: only the operator sets these
#: options, and the size of a Glance image is that of the uploaded data.
_LIMITS = operator_limits.Limits(
    max_stripe_count=layout.MAX_STRIPE_COUNT,
    require_whole_stripes=False,
    min_object_size=layout.MIN_OBJECT_SIZE,
    max_objects=1 << 63,
)

#: Larger pieces do not make an upload faster. With the default number of
#: writes in flight, an upload needs no more memory than in the stock store.
MAX_PIECE = 4 * sizes.MIB

#: librbd holds two more copies of the data that it reads, in messages and in
#: its own buffers.
MAX_READ = 4 * sizes.MIB


# StoreSettings has a field options.
_Values = options.Values


@dataclasses.dataclass(frozen=True)
class StoreSettings:
    """The operator's settings for a store.

    :ivar options: layout and features of images
    :ivar chunk_size: object size of the stock store, in bytes
    :ivar write_depth: maximum number of writes in flight
    :ivar memory: memory of the uploads of a process, in bytes
    :ivar read_depth: maximum number of reads in flight
    :ivar thin: whether pieces that contain only zeros are not written
    :ivar cloud_id: the id in the marks of images; empty to write no marks
    """

    options: _Values
    chunk_size: int
    write_depth: int
    memory: int
    read_depth: int
    thin: bool
    cloud_id: str = ''

    @classmethod
    def read(cls, configuration: Any) -> 'StoreSettings':
        """Read the settings from the configuration section of a store.

        :raises OptionError: for values that contradict each other, or a
            ``rbd_store_chunk_size`` that librbd rejects as an object size;
            the key of the error is the name of the option
        """
        values = {
            key: str(value)
            for key, option in OPTION_OF_KEY.items()
            if (value := getattr(configuration, option)) is not None
        }
        chunk_size = layout.parse_chunk_size(
            # The stock store truncates the binary logarithm: 3 becomes 2.
            pieces.power_of_two(configuration.rbd_store_chunk_size),
            errors.Origin.BACKEND,
        )
        origin = errors.Origin.BACKEND
        try:
            parsed = options.parse(values, keys.Scope.VOLUME, origin)
            layout.check_unit(
                parsed.layout_over(layout.ImageLayout(chunk_size)), origin
            )
        except errors.OptionError as error:
            raise error.renamed(OPTION_OF_KEY) from None
        return cls(
            options=parsed,
            chunk_size=chunk_size,
            write_depth=configuration.rbd_store_write_depth,
            memory=configuration.rbd_store_upload_memory * sizes.MIB,
            read_depth=configuration.rbd_store_read_depth,
            thin=configuration.rbd_thin_provisioning,
            cloud_id=configuration.rbd_cloud_id or '',
        )

    @property
    def piece(self) -> int:
        """Maximum size of a write, in bytes."""
        return min(self.chunk_size, MAX_PIECE)

    @property
    def read_piece(self) -> int:
        """Size of a read, in bytes."""
        return min(self.chunk_size, MAX_READ)

    def plan(self, base: _Values, size: int) -> _Values:
        """Return the plan for a new RBD image.

        :param base: the image that the stock store would create
        :param size: size of the image in bytes; 0 if unknown
        :raises OptionError: for more objects than an object map can have
        """
        try:
            return plan.plan_image(self.options, base, size, _LIMITS)
        except errors.OptionError as error:
            raise error.renamed(OPTION_OF_KEY) from None
