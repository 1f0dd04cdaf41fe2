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

"""Unit tests of cinder_rbd_ext.api.qos."""

from typing import Any
from unittest import mock

from cinder.volume import qos_specs

from cinder_rbd_ext import policies
from tests.unit.cinder_rbd_ext.api import base

_PATH = '/os-rbd-volume-options'


class QosLimitsTest(base.ApiTestCase):
    """The limits of volume types in responses of the extension."""

    def limit(self, *types: str, **specs: str) -> None:
        """Associate QoS specs with volume types."""
        specs.setdefault('consumer', 'back-end')
        made = qos_specs.create(self.admin_context, types[0], specs)
        for name in types:
            qos_specs.associate_qos_with_type(
                self.admin_context, made.id, self.types[name]
            )

    def limits(self, **how: Any) -> dict[str, Any]:
        """Return the limits in the response, by type name."""
        found = self.ok('GET', _PATH, **how)['volume_types']
        return {
            each['name']: each.get('qos_limits', 'absent') for each in found
        }

    def test_limits_of_a_type(self) -> None:
        self.limit(
            *('rbd', 'striped'),
            total_iops_sec='500',
            read_bytes_sec_max='1048576',
            write_iops_sec_per_gb_min='10',
            internal_tier='secret',
        )
        expected = {
            'consumer': 'back-end',
            'limits': {
                'read_bytes_sec_max': '1048576',
                'total_iops_sec': '500',
                'write_iops_sec_per_gb_min': '10',
            },
        }
        with mock.patch.object(
            qos_specs,
            'get_qos_specs',
            autospec=True,
            side_effect=qos_specs.get_qos_specs,
        ) as get:
            found = self.limits()
        # Both types have the same QoS specs.
        self.assertEqual(1, get.call_count)
        self.assertEqual(expected, found['rbd'])
        self.assertEqual(expected, found['striped'])
        self.assertIsNone(found['rbd2'])
        # Without RBD volume options, nothing is added to a type.
        self.assertEqual('absent', found['fake'])
        one = self.ok('GET', f'{_PATH}/rbd')['volume_type']
        self.assertEqual(expected, one['qos_limits'])

    def test_specs_without_limits(self) -> None:
        self.limit('rbd', internal_tier='secret')
        self.assertIsNone(self.limits()['rbd'])

    def test_policy_hides_limits(self) -> None:
        self.limit('rbd', total_iops_sec='500')
        self.assertNotEqual('absent', self.limits(app=self.reader)['rbd'])
        allows = policies.allows

        def refuse(context: Any, action: str, target: Any = None) -> bool:
            return action != policies.GET_QOS_LIMITS and allows(
                context, action, target
            )

        self.mock_object(policies, 'allows', refuse)
        self.assertEqual('absent', self.limits()['rbd'])
