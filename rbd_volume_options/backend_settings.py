# SPDX-License-Identifier: Apache-2.0

"""The settings of a back end.

The driver reads them from its section of cinder.conf and reports them to the
scheduler, from which the API reads them.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import Protocol

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import ownership
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_options.families import sector_size

# Names in the report; the last two are also options of Ceph.
#: True for a back end with our driver. Operators match it in extra specs:
#: ``capabilities:rbd_volume_options='<is> True'``.
CAPABILITY = 'rbd_volume_options'
#: The stock driver's capability for driver-assisted migrations: cluster,
#: ceph.conf, fsid, user and pool, separated by colons.
LOCATION_INFO = 'location_info'
#: The same of a back end with a data pool. The stock driver does not read it:
#: it would copy an image without its data pool.
RBD_LOCATION_INFO = 'rbd_location_info'
CACHE_MODE_ENFORCEMENT = 'rbd_cache_mode_enforcement'
STRICT = 'strict'
LENIENT = 'lenient'
#: The pools that can be data pools, as a list of names; None if unknown.
RBD_DATA_POOLS = 'rbd_data_pools'
RBD_VOLUME_OBJECT_SIZE = 'rbd_volume_object_size'
RBD_DEFAULT_STRIPE_UNIT = 'rbd_default_stripe_unit'
RBD_DEFAULT_STRIPE_COUNT = 'rbd_default_stripe_count'

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
    limits: operator_limits.Limits
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
        texts = _texts(configuration.safe_get)
        # Cinder would apply another value after a change or a migration.
        geometry = configuration.safe_get('disk_geometry')
        if geometry:
            size = sector_size.OF_DISK_GEOMETRY[geometry]
            texts.setdefault(keys.SECTOR_SIZE, size)
        try:
            tenant_options = texts.pop(keys.TENANT_OPTIONS, '')
            bounds = _limits(
                configuration.safe_get,
                registry.parse_key_list(tenant_options),
            )
            parsed = options.parse(texts, keys.Scope.BACKEND)
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
                configuration.safe_get(CACHE_MODE_ENFORCEMENT) != LENIENT
            ),
            cloud_id=configuration.safe_get(ownership.CLOUD_ID) or '',
        )


def _texts(get: Callable[[str], Any]) -> dict[str, str]:
    """Return the text of each default that is set, by key.

    :param get: returns the value of an option, from cinder.conf or a report
    """
    return {
        key: definitions.as_text(value)
        for key, name in registry.conf_names().items()
        if (value := get(name)) is not None
    }


def _limits(
    get: Callable[[str], Any], tenant_options: frozenset[str]
) -> operator_limits.Limits:
    """Return the limits; the defaults for what an older driver lacks."""
    bounds = {
        option.limit: option.parse(value)
        for option in operator_limits.CONF_OPTIONS
        if (value := get(option.name)) is not None
    }
    allowed = {
        option.key: option.allowed.parse(definitions.as_text(value))
        for option in registry.OPTIONS.values()
        if option.allowed and (value := get(option.allowed.option)) is not None
    }
    return operator_limits.Limits(
        **bounds, allowed=allowed, tenant_options=tenant_options
    )


def _check(parsed: options.Values, bounds: operator_limits.Limits) -> None:
    origin = errors.Origin.BACKEND
    # The object size of a volume type may be larger.
    largest = layout.ImageLayout(layout.MAX_OBJECT_SIZE)
    image_layout = parsed.layout_over(largest)
    layout.check_unit(image_layout, origin)
    operator_limits.check_layout(image_layout, parsed.origins or {}, bounds)
    options.check_allowed(parsed, bounds)
    # A burst below its limit would be refused with each new volume.
    plan.configuration_of(parsed, sizes.GIB)


def reported(settings: BackendSettings) -> dict[str, Any]:
    """Return the report of the back end to the scheduler.

    Operators match ``rbd_volume_options`` in extra specs. The others show
    what the back end offers. All have simple types, for filters and RPC.
    """
    defaults, striping = settings.ceph_features, settings.ceph_striping
    values, pools = settings.options.by_option(), settings.data_pools
    return {
        CAPABILITY: True,
        CACHE_MODE_ENFORCEMENT: (
            STRICT if settings.strict_cache_mode else LENIENT
        ),
        ownership.CLOUD_ID: settings.cloud_id or None,
        **{
            option.allowed.option: [
                definitions.as_json(value)
                for value in option.allowed_values(settings.limits) or ()
            ]
            for option in registry.OPTIONS.values()
            if option.allowed
        },
        **{
            option.name: getattr(settings.limits, option.limit)
            for option in operator_limits.CONF_OPTIONS
        },
        'rbd_tenant_options': sorted(settings.limits.tenant_options),
        **{
            option.conf_name: definitions.as_capability(values.get(option.key))
            for option in registry.with_defaults()
            # There are many of these, and hardly any is set.
            if option.key in values or not option.is_rarely_set
        },
        RBD_VOLUME_OBJECT_SIZE: values.get(
            keys.OBJECT_SIZE, settings.chunk_size
        ),
        RBD_DATA_POOLS: None if pools is None else [*pools],
        'rbd_default_features': (
            None if defaults is None else features.joined(defaults)
        ),
        RBD_DEFAULT_STRIPE_UNIT: striping.unit if striping else None,
        RBD_DEFAULT_STRIPE_COUNT: striping.count if striping else None,
    }


def location_of(
    settings: BackendSettings, report: Mapping[str, Any]
) -> dict[str, str | None]:
    """Return the report of where a back end's images are.

    The stock driver ignores the data pool of a destination on RBD. Without
    ``location_info`` it lets the destination create the image.
    """
    location: str = report[LOCATION_INFO]
    if settings.options.data_pool is None:
        return {LOCATION_INFO: location}
    return {LOCATION_INFO: None, RBD_LOCATION_INFO: location}


def location_in(report: Mapping[str, Any]) -> str:
    """Return the location in any back end's report; empty without one."""
    ours = report.get(RBD_LOCATION_INFO)
    return str(ours or report.get(LOCATION_INFO) or '')


def location(host: Mapping[str, Any]) -> list[str]:
    """Return the location of a destination: fsid, user and pool, if on RBD."""
    return location_in(host['capabilities']).split(':')


def with_location(host: dict[str, Any]) -> dict[str, Any]:
    """Return the destination of a migration as the stock driver reads it."""
    report = host['capabilities']
    location = report.get(RBD_LOCATION_INFO)
    if not location:
        return host
    return {**host, 'capabilities': {**report, LOCATION_INFO: location}}


def is_ours(report: Mapping[str, Any]) -> bool:
    """Return whether a report is from a back end with our driver."""
    return report.get(CAPABILITY) is True


def settings_of(
    report: Mapping[str, Any], warn: Callable[[str, object], None]
) -> BackendSettings | None:
    """Return the reported settings; None for a back end without our driver.

    The object size is an option of the back end even if it is the default.

    :param warn: logs why the report of a newer driver is ignored
    """
    if not is_ours(report):
        return None
    texts = _texts(report.get)
    tenant_options = frozenset(report.get('rbd_tenant_options', ()))
    names = report.get('rbd_default_features')
    pools = report.get(RBD_DATA_POOLS)
    texts.pop(keys.TENANT_OPTIONS, None)
    try:
        parsed = options.parse(texts, keys.Scope.BACKEND)
        bounds = _limits(report.get, tenant_options)
    except errors.OptionError as error:
        # A newer release of the driver reported it, during an upgrade.
        warn('Ignored the report of a back end: %s', error)
        return None
    return BackendSettings(
        options=parsed,
        limits=bounds,
        chunk_size=parsed.get(keys.OBJECT_SIZE, layout.MAX_OBJECT_SIZE),
        strict_cache_mode=report.get(CACHE_MODE_ENFORCEMENT) == STRICT,
        # Those that this release knows.
        ceph_features=(
            frozenset(names.split(',')) & features.CHOOSABLE
            if names is not None
            else None
        ),
        ceph_striping=striping_in(report),
        data_pools=None if pools is None else tuple(map(str, pools)),
    )


def striping_in(values: Mapping[str, Any]) -> layout.Striping | None:
    """Return Ceph's default striping, from a report or its configuration."""
    unit = int(values.get(RBD_DEFAULT_STRIPE_UNIT) or 0)
    count = int(values.get(RBD_DEFAULT_STRIPE_COUNT) or 0)
    return layout.Striping(unit, count) if unit and count else None
