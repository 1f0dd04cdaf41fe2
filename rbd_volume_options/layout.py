# SPDX-License-Identifier: Apache-2.0

"""The layout of an RBD image: object size, stripe unit, stripe count.

The rules are those of librbd (``src/librbd/image/CreateRequest.cc``,
``src/osdc/Striper.cc``). Tests compare them with the real library.
"""

import dataclasses

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import sizes

#: librbd accepts orders from 12 to 25; 26 is the limit of journal objects.
MIN_OBJECT_SIZE = 4 * sizes.KIB
MAX_OBJECT_SIZE = 32 * sizes.MIB
#: The default of librbd: rbd_default_order, 22.
DEFAULT_OBJECT_SIZE = 4 * sizes.MIB

#: ceph/ceph#38655 (Pacific): "stripe unit must be at least 512 bytes".
MIN_STRIPE_UNIT = 512

#: librbd counts with 64 bits and its Python binding passes 63. No cluster has
#: so many OSDs to stripe over. The limit of the back end is lower.
MAX_STRIPE_COUNT = 2**31 - 1

OBJECT_SIZE_ALLOWED = phrases.Phrase('a power of two from 4 KiB to 32 MiB')
STRIPE_UNIT_ALLOWED = phrases.Phrase(
    'a power of two from 512 bytes to the object size, '
    'together with rbd:stripe_count'
)


def is_power_of_two(number: int) -> bool:
    """Return whether a number is a power of two, 1 included."""
    return number > 0 and number & (number - 1) == 0


@dataclasses.dataclass(frozen=True)
class Striping:
    """Stripe unit in bytes and stripe count, which are set together."""

    unit: int
    count: int

    @property
    def width(self) -> int:
        """Size of a full stripe in bytes."""
        return self.unit * self.count


@dataclasses.dataclass(frozen=True)
class ImageLayout:
    """The order, stripe unit and stripe count of librbd.

    :ivar object_size: bytes
    :ivar striping: None if the image is not striped and data fills one object
        after the other. librbd represents this as a stripe unit equal to the
        object size and a stripe count of 1.
    """

    object_size: int
    striping: Striping | None = None

    @classmethod
    def from_numbers(
        cls, object_size: int, unit: int, count: int
    ) -> 'ImageLayout':
        """Return the layout for the values of librbd.

        :param object_size: bytes
        :param unit: stripe unit in bytes
        :param count: stripe count
        """
        if count == 1 and unit == object_size:
            return cls(object_size)
        return cls(object_size, Striping(unit, count))

    @property
    def order(self) -> int:
        """Binary logarithm of the object size, for calls to librbd."""
        return self.object_size.bit_length() - 1

    @property
    def stripe_unit(self) -> int:
        """Stripe unit in bytes; the object size without striping."""
        return self.striping.unit if self.striping else self.object_size

    @property
    def stripe_count(self) -> int:
        """Stripe count; 1 without striping."""
        return self.striping.count if self.striping else 1

    def object_count(self, size: int) -> int:
        """Return the maximum number of objects of an image.

        This is the calculation of ``Striper::get_num_objects``: the last
        period may be incomplete and then does not use all of its objects.

        :param size: size of the image in bytes
        """
        unit, count = self.stripe_unit, self.stripe_count
        period = count * self.object_size
        periods, rest = divmod(size, period)
        total = periods * count
        if rest:
            total += count if rest >= unit * count else -(-rest // unit)
        return total

    def __str__(self) -> str:
        text = f'{sizes.format_size(self.object_size)} objects'
        if self.striping:
            unit = sizes.format_size(self.striping.unit)
            text += f', {unit} x {self.striping.count}'
        return text


def parse_object_size(value: str | int) -> int:
    """Return an object size in bytes.

    :raises OptionError: unless it is a power of two from 4 KiB to 32 MiB
    """
    return _power_of_two(
        keys.OBJECT_SIZE, value, MIN_OBJECT_SIZE, OBJECT_SIZE_ALLOWED
    )


def parse_stripe_unit(value: str | int) -> int:
    """Return a stripe unit in bytes.

    :raises OptionError: unless it is a power of two from 512 bytes to 32 MiB.
        The object size is a power of two, and so are all of its factors.
    """
    return _power_of_two(
        keys.STRIPE_UNIT, value, MIN_STRIPE_UNIT, STRIPE_UNIT_ALLOWED
    )


def parse_chunk_size(
    mebibytes: int, origin: errors.Origin | None = None
) -> int:
    """Return the object size in bytes for ``rbd_store_chunk_size``.

    The stock code of Cinder and Glance truncates the logarithm to an integer
    and so silently turns 6 MiB into 4 MiB.

    :param mebibytes: the value of the option
    :raises OptionError: for a value that librbd rejects as an object size
    """
    size = int(mebibytes) * sizes.MIB
    if not is_power_of_two(size) or size > MAX_OBJECT_SIZE:
        raise errors.OptionError(
            'rbd_store_chunk_size',
            mebibytes,
            phrases.Phrase('not an object size that librbd supports'),
            phrases.Phrase('1, 2, 4, 8, 16 or 32 (MiB)'),
            origin,
        )
    return size


def _power_of_two(
    key: str, value: str | int, smallest: int, allowed: str
) -> int:
    size = sizes.parse_size(key, value)
    if not is_power_of_two(size):
        raise errors.OptionError(
            key, value, phrases.Phrase('not a power of two'), allowed
        )
    if not smallest <= size <= MAX_OBJECT_SIZE:
        raise errors.OptionError(
            key, value, phrases.Phrase('out of range'), allowed
        )
    return size


def parse_stripe_count(value: str | int) -> int:
    """Return a stripe count.

    :raises OptionError: unless it is a whole number from 1 to
        :data:`MAX_STRIPE_COUNT`
    """
    count = sizes.parse_count(keys.STRIPE_COUNT, value)
    if count > MAX_STRIPE_COUNT:
        raise errors.OptionError(
            keys.STRIPE_COUNT,
            value,
            phrases.Phrase('out of range'),
            phrases.Phrase(
                'a whole number from 1 to {maximum}', maximum=MAX_STRIPE_COUNT
            ),
        )
    return count


def check_unit(
    image_layout: ImageLayout, origin: errors.Origin | None = None
) -> None:
    """Check that the stripe unit is a factor of the object size.

    :raises OptionError: if it is not
    """
    unit = image_layout.stripe_unit
    if unit > image_layout.object_size or image_layout.object_size % unit:
        object_size = sizes.format_size(image_layout.object_size)
        raise errors.OptionError(
            keys.STRIPE_UNIT,
            unit,
            phrases.Phrase(
                'not a factor of the object size, {object_size}',
                object_size=object_size,
            ),
            phrases.Phrase(
                'a power of two from 512 bytes to {object_size}',
                object_size=object_size,
            ),
            origin,
        )
