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

"""How often pages request the options of volume types from Cinder."""

from tests.unit.horizon_volume_opts import horizon_case

_ASK = 'GET /v3/p/os-rbd-volume-options'


class PagesTestCase(horizon_case.HorizonTestCase):
    def test_at_most_once_for_a_page(self) -> None:
        self.cloud.add_volume('v')
        for path, number in (
            ('/project/volumes/', 0),
            ('/project/volumes/create/', 1),
            # From the cache.
            ('/project/volumes/create/', 1),
            ('/project/volumes/v/attach/', 1),
            ('/project/volumes/v/rbd_options/', 1),
        ):
            self.assertEqual(200, self.client.get(path).status_code)
            self.assertEqual(number, self.cloud.asked.count(_ASK), path)
