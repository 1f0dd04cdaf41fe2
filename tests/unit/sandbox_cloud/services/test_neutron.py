# SPDX-License-Identifier: Apache-2.0

from tests.unit.sandbox_cloud.services import base


class NeutronTestCase(base.ServiceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = self.cloud.services['neutron']
        self.service.render()

    def test_an_api_alone(self) -> None:
        conf = self.read(self.service.etc / 'neutron.conf')
        self.assertEqual('0', conf['DEFAULT']['rpc_workers'])
        # Neutron would call Nova, whose address is not configured.
        for name in ('status', 'data'):
            value = conf['DEFAULT'][f'notify_nova_on_port_{name}_changes']
            self.assertEqual('false', value)

    def test_a_driver_that_reads_the_database_at_start(self) -> None:
        conf = self.read(self.service.etc / 'neutron.conf')
        self.assertIn('vlan', conf['ml2']['type_drivers'].split(','))
        self.assertEqual('local', conf['ml2']['tenant_network_types'])

    def test_its_program_finds_it(self) -> None:
        (api,) = self.service.programs()
        self.assertTrue(
            (
                self.service.etc / api.environ['OS_NEUTRON_CONFIG_FILES']
            ).exists()
        )
