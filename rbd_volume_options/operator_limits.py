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


def check_layout(
    image_layout: layout.ImageLayout,
    origins: Mapping[str, errors.Origin],
    limits: Limits,
) -> None:
    """Check a layout that is requested, whatever the size of the volume.

    The back end limits what keys request, and also its own stripe count.

    :param origins: where each part was set
    :raises OptionError: for a layout that the back end does not allow
    """
    object_size, striping = image_layout.object_size, image_layout.striping
    by_size, by_striping = _set_by(origins)
    if (
        striping
        and by_striping in errors.GIVEN
        and striping.count > limits.max_stripe_count
    ):
        raise errors.OptionError(
            keys.STRIPE_COUNT,
            striping.count,
            phrases.Phrase('more than this back end allows'),
            phrases.Phrase('1 to {maximum}', maximum=limits.max_stripe_count),
            by_striping,
        )
    if by_size in errors.ASKED and object_size < limits.min_object_size:
        raise errors.OptionError(
            keys.OBJECT_SIZE,
            object_size,
            phrases.Phrase('smaller than this back end allows'),
            phrases.Phrase(
                'a power of two from {smallest} to {largest}',
                smallest=sizes.format_size(limits.min_object_size),
                largest=sizes.format_size(layout.MAX_OBJECT_SIZE),
            ),
            by_size,
        )


def _set_by(
    origins: Mapping[str, errors.Origin],
) -> tuple[errors.Origin, errors.Origin]:
    """Return where the object size and the striping were set."""
    cluster = errors.Origin.CLUSTER
    size, striping = keys.OBJECT_SIZE, keys.STRIPING
    return origins.get(size, cluster), origins.get(striping, cluster)


def check_size(
    image_layout: layout.ImageLayout,
    origins: Mapping[str, errors.Origin],
    limits: Limits,
    size: int,
    has_map: bool,
) -> None:
    """Check the size of a volume, new or extended, with its layout.

    Striping that was not set by our keys or options is not restricted.
    Layouts with objects of at least librbd's default size can have any number
    of them: no more than a volume with the default layout.

    :param origins: where each part was set
    :param size: size of the volume in bytes
    :param has_map: whether the image has an object map
    :raises OptionError: for a size that the back end does not allow
    """
    object_size, striping = image_layout.object_size, image_layout.striping
    by_size, by_striping = _set_by(origins)
    if (
        striping
        and by_striping in errors.GIVEN
        and limits.require_whole_stripes
        and size % striping.width
    ):
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
            by_striping,
        )
    origin = by_striping if by_striping in errors.ASKED else by_size
    count = image_layout.object_count(size)
    maximum = limits.max_objects
    is_smaller = not has_map and count <= maximum
    if is_smaller:
        maximum //= WITHOUT_MAP
    if (
        origin in errors.ASKED
        and object_size < layout.DEFAULT_OBJECT_SIZE
        and count > maximum
    ):
        raise errors.OptionError(
            keys.OBJECT_SIZE,
            object_size,
            _too_many(image_layout, size, count),
            phrases.Phrase(
                'up to {maximum:,} objects on this back end without an object '
                'map; use a larger rbd:object_size, or rbd:object_map = true',
                maximum=maximum,
            )
            if is_smaller
            else phrases.Phrase(
                'up to {maximum:,} objects on this back end; use a larger '
                'rbd:object_size',
                maximum=maximum,
            ),
            origin,
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
        )


def whole_stripes_step(image_layout: layout.ImageLayout) -> int:
    """Return the number of GiB that hold whole stripes, and no fewer."""
    striping = image_layout.striping
    if striping is None:
        return 1
    return striping.width // math.gcd(striping.width, sizes.GIB)
