# SPDX-License-Identifier: Apache-2.0

"""The operator's limits."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import phrases
from rbd_volume_options import sizes

DEFAULT_MAX_STRIPE_COUNT = 64

#: Deleting, copying and scrubbing take a request for each object. A volume of
#: 1 GiB has up to 16,384 objects of 64 KiB.
DEFAULT_MIN_OBJECT_SIZE = 64 * sizes.KIB

#: 64 TiB in objects of 4 MiB, 1 TiB in objects of 64 KiB.
DEFAULT_MAX_OBJECTS = 1 << 24

#: The part of the maximum number of objects that an image without an object
#: map may have. Its deletion sends a request for each object that could exist:
#: a million takes about a quarter of an hour.
WITHOUT_MAP = 16


@dataclasses.dataclass(frozen=True)
class ConfOption:
    """An option of cinder.conf that sets a limit.

    :ivar name: its name, and that of the capability
    :ivar default: as in cinder.conf. A number must be at least 1.
    :ivar parse: parses a text; raises ``OptionError``
    """

    name: str
    default: bool | int | str
    help: str
    parse: Callable[[Any], Any] = lambda value: value

    @property
    def limit(self) -> str:
        """The attribute of :class:`Limits`."""
        return self.name.removeprefix('rbd_')


CONF_OPTIONS = (
    ConfOption(
        'rbd_max_stripe_count',
        DEFAULT_MAX_STRIPE_COUNT,
        'Maximum stripe count in the metadata of a volume, in a volume '
        'type and in rbd_volume_stripe_count. librbd has no limit. A read '
        'of a full stripe accesses this many objects.',
    ),
    ConfOption(
        'rbd_min_object_size',
        '64K',
        'Minimum object size in the metadata of a volume and in a volume '
        'type, and minimum that a volume can inherit. Small objects slow '
        'down deletion and scrubbing, which take one request per object. '
        'Does not apply to rbd_volume_object_size.',
        layout.parse_object_size,
    ),
    ConfOption(
        'rbd_max_objects',
        DEFAULT_MAX_OBJECTS,
        'Maximum number of RADOS objects of a volume, if its metadata or '
        'type sets a layout with objects smaller than 4 MiB. The default '
        'allows 1 TiB with objects of 64 KiB. Without an object map, an '
        'image may have a sixteenth of it, because its deletion takes a '
        'request for each object that could exist.',
    ),
    ConfOption(
        'rbd_require_whole_stripes',
        True,
        'Require that the size of a striped volume is a multiple of '
        'stripe_unit x stripe_count, when it is created and when it is '
        'extended. librbd does not require it.',
    ),
)


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of a back end.

    :ivar max_stripe_count: the maximum stripe count
    :ivar require_whole_stripes: whether the size of a volume must be a
        multiple of stripe unit x stripe count. This is the rule of CERN's
        report; librbd does not require it.
    :ivar allowed: by key, the values that may be requested; the defaults of
        :class:`.definitions.AllowedValues` for missing keys
    :ivar tenant_options: the keys that tenants may set, unless the volume
        type overrides them
    :ivar min_object_size: the minimum object size that may be requested, in
        bytes
    :ivar max_objects: the maximum number of RADOS objects of a volume with a
        requested layout; without an object map, :data:`WITHOUT_MAP` times less
    """

    max_stripe_count: int = DEFAULT_MAX_STRIPE_COUNT
    require_whole_stripes: bool = True
    allowed: Mapping[str, tuple[Any, ...]] = dataclasses.field(
        default_factory=dict, hash=False
    )
    tenant_options: frozenset[str] = frozenset()
    min_object_size: int = DEFAULT_MIN_OBJECT_SIZE
    max_objects: int = DEFAULT_MAX_OBJECTS


def check_stripe_count(
    striping: layout.Striping, limits: Limits, origin: errors.Origin
) -> None:
    """Check a stripe count against the maximum of the back end.

    :raises OptionError: if it is larger
    """
    if striping.count > limits.max_stripe_count:
        raise errors.OptionError(
            keys.STRIPE_COUNT,
            striping.count,
            phrases.Phrase('more than this back end allows'),
            phrases.Phrase('1 to {maximum}', maximum=limits.max_stripe_count),
            origin,
            errors.Code.STRIPE_COUNT_TOO_LARGE,
        )


def check_object_size(
    object_size: int, limits: Limits, origin: errors.Origin
) -> None:
    """Check an object size against the minimum of the back end.

    :param object_size: bytes
    :raises OptionError: if it is smaller
    """
    if object_size < limits.min_object_size:
        smallest = sizes.format_size(limits.min_object_size)
        largest = sizes.format_size(layout.MAX_OBJECT_SIZE)
        raise errors.OptionError(
            keys.OBJECT_SIZE,
            object_size,
            phrases.Phrase('smaller than this back end allows'),
            phrases.Phrase(
                'a power of two from {smallest} to {largest}',
                smallest=smallest,
                largest=largest,
            ),
            origin,
            errors.Code.OBJECT_SIZE_TOO_SMALL,
        )


def check_object_count(
    image_layout: layout.ImageLayout,
    size: int,
    limits: Limits,
    origin: errors.Origin,
    has_map: bool = True,
) -> None:
    """Check that a volume does not have more objects than allowed.

    Layouts with objects of at least librbd's default size are not limited:
    they have no more objects than a volume with the default layout.

    :param size: size of the volume in bytes
    :param has_map: whether the image has an object map
    :raises OptionError: if it has more
    """
    if image_layout.object_size >= layout.DEFAULT_OBJECT_SIZE:
        return
    count = image_layout.object_count(size)
    if not has_map and limits.max_objects >= count > (
        limits.max_objects // WITHOUT_MAP
    ):
        raise errors.OptionError(
            keys.OBJECT_SIZE,
            image_layout.object_size,
            _too_many(image_layout, size, count),
            phrases.Phrase(
                'up to {maximum:,} objects on this back end without an object '
                'map; use a larger rbd:object_size, or rbd:object_map = true',
                maximum=limits.max_objects // WITHOUT_MAP,
            ),
            origin,
            errors.Code.TOO_MANY_OBJECTS,
        )
    if count > limits.max_objects:
        raise errors.OptionError(
            keys.OBJECT_SIZE,
            image_layout.object_size,
            _too_many(image_layout, size, count),
            phrases.Phrase(
                'up to {maximum:,} objects on this back end; use a larger '
                'rbd:object_size',
                maximum=limits.max_objects,
            ),
            origin,
            errors.Code.TOO_MANY_OBJECTS,
        )


def _too_many(
    image_layout: layout.ImageLayout, size: int, count: int
) -> phrases.Phrase:
    return phrases.Phrase(
        'a volume of {size} ({image_layout}) has {count:,} objects',
        size=sizes.format_size(size),
        image_layout=image_layout,
        count=count,
    )


def check_object_map(
    image_layout: layout.ImageLayout,
    size: int,
    image_features: features.Features,
    origin: errors.Origin | None = None,
) -> None:
    """Check that an object map is not too large for librbd.

    :param size: size of the image in bytes
    :raises OptionError: for more than 256,000,000 objects with an object map
    """
    if features.OBJECT_MAP not in image_features:
        return
    count = image_layout.object_count(size)
    if count > features.MAX_OBJECT_MAP_OBJECTS:
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'true',
            _too_many(image_layout, size, count),
            phrases.Phrase(
                'up to {maximum:,} objects; use a larger rbd:object_size, or '
                'rbd:object_map = false',
                maximum=features.MAX_OBJECT_MAP_OBJECTS,
            ),
            origin,
            errors.Code.OBJECT_MAP_TOO_LARGE,
        )


def check_whole_stripes(
    image_layout: layout.ImageLayout,
    size: int,
    bounds: Limits,
    origin: errors.Origin | None = None,
) -> None:
    """Check that a volume's size is a multiple of the stripe width.

    :param size: size of the volume in bytes
    :raises OptionError: if it is not, and the back end requires it
    """
    striping = image_layout.striping
    if not bounds.require_whole_stripes or striping is None:
        return
    if size % striping.width:
        raise errors.OptionError(
            keys.STRIPE_COUNT,
            striping.count,
            phrases.Phrase(
                '{size} is not a multiple of {unit} x {count}',
                size=sizes.format_size(size),
                unit=sizes.format_size(striping.unit),
                count=striping.count,
            ),
            phrases.Phrase(
                'values whose product divides the size, such as powers of two'
            ),
            origin,
            errors.Code.NOT_WHOLE_STRIPES,
        )


def whole_stripes_step(image_layout: layout.ImageLayout) -> int:
    """Return the number of GiB that hold whole stripes, and no fewer."""
    striping = image_layout.striping
    if striping is None:
        return 1
    return striping.width // math.gcd(striping.width, sizes.GIB)
