# SPDX-License-Identifier: Apache-2.0

"""Settings of a back end without limits."""

from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import registry

ALL_KEYS = frozenset(registry.volume_keys())


def settings(
    chosen: options.Values | None = None, **bounds: Any
) -> backend_settings.BackendSettings:
    """Return the settings of a back end that lets tenants set all keys."""
    bounds.setdefault('tenant_options', ALL_KEYS)
    bounds.setdefault('min_object_size', 4096)
    bounds.setdefault('max_objects', 1 << 31)
    return backend_settings.BackendSettings(
        chosen or options.Values(), operator_limits.Limits(**bounds), 4 << 20
    )
