# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
    LAYOUT_COLUMN: True,
    AUDIT_REPORT: None,
}


def get(name: str) -> Any:
    """Return a setting, or its default if it is unset."""
    configured = getattr(settings, 'RBD_VOLUME_OPTIONS', None) or {}
    return configured.get(name, DEFAULTS[name])
