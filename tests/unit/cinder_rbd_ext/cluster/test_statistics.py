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

"""The statistics of a back end."""

from cinder_rbd_ext.cluster import statistics
from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext import base

_LOCATION = {wire.LOCATION_INFO: 'ceph:volumes'}


class StatisticsTest(base.DriverTestCase):
    def test_of_a_back_end_that_is_up(self) -> None:
        found = statistics.added(
            self.driver, {'backend_state': 'up', **_LOCATION}
        )
        self.assertIs(True, found[wire.RBD_VOLUME_OPTIONS])
        self.assertIn('layering', found[wire.RBD_DEFAULT_FEATURES])
        self.assertEqual('ceph:volumes', found[wire.LOCATION_INFO])

    def test_of_a_back_end_that_is_down(self) -> None:
        """The cluster is not queried."""
        found = statistics.added(
            self.driver, {'backend_state': 'down', **_LOCATION}
        )
        self.assertIsNone(found[wire.RBD_DEFAULT_FEATURES])
