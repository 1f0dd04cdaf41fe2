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

"""The connector that Nova sends to Cinder."""

import json

from os_brick.initiator import connector as os_brick

from nova_rbd_cache import registration
from tests.unit.nova_rbd_cache import base


class ConnectorTest(base.NovaTestCase):
    def _properties(self) -> dict[str, object]:
        """Return the connector properties, with Nova's arguments."""
        found: dict[str, object] = os_brick.get_connector_properties(
            'sudo', '192.0.2.2', False, False, host='compute-1'
        )
        return found

    def setUp(self) -> None:
        super().setUp()
        # The results of other connectors depend on the test machine.
        ours = [registration.OUR_CONNECTOR]
        self.patch(os_brick, 'unix_connector_list', ours)

    def test_modes_are_told(self) -> None:
        self.set_options(allowed_modes='writeback,none')
        found = self._properties()
        self.assertEqual(['none', 'writeback'], found['rbd_cache_modes'])
        self.assertEqual('compute-1', found['host'])
        json.dumps(found)
