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

"""What a back end reports to the scheduler, and what others read of it.

The API reads the report to know what a back end offers: it runs where
cinder.conf need not have the back end's section.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import backend_settings
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


def reported(
    settings: backend_settings.BackendSettings,
    ceph_features: features.Features | None = None,
    ceph_striping: layout.Striping | None = None,
) -> dict[str, Any]:
    """Return what the backend reports to the scheduler about itself.

    :param ceph_features: what Ceph's configuration gives a new image; None
        where the cluster couldn't be asked
    :param ceph_striping: the same

    ``rbd_volume_options`` is what an operator matches in extra specs
    (``capabilities:rbd_volume_options='<is> True'``); the rest tells clients
    what a type on this backend offers. Plain values only: the scheduler's
    filters read them and RPC carries them.
    """
    given, bounds = settings.options, settings.limits
    striping = given.striping
    report = {
        wire.RBD_VOLUME_OPTIONS: True,
        wire.RBD_ALLOWED_CACHE_MODES: [m.value for m in bounds.cache_modes],
        wire.RBD_TENANT_OPTIONS: sorted(bounds.tenant_options),
        wire.RBD_MAX_STRIPE_COUNT: bounds.max_stripe_count,
        wire.RBD_REQUIRE_WHOLE_STRIPES: bounds.require_whole_stripes,
        wire.RBD_MIN_OBJECT_SIZE: bounds.min_object_size,
        wire.RBD_MAX_OBJECTS: bounds.max_objects,
        wire.RBD_CACHE_MODE_ENFORCEMENT: (
            wire.STRICT if settings.strict_cache_mode else wire.LENIENT
        ),
        wire.RBD_VOLUME_OBJECT_SIZE: given.object_size or settings.chunk_size,
        wire.RBD_VOLUME_STRIPE_UNIT: striping.unit if striping else None,
        wire.RBD_VOLUME_STRIPE_COUNT: striping.count if striping else None,
        wire.RBD_VOLUME_OBJECT_MAP: given.object_map,
        wire.RBD_VOLUME_CACHE_MODE: (
            given.cache_mode.value if given.cache_mode else None
        ),
        wire.RBD_VOLUME_DATA_POOL: given.data_pool,
        wire.RBD_VOLUME_FEATURES: None,
        wire.RBD_DEFAULT_FEATURES: None,
        wire.RBD_DEFAULT_STRIPE_UNIT: None,
        wire.RBD_DEFAULT_STRIPE_COUNT: None,
    }
    if ceph_striping is not None:
        report[wire.RBD_DEFAULT_STRIPE_UNIT] = ceph_striping.unit
        report[wire.RBD_DEFAULT_STRIPE_COUNT] = ceph_striping.count
    if ceph_features is not None:
        report[wire.RBD_DEFAULT_FEATURES] = features.joined(ceph_features)
    if given.image_features is not None:
        report[wire.RBD_VOLUME_FEATURES] = features.joined(
            given.image_features
        )
    return report


def is_ours(report: Mapping[str, Any]) -> bool:
    """Return whether a back end has our driver, by what it reports."""
    return report.get(wire.RBD_VOLUME_OPTIONS) is True


def settings_of(
    report: Mapping[str, Any],
) -> backend_settings.BackendSettings | None:
    """Return the settings that a backend reports; None for one not of ours.

    The object size comes back as the backend's own choice even where it is
    the stock driver's.
    """
    if not is_ours(report):
        return None
    given = {
        key: str(value)
        for key in keys.VOLUME_KEYS
        if (value := report.get(keys.KEYS[key].capability)) is not None
    }
    default = limits.Limits()
    try:
        parsed = options.parse(given, keys.Scope.VOLUME, errors.Origin.BACKEND)
        bounds = limits.Limits(
            max_stripe_count=report.get(
                wire.RBD_MAX_STRIPE_COUNT, default.max_stripe_count
            ),
            require_whole_stripes=report.get(
                wire.RBD_REQUIRE_WHOLE_STRIPES, default.require_whole_stripes
            ),
            min_object_size=report.get(
                wire.RBD_MIN_OBJECT_SIZE, default.min_object_size
            ),
            max_objects=report.get(wire.RBD_MAX_OBJECTS, default.max_objects),
            cache_modes=tuple(
                map(
                    cache_modes.parse_cache_mode,
                    report.get(wire.RBD_ALLOWED_CACHE_MODES, ()),
                )
            ),
            tenant_options=frozenset(report.get(wire.RBD_TENANT_OPTIONS, ())),
        )
    except errors.OptionError as error:
        # From a release of ours that knows more, in the middle of an upgrade.
        LOG.warning('A back end reports what is not understood: %s', error)
        return None
    return backend_settings.BackendSettings(
        options=dataclasses.replace(
            parsed, data_pool=report.get(wire.RBD_VOLUME_DATA_POOL)
        ),
        limits=bounds,
        chunk_size=parsed.object_size or layout.MAX_OBJECT_SIZE,
        # A driver of an earlier release reports nothing, and decides itself.
        strict_cache_mode=report.get(wire.RBD_CACHE_MODE_ENFORCEMENT)
        == wire.STRICT,
        ceph_features=_known(report.get(wire.RBD_DEFAULT_FEATURES)),
        ceph_striping=_striping(report),
    )


def _striping(report: Mapping[str, Any]) -> layout.Striping | None:
    unit = report.get(wire.RBD_DEFAULT_STRIPE_UNIT)
    count = report.get(wire.RBD_DEFAULT_STRIPE_COUNT)
    return layout.Striping(unit, count) if unit and count else None


def _known(names: str | None) -> features.Features | None:
    """Return the features of a report that this release knows."""
    if names is None:
        return None
    return frozenset(names.split(',')) & features.CHOOSABLE
