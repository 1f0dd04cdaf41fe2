# SPDX-License-Identifier: Apache-2.0

"""Settings of the plug-in: ``RBD_VOLUME_OPTIONS`` in local_settings.py."""

from typing import Any

from django.conf import settings

#: Seconds that a page waits for Cinder's response about volume types.
DISCOVERY_TIMEOUT = 'discovery_timeout'
#: Seconds for which a response is cached, per user, project and roles.
DISCOVERY_CACHE = 'discovery_cache'
#: Whether the tables of volumes have a column with the layout.
LAYOUT_COLUMN = 'layout_column'
#: File with the report that ``cinder-rbd-ext audit --output`` wrote.
AUDIT_REPORT = 'audit_report'

DEFAULTS: dict[str, Any] = {
    DISCOVERY_TIMEOUT: 3,
    DISCOVERY_CACHE: 60,
    LAYOUT_COLUMN: False,
    AUDIT_REPORT: None,
}


def get(name: str) -> Any:
    """Return a setting, or its default if it is unset."""
    configured = getattr(settings, 'RBD_VOLUME_OPTIONS', None) or {}
    return configured.get(name, DEFAULTS[name])
