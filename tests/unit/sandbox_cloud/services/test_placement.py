# SPDX-License-Identifier: Apache-2.0

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
