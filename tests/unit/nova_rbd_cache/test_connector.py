# SPDX-License-Identifier: Apache-2.0

"""The connector that Nova sends to Cinder."""

import json

from os_brick.initiator import connector as os_brick

from nova_rbd_cache import registration
from tests.unit.nova_rbd_cache import base


class ConnectorTest(base.NovaTestCase):
    def _properties(self) -> dict[str, object]:
        """Return the connector properties, with Nova's arguments."""
        connector: dict[str, object] = os_brick.get_connector_properties(
            'sudo', '192.0.2.2', False, False, host='compute-1'
        )
        return connector

    def setUp(self) -> None:
        super().setUp()
        # The results of other connectors depend on the test machine.
        ours = [registration.OUR_CONNECTOR]
        self.patch(os_brick, 'unix_connector_list', ours)

    def test_modes_are_told(self) -> None:
        self.set_options(allowed_modes='writeback,none')
        connector = self._properties()
        self.assertEqual(['none', 'writeback'], connector['rbd_cache_modes'])
        self.assertEqual('compute-1', connector['host'])
        json.dumps(connector)
