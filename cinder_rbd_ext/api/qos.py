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

"""The limits that the QoS specs of volume types set on reads and writes."""

from collections.abc import Mapping
import re
from typing import Any

from cinder.volume import qos_specs

# The names that Cinder's RBD driver or Nova's libvirt driver reads. QoS specs
# can have other entries, which are not for tenants.
_LIMIT = re.compile(
    '(total|read|write)_(iops|bytes)_sec(_max)?|'
    '(total|read|write)_(iops|bytes)_sec_per_gb(_min)?'
)


class QosLimits:
    """The limits of volume types, for one request.

    :param context: of the request
    """

    def __init__(self, context: Any) -> None:
        # Only administrators may read QoS specs.
        self._context = context.elevated()
        self._found: dict[str, dict[str, Any] | None] = {}

    def of(self, volume_type: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the limits of a type; None without any.

        Types that share QoS specs cost one query.

        :param volume_type: the type as Cinder's database returns it
        """
        ident = volume_type.get('qos_specs_id')
        if ident is None:
            return None
        if ident not in self._found:
            self._found[ident] = self._read(ident)
        return self._found[ident]

    def _read(self, ident: str) -> dict[str, Any] | None:
        qos_spec = qos_specs.get_qos_specs(self._context, ident)
        limits = {
            name: value
            for name, value in sorted((qos_spec.specs or {}).items())
            if _LIMIT.fullmatch(name) and value is not None
        }
        if not limits:
            return None
        return {'consumer': str(qos_spec.consumer), 'limits': limits}
