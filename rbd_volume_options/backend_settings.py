# SPDX-License-Identifier: Apache-2.0

"""The section of a back end in cinder.conf, parsed once."""

import dataclasses
from typing import Any
from typing import Protocol

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import sector_sizes
from rbd_volume_options import sizes
from rbd_volume_options import wire

# BackendSettings has a field options.
_Values = options.Values


class Configuration(Protocol):
    """The section of a back end, as Cinder has read it."""

    rbd_store_chunk_size: int

    def safe_get(self, value: str) -> Any: ...


@dataclasses.dataclass(frozen=True)
class BackendSettings:
    """The settings of a back end.

    :ivar options: defaults for volumes on the back end
    :ivar limits: limits of what may be requested
    :ivar chunk_size: object size in bytes of the stock driver's images
    :ivar strict_cache_mode: whether an attachment is refused if the compute
        host does not offer the requested mode
    :ivar ceph_features: the features that Ceph's configuration gives a new
        image; None if the back end has not reported them
    :ivar ceph_striping: the same for its striping; None also if it has none
    :ivar data_pools: the possible data pools; None if not reported
    :ivar cloud_id: the id in the marks of images; empty to write no marks
    """

    options: _Values
    limits: limits.Limits
    chunk_size: int
    strict_cache_mode: bool = True
    ceph_features: features.Features | None = None
    ceph_striping: layout.Striping | None = None
    data_pools: tuple[str, ...] | None = None
    cloud_id: str = ''

    @property
    def ceph_defaults(self) -> _Values:
        """The known defaults of Ceph's configuration."""
        values: dict[str, Any] = {}
        # Without features, the back end has not reported either of them.
        if self.ceph_features is not None:
            values[keys.FEATURES] = self.ceph_features
        if values or self.ceph_striping:
            values[keys.STRIPING] = self.ceph_striping
        return options.of_one_origin(errors.Origin.CLUSTER, values)

    def stock_state(self) -> _Values:
        """Return the image that the stock driver creates, if known."""
        return plan.stock_image(
            self.chunk_size, self.ceph_striping, self.ceph_features
        )

    @classmethod
    def read(cls, configuration: Configuration) -> 'BackendSettings':
        """Read the settings from Cinder's configuration of a back end.

        :raises OptionError: for values that are invalid or contradict each
            other; the key of the error is the option's name
        """
        texts = {
            key: str(value)
            for key, option in registry.conf_names().items()
            if (value := configuration.safe_get(option)) is not None
        }
        # Cinder would apply another value after a change or a migration.
        geometry = configuration.safe_get('disk_geometry')
        if geometry:
            size = sector_sizes.OF_DISK_GEOMETRY[geometry]
            texts.setdefault(keys.SECTOR_SIZE, size)
        try:
            bounds = _read_limits(configuration, texts)
            parsed = options.parse(
                texts, keys.Scope.BACKEND, errors.Origin.BACKEND
            )
            _check(parsed, bounds)
        except errors.OptionError as error:
            raise error.renamed(registry.conf_names()) from None
        return cls(
            options=parsed,
            limits=bounds,
            chunk_size=layout.parse_chunk_size(
                configuration.rbd_store_chunk_size, errors.Origin.BACKEND
            ),
            strict_cache_mode=(
                configuration.safe_get(wire.RBD_CACHE_MODE_ENFORCEMENT)
                != wire.LENIENT
            ),
            cloud_id=configuration.safe_get(wire.RBD_CLOUD_ID) or '',
        )


def _read_limits(
    configuration: Configuration, texts: dict[str, str]
) -> limits.Limits:
    """Read the limits, and remove the keys for tenants from the options."""
    bounds = {
        option.limit: option.parse(configuration.safe_get(option.name))
        for option in limits.CONF_OPTIONS
    }
    return limits.Limits(
        **bounds,
        allowed={
            option.key: option.allowed.parse(
                configuration.safe_get(option.allowed.option)
            )
            for option in registry.OPTIONS.values()
            if option.allowed
        },
        tenant_options=registry.parse_key_list(
            texts.pop(keys.TENANT_OPTIONS, '')
        ),
    )


def _check(parsed: options.Values, bounds: limits.Limits) -> None:
    origin = errors.Origin.BACKEND
    if keys.STRIPING in parsed:
        limits.check_stripe_count(parsed[keys.STRIPING], bounds, origin)
        if keys.OBJECT_SIZE in parsed:
            layout.check_unit(parsed.layout, origin)
    options.check_allowed(parsed, bounds, origin)
    # A burst below its limit would be refused with each new volume.
    plan.configuration_of(parsed, sizes.GIB)
