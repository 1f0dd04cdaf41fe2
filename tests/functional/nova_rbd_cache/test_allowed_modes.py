# SPDX-License-Identifier: Apache-2.0

"""Servers on hosts that do not allow the mode of their volume."""

from collections.abc import Callable
import json
from typing import Any

from nova import context
from nova import objects
from nova.tests.functional.api import client
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_HAS = uuids.volume_writeback
_WANTS = uuids.volume_directsync
_IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'


class ModeTestCase(base.MigrationTestCase):
    def check_mode(self, mode: str, volume: str = _HAS) -> None:
        """Check the mode in libvirt's XML, and the one that Nova stores."""
        self.assertEqual({volume: mode}, self.told.take())
        device = objects.BlockDeviceMapping.get_by_volume(
            context.get_admin_context(), volume
        )
        data = json.loads(device.connection_info)['data']
        self.assertEqual(mode, data['cache_mode_in_force'])
        shown = self.api.get_server(self.server['id'])
        self.assertNotEqual('ERROR', shown['status'])

    def allow(self, host: str, modes: str) -> None:
        """Change the modes that a host allows."""
        self.flags(allowed_modes=modes, group='rbd_cache')
        self.restart_compute_service(host)
        self.told.take()

    def reboot(self) -> None:
        """Create the guest again, which asks nothing of Cinder."""
        self._reboot_server(self.server, hard=True)


class RemovedModeTest(ModeTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.start_compute()
        self.server = self._create_server(networks='none')
        self.attach(self.server, _HAS)
        self.check_mode('writeback')
        self.allow('compute1', 'none')

    def ways(self) -> list[Callable[[], Any]]:
        """Return operations that create the guest again."""

        def stop_and_start() -> None:
            self._stop_server(self.server)
            self._start_server(self.server)

        return [
            self.reboot,
            stop_and_start,
            lambda: self._rebuild_server(self.server, _IMAGE),
        ]

    def test_server_runs_with_none_until_the_mode_is_allowed(self) -> None:
        self.check_traits('CUSTOM_RBD_CACHE_NONE')
        for go in self.ways():
            go()
            self.check_mode('none')
        self.allow('compute1', 'none,writeback')
        self.reboot()
        self.check_mode('writeback')

    def check_traits(self, *expected: str) -> None:
        """Check the traits that the host reports to Placement."""
        provider = self._get_provider_uuid_by_host('compute1')
        traits = self._get_provider_traits(provider)
        self.assertEqual(
            list(expected),
            [each for each in traits if each.startswith('CUSTOM_RBD')],
        )


class MovedTest(ModeTestCase):
    """Two hosts, of which the second one allows only the mode none."""

    def setUp(self) -> None:
        super().setUp()
        self.start_compute('one')
        self.server = self._create_server(networks='none', host='one')
        self.attach(self.server, _HAS)
        self.check_mode('writeback')
        self.flags(allowed_modes='none', group='rbd_cache')
        self.start_compute('two')
        # It reads the options when it loads the volume driver.
        rbd = {'driver_volume_type': 'rbd'}
        self.computes['two'].driver._get_volume_driver(rbd)

    def test_cold_migration_and_its_revert(self) -> None:
        self._migrate_server(self.server, host='two')
        self.check_mode('none')
        self._revert_resize(self.server)
        self.check_mode('writeback')

    def test_resize_and_a_migration_back(self) -> None:
        flavor = self.api.get_flavors()[1]['id']
        self._resize_server(self.server, flavor)
        self.check_mode('none')
        self._confirm_resize(self.server)
        self.reboot()
        self.check_mode('none')
        self._migrate_server(self.server, host='one')
        self.check_mode('writeback')

    def test_live_migration_there_and_back(self) -> None:
        """The source writes the XML, with the mode of the destination."""
        self.reboot()
        self.check_mode('writeback')
        for source, target, mode in (
            ('one', 'two', 'none'),
            ('two', 'one', 'writeback'),
        ):
            self.migrate_live(source, target)
            self.check_mode(mode)

    def test_evacuation_to_a_host_with_fewer_modes(self) -> None:
        self.computes['one'].stop()
        (service,) = self.api.get_services(binary='nova-compute', host='one')
        self.api.put_service(service['id'], {'forced_down': True})
        self._evacuate_server(
            self.server, {'host': 'two'}, expected_host='two'
        )
        self._start_server(self.server)
        self.check_mode('none')

    def test_unshelve_on_a_host_with_fewer_modes(self) -> None:
        self._shelve_server(self.server)
        (service,) = self.api.get_services(binary='nova-compute', host='one')
        self.api.put_service(service['id'], {'status': 'disabled'})
        self.told.take()
        self._unshelve_server(self.server)
        self.check_mode('none')

    def test_guest_in_mode_unsafe_is_not_migrated_live(self) -> None:
        self.set_modes({_WANTS: 'unsafe'})
        self.flags(live_migrate_unsafe=True, group='rbd_cache')
        self.allow('one', 'none,writeback,unsafe')
        self.attach(self.server, _WANTS)
        self.check_mode('unsafe', _WANTS)
        error = self.assertRaises(
            client.OpenStackApiException,
            self.live_migrate,
            self.server,
            'two',
        )
        self.assertIn('NoValidHost', str(error))
        shown = self.api.get_server(self.server['id'])
        self.assertEqual('ACTIVE', shown['status'])
        self.assertEqual('one', shown['OS-EXT-SRV-ATTR:host'])
