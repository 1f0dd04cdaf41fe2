# SPDX-License-Identifier: Apache-2.0

import functools
from typing import cast
from unittest import mock

import fixtures

from sandbox_cloud import errors
from sandbox_cloud import services
from sandbox_cloud.services import nova
from tests.unit.sandbox_cloud.services import base

_DAEMONS = ('nova-conductor', 'nova-scheduler', 'nova-compute', 'nova-api')


class NovaTestCase(base.ServiceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = cast(nova.Nova, self.cloud.services['nova'])
        self.service.render()
        (host,) = self.service._libvirt.hosts
        self.compute_conf = self.service.compute_conf(host)
        self.conf = self.read(self.service.conf)
        self.compute = self.read(self.compute_conf)

    def test_a_compute_host_knows_no_database(self) -> None:
        databases = {'database', 'api_database'}
        self.assertLessEqual(databases, set(self.conf.sections()))
        self.assertEqual(set(), databases & set(self.compute.sections()))
        self.assertNotIn('3306', self.compute_conf.read_text())

    def test_guests_log_in_to_ceph_with_the_key_that_cinder_names(
        self,
    ) -> None:
        cinder = self.cloud.services['cinder']
        cinder.render()
        backend = self.read(cinder.etc / 'cinder.conf')['rbd']
        libvirt = self.compute['libvirt']
        for name in ('rbd_secret_uuid', 'rbd_user'):
            self.assertEqual(backend[name], libvirt[name])
        self.assertEqual('vms', libvirt['images_rbd_pool'])

    def test_cinder_knows_nova(self) -> None:
        cinder = self.cloud.services['cinder']
        cinder.render()
        section = self.read(cinder.etc / 'cinder.conf')['nova']
        self.assertEqual('password', section['auth_type'])

    def test_helpers_start_without_sudo(self) -> None:
        sections = (
            *('nova_sys_admin', 'privsep_osbrick'),
            *('vif_plug_ovs_privileged', 'os_vif_privileged'),
        )
        for name in sections:
            command = self.compute[name]['helper_command']
            self.assertIn('/bin/privsep-helper --config-file ', command)
            self.assertIn(str(self.compute_conf), command)

    def test_a_new_host_is_looked_for_at_once(self) -> None:
        for conf in (self.conf, self.compute):
            self.assertEqual('0', conf['DEFAULT']['periodic_fuzzy_delay'])

    def _restarted(self, release: str) -> list[str]:
        # The time of the last report: before the restart, at first the same,
        # then a new one.
        self.reports = ['10:00', '10:00', '10:10']
        self.cloud.runtime.release = release
        supervisor = mock.create_autospec(self.cloud.runtime.supervisor)
        replaced = functools.partial(mock.patch.object, autospec=True)
        with (
            mock.patch.object(self.cloud.runtime, 'supervisor', supervisor),
            replaced(nova.Nova, '_make_flavors'),
            replaced(nova.Nova, '_upload'),
            replaced(nova.Nova, '_known', return_value={'sandbox'}),
            replaced(nova.Nova, '_reported', side_effect=self.reports),
        ):
            self.service.introduce()
        return [f'{call[0]} {call.args[0]}' for call in supervisor.mock_calls]

    def test_a_host_that_hears_no_events_is_started_again_once(self) -> None:
        self.assertEqual(
            ['stop nova-compute', 'start nova-compute'],
            self._restarted('2025.2')[:2],
        )
        self.assertEqual([], self._restarted('2025.2'))

    def test_a_host_that_hears_events_goes_on(self) -> None:
        self.assertEqual([], self._restarted('2026.1'))

    def test_what_it_does_not_do_is_told(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch('sandbox_cloud.contract._PATIENCE', 0.0)
        )
        runtime = self.cloud.runtime
        supervisor = mock.create_autospec(runtime.supervisor)
        with mock.patch.object(runtime, 'supervisor', supervisor):
            for what in ('answer /', 'know its compute hosts'):
                error = self.assertRaises(
                    errors.SandboxError,
                    *(self.service._wait, what, lambda: False),
                )
                self.assertIn(f'nova does not {what} after', str(error))

    def test_services_that_load_the_plug_in_are_marked(self) -> None:
        programs = {each.name: each for each in self.service.programs()}
        self.assertEqual(set(_DAEMONS), set(programs))
        # nova-compute loads the plug-in; a restart loads a new version.
        loading = [name for name in programs if programs[name].loads_suite]
        self.assertEqual(['nova-compute'], loading)
        folder = programs['nova-api'].environ['OS_NOVA_CONFIG_DIR']
        self.assertEqual(str(self.service.etc), folder)
        self.assertTrue((self.service.etc / 'api-paste.ini').exists())


class TwoHostsTestCase(base.ServiceTestCase):
    """Two compute hosts that share the instances folder for migrations."""

    def setUp(self) -> None:
        super().setUp()
        self.state.computes = 2
        service = cast(nova.Nova, self.cloud.services['nova'])
        service.render()
        self.names = [each.name for each in service.programs()]
        self.first, self.second = (
            self.read(service.compute_conf(host))
            for host in service._libvirt.hosts
        )

    def test_a_program_each(self) -> None:
        self.assertIn('nova-compute', self.names)
        self.assertIn('nova-compute2', self.names)

    def test_what_differs(self) -> None:
        for section, name in (
            ('DEFAULT', 'host'),
            ('DEFAULT', 'state_path'),
            ('libvirt', 'connection_uri'),
        ):
            first = self.first[section][name]
            self.assertNotEqual(first, self.second[section][name])

    def test_what_is_shared(self) -> None:
        for name in ('instances_path', 'my_ip'):
            first = self.first['DEFAULT'][name]
            self.assertEqual(first, self.second['DEFAULT'][name])

    def test_each_finds_the_other_by_its_address(self) -> None:
        where = self.first['libvirt']['live_migration_uri']
        self.assertEqual(
            self.second['libvirt']['connection_uri'],
            where % self.second['libvirt']['live_migration_inbound_addr'],
        )


class AllTestCase(base.ServiceTestCase):
    def test_no_port_is_taken_twice(self) -> None:
        ports = [port for each in services.ALL for port in each.ports]
        self.assertEqual(len(ports), len(set(ports)))

    def test_the_catalog_names_the_ports(self) -> None:
        for each in self.cloud.services.values():
            for entry in each.catalog:
                self.assertIn(f'127.0.0.1:{each.ports[0]}', entry.url)
