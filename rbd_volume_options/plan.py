# SPDX-License-Identifier: Apache-2.0

"""The plan for a new RBD image: resolved values, checked by the rules."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import precedence
from rbd_volume_options import qos
from rbd_volume_options import registry
from rbd_volume_options import sector_sizes
from rbd_volume_options import whole_stripes
from rbd_volume_options.families import limits as limit_options

Origin = precedence.Origin
# In the classes below, layout is an attribute.
_Layout = layout.ImageLayout


@dataclasses.dataclass(frozen=True)
class ImageState:
    """An existing or prospective image.

    :ivar configuration: the values of options that configure the image, by key
    :ivar disk: the properties of the disk, by key. Only the record of the
        volume has them.
    """

    layout: _Layout
    image_features: features.Features
    data_pool: str | None = None
    configuration: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )
    disk: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )

    def values(self) -> dict[str, Any]:
        """Return what the image has, by key."""
        values = {
            keys.OBJECT_SIZE: self.layout.object_size,
            keys.STRIPE_UNIT: self.layout.stripe_unit,
            keys.STRIPE_COUNT: self.layout.stripe_count,
            keys.FEATURES: self.image_features,
            **self.configuration,
            **self.disk,
        }
        if self.data_pool:
            values[keys.DATA_POOL] = self.data_pool
        return values


#: A placeholder for an unknown image. Rules that depend on the image refuse
#: nothing with it.
UNKNOWN = ImageState(layout.ImageLayout(layout.MAX_OBJECT_SIZE), frozenset())


def stock_image(
    object_size: int,
    striping: layout.Striping | None,
    image_features: features.Features | None,
) -> ImageState:
    """Return the image that a stock driver creates for an empty volume.

    :param object_size: the object size of the back end, in bytes
    :param striping: librbd's default; None if images are not striped, or if
        it is unknown
    :param image_features: librbd's default; None if it is unknown
    """
    return ImageState(
        layout.ImageLayout(object_size, striping),
        image_features or frozenset(),
    )


@dataclasses.dataclass(frozen=True)
class ImagePlan:
    """The plan for a new image; None for the values of the stock driver.

    :ivar disk: the properties of the disk, by key
    :ivar origins: where each part of the plan was set; None if the plan is
        that of an existing image
    """

    layout: _Layout | None = None
    image_features: features.Features | None = None
    data_pool: str | None = None
    configuration: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )
    disk: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )
    origins: Mapping[precedence.Part, Origin] | None = dataclasses.field(
        default=None, compare=False
    )


def plan_image(
    resolved: precedence.Resolved,
    base: ImageState,
    size: int,
    bounds: limits.Limits,
) -> ImagePlan:
    """Return the plan for a new image.

    :param base: the image that the stock driver would create
    :param size: bytes
    :raises OptionError: for values that librbd or the limits of the back end
        reject
    """
    asked_layout = resolved.layout_choice
    asked_features = resolved.features_choice
    image_layout = resolved.layout_over(base.layout)
    wanted = resolved.features_over(base.image_features)
    if asked_layout:
        check_layout(resolved, base.layout, bounds)
    # Also for a volume without keys, whose creation librbd would refuse.
    limits.check_object_map(
        image_layout, size, wanted, _origin_of(asked_features)
    )
    if asked_layout:
        has_map = resolved.has_object_map(base.image_features)
        _check_size(resolved, base.layout, size, bounds, has_map)
    return ImagePlan(
        image_layout if asked_layout else None,
        wanted if asked_features else None,
        resolved.data_pool.value if resolved.data_pool else None,
        configuration_of(resolved, size),
        disk_of(resolved),
        resolved.origins,
    )


def configuration_of(
    resolved: precedence.Resolved, size: int, is_accepted: bool = False
) -> dict[str, Any]:
    """Return the configuration of the image of a volume, by key.

    :param size: size of the volume in bytes
    :param is_accepted: as for :func:`rbd_volume_options.qos.limits_of`
    :raises OptionError: for limits on reads and writes that contradict each
        other or the volume type
    """
    values = {
        key: value
        for key, value in _of_kind(
            resolved, definitions.Kind.IMAGE_CONFIGURATION
        ).items()
        if registry.OPTIONS[key].policy is not limit_options.SET_LIMITS
    }
    return values | qos.limits_of(resolved.plain, size, is_accepted)


def disk_of(resolved: precedence.Resolved) -> dict[str, Any]:
    """Return the properties of the disk of a new volume, by key."""
    return _of_kind(resolved, definitions.Kind.DISK)


def _of_kind(
    resolved: precedence.Resolved, kind: definitions.Kind
) -> dict[str, Any]:
    return {
        key: choice.value
        for key, choice in resolved.plain.items()
        if registry.OPTIONS[key].kind is kind
    }


def check_bootable(resolved: precedence.Resolved) -> None:
    """Check that servers can boot from a new volume.

    :raises OptionError: if its sectors are too large for that
    """
    sector_sizes.check_bootable(
        disk_of(resolved), _of_kind(resolved, definitions.Kind.FIRMWARE)
    )


def check_managed(resolved: precedence.Resolved) -> None:
    """Check that the metadata of a volume to manage describe its disk.

    :raises OptionError: if the type or the back end sets sectors of 4096
        bytes, so that the image was perhaps written for them
    """
    size = resolved.choice(keys.SECTOR_SIZE)
    if size and size.origin is not Origin.VOLUME_METADATA:
        sector_sizes.check_stated(size.value, size.origin)


def check_layout(
    resolved: precedence.Resolved,
    base: layout.ImageLayout,
    bounds: limits.Limits,
) -> None:
    """Check the rules of a layout that do not depend on a volume's size.

    :raises OptionError: for a layout that is not allowed for any size
    """
    striping = resolved.striping
    layout.check_unit(resolved.layout_over(base), _origin_of(striping))
    if striping and striping.value and striping.origin in precedence.GIVEN:
        limits.check_stripe_count(striping.value, bounds, striping.origin)


def check_object_size(
    resolved: precedence.Resolved, bounds: limits.Limits
) -> None:
    """Check a requested object size against the minimum of the back end.

    :raises OptionError: if it is smaller
    """
    object_size = resolved.object_size
    if object_size and object_size.origin in precedence.ASKED:
        limits.check_object_size(object_size.value, bounds, object_size.origin)


def _check_size(
    resolved: precedence.Resolved,
    base: layout.ImageLayout,
    size: int,
    bounds: limits.Limits,
    has_map: bool,
) -> None:
    """Check a layout against a volume's size.

    Striping that was not set by our keys or options is not restricted. It
    comes from ceph.conf or from the image that is cloned.
    """
    image_layout = resolved.layout_over(base)
    striping = resolved.striping
    check_object_size(resolved, bounds)
    if striping and striping.origin in precedence.GIVEN:
        whole_stripes.check_size(image_layout, size, bounds, striping.origin)
    chosen = [
        choice.origin
        for choice in (striping, resolved.object_size)
        if choice and choice.origin in precedence.ASKED
    ]
    if chosen:
        limits.check_object_count(
            image_layout, size, bounds, chosen[0], has_map
        )


def _origin_of(choice: precedence.Choice[object] | None) -> Origin:
    """Return where a value was set; unset values come from the base image."""
    return choice.origin if choice else Origin.CLUSTER
