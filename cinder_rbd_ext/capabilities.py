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

LOG = logging.getLogger(__name__)

# What reported() tells as it would stand in a volume's metadata.
_REPORTED = (
    keys.OBJECT_SIZE,
    keys.STRIPE_UNIT,
    keys.STRIPE_COUNT,
    keys.OBJECT_MAP,
    keys.FEATURES,
    keys.CACHE_MODE,
)


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
        'rbd_volume_options': True,
        'rbd_allowed_cache_modes': [m.value for m in bounds.cache_modes],
        'rbd_tenant_options': sorted(bounds.tenant_options),
        'rbd_max_stripe_count': bounds.max_stripe_count,
        'rbd_require_whole_stripes': bounds.require_whole_stripes,
        'rbd_min_object_size': bounds.min_object_size,
        'rbd_max_objects': bounds.max_objects,
        'rbd_cache_mode_enforcement': (
            backend_settings.STRICT
            if settings.strict_cache_mode
            else backend_settings.LENIENT
        ),
        'rbd_volume_object_size': given.object_size or settings.chunk_size,
        'rbd_volume_stripe_unit': striping.unit if striping else None,
        'rbd_volume_stripe_count': striping.count if striping else None,
        'rbd_volume_object_map': given.object_map,
        'rbd_volume_cache_mode': (
            given.cache_mode.value if given.cache_mode else None
        ),
        'rbd_volume_data_pool': given.data_pool,
        'rbd_volume_features': None,
        'rbd_default_features': None,
        'rbd_default_stripe_unit': None,
        'rbd_default_stripe_count': None,
    }
    if ceph_striping is not None:
        report['rbd_default_stripe_unit'] = ceph_striping.unit
        report['rbd_default_stripe_count'] = ceph_striping.count
    if ceph_features is not None:
        report['rbd_default_features'] = features.joined(ceph_features)
    if given.image_features is not None:
        report['rbd_volume_features'] = features.joined(given.image_features)
    return report


def is_ours(report: Mapping[str, Any]) -> bool:
    """Return whether a back end has our driver, by what it reports."""
    return report.get('rbd_volume_options') is True


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
        for key in _REPORTED
        if (value := report.get(backend_settings.OPTION_OF_KEY[key]))
        is not None
    }
    default = limits.Limits()
    try:
        parsed = options.parse(given, keys.Scope.VOLUME, errors.Origin.BACKEND)
        bounds = limits.Limits(
            max_stripe_count=report.get(
                'rbd_max_stripe_count', default.max_stripe_count
            ),
            require_whole_stripes=report.get(
                'rbd_require_whole_stripes', default.require_whole_stripes
            ),
            min_object_size=report.get(
                'rbd_min_object_size', default.min_object_size
            ),
            max_objects=report.get('rbd_max_objects', default.max_objects),
            cache_modes=tuple(
                map(
                    cache_modes.parse_cache_mode,
                    report.get('rbd_allowed_cache_modes', ()),
                )
            ),
            tenant_options=frozenset(report.get('rbd_tenant_options', ())),
        )
    except errors.OptionError as error:
        # From a release of ours that knows more, in the middle of an upgrade.
        LOG.warning('A back end reports what is not understood: %s', error)
        return None
    return backend_settings.BackendSettings(
        options=dataclasses.replace(
            parsed, data_pool=report.get('rbd_volume_data_pool')
        ),
        limits=bounds,
        chunk_size=parsed.object_size or layout.MAX_OBJECT_SIZE,
        # A driver of an earlier release reports nothing, and decides itself.
        strict_cache_mode=report.get('rbd_cache_mode_enforcement')
        == backend_settings.STRICT,
        ceph_features=_known(report.get('rbd_default_features')),
        ceph_striping=_striping(report),
    )


def _striping(report: Mapping[str, Any]) -> layout.Striping | None:
    unit = report.get('rbd_default_stripe_unit')
    count = report.get('rbd_default_stripe_count')
    return layout.Striping(unit, count) if unit and count else None


def _known(names: str | None) -> features.Features | None:
    """Return the features of a report that this release knows."""
    if names is None:
        return None
    return frozenset(names.split(',')) & features.CHOOSABLE
