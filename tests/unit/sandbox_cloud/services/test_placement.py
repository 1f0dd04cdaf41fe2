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

from tests.unit.sandbox_cloud.services import base


class PlacementTestCase(base.ServiceTestCase):
    def test_configuration_names_its_database(self) -> None:
        service = self.cloud.services['placement']
        service.render()
        conf = self.read(service.etc / 'placement.conf')
        self.assertIn(
            '@127.0.0.1:3306/placement?',
            conf['placement_database']['connection'],
        )
        self.assertEqual('placement', conf['keystone_authtoken']['username'])

    def test_its_program_finds_it(self) -> None:
        service = self.cloud.services['placement']
        (api,) = service.programs()
        folder = api.environ['OS_PLACEMENT_CONFIG_DIR']
        self.assertEqual(str(service.etc), folder)
