# SPDX-License-Identifier: Apache-2.0

"""Test the removal of a mode in use from ``allowed_modes``."""

import pathlib
import shutil
from typing import Any

import ddt
from nova import context
from nova import objects
from nova.compute import task_states
import nova.conf
from nova.tests.functional.api import client
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_HAS = uuids.volume_writeback
_WANTS = uuids.volume_directsync


@ddt.ddt
class DisallowedModeTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.start_compute()
        self.server: Any = self._create_server(networks='none')
        self.attach(self.server, _HAS)
        self.flags(allowed_modes='none', group='rbd_cache')
        self.restart_compute_service('compute1')
        self.told.take()

    def check_kept(self, status: str = 'ACTIVE') -> None:
        """Check that the guest runs with its previous mode."""
        self.assertEqual({_HAS: 'writeback'}, self.told.take())
        shown = self.api.get_server(self.server['id'])
        self.assertEqual(status, shown['status'])

    def test_server_is_not_stranded(self) -> None:
        self.check_traits()
        self._reboot_server(self.server, hard=True)
        self.check_kept()
        self._stop_server(self.server)
        self._start_server(self.server)
        self.check_kept()
        self.check_new_attachment()
        image = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
        self._rebuild_server(self.server, image)
        self.check_kept()

    def check_traits(self) -> None:
        """Check that the host no longer reports the mode to Placement."""
        provider = self._get_provider_uuid_by_host('compute1')
        traits = self._get_provider_traits(provider)
        self.assertEqual(
            ['CUSTOM_RBD_CACHE_NONE'],
            [each for each in traits if each.startswith('CUSTOM_RBD')],
        )

    def lose_guest(self, **changed: Any) -> None:
        """Stop nova-compute; libvirt loses the guest before the next start.

        :param changed: the state of the server
        """
        compute = self.computes['compute1']
        server = objects.Instance.get_by_uuid(
            context.get_admin_context(), self.server['id']
        )
        server.update(changed)
        server.save()
        guest = compute.driver._host.get_guest(server)
        guest.poweroff()
        guest.delete_configuration()
        self.told.take()
        self.restart_compute_service('compute1')

    def test_guest_that_libvirt_has_lost(self) -> None:
        self.lose_guest()
        self._reboot_server(self.server, hard=True)
        self.check_kept()

    def test_guest_that_libvirt_has_lost_in_a_resize(self) -> None:
        """Nova creates a new folder for the server."""
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.server, self.api.get_flavors()[1]['id'])
        self.check_kept('VERIFY_RESIZE')
        self._confirm_resize(self.server)
        self.test_guest_that_libvirt_has_lost()

    def test_guest_is_resumed_when_the_host_starts(self) -> None:
        self.flags(resume_guests_state_on_host_boot=True)
        self.lose_guest()
        self.check_kept()

    def test_interrupted_reboot_is_repeated(self) -> None:
        self.lose_guest(task_state=task_states.REBOOT_STARTED_HARD)
        self.check_kept()

    @ddt.data(None, task_states.REBOOT_STARTED_HARD)
    def test_nova_compute_starts_without_a_refused_server(
        self, task_state: str | None
    ) -> None:
        self.flags(resume_guests_state_on_host_boot=True)
        folder = pathlib.Path(nova.conf.CONF.instances_path)
        shutil.rmtree(folder / self.server['id'])
        self.lose_guest(task_state=task_state)
        shown = self.api.get_server(self.server['id'])
        self.assertEqual('ERROR', shown['status'])
        if task_state:
            self.assertIn('cache mode', shown['fault']['message'])
        self.assertEqual({}, self.told.take())
        self._create_server(networks='none')

    def test_mode_that_the_guest_never_had(self) -> None:
        """The record of the attachment was changed in the meantime."""
        device = objects.BlockDeviceMapping.get_by_volume(
            context.get_admin_context(), _HAS
        )
        device.connection_info = device.connection_info.replace(
            'writeback', 'directsync'
        )
        device.save()
        # In a deployment, Nova answers the request before this error.
        error = self.assertRaises(
            client.OpenStackApiException,
            self._reboot_server,
            self.server,
            hard=True,
        )
        self.assertIn('CacheModeRefused', str(error))
        self.assertEqual({}, self.told.take())

    def check_new_attachment(self) -> None:
        """Check that a new attachment is refused, and the old one kept."""
        # In a deployment, Nova answers the request before this error.
        error = self.assertRaises(
            client.OpenStackApiException,
            self.api.post_server_volume,
            self.server['id'],
            {'volumeAttachment': {'volumeId': _WANTS}},
        )
        self.assertIn('CacheModeRefused', str(error))
        self._wait_for_volume_detach(self.server['id'], _WANTS)
        self.assertEqual({}, self.told.take())
        self._reboot_server(self.server, hard=True)
        self.check_kept()


class RevertTest(base.NovaTestCase):
    def test_former_host_no_longer_allows_the_mode(self) -> None:
        """Cinder keeps the mode that the server had on the host."""
        for host in ('one', 'two'):
            self.start_compute(host)
        server = self._create_server(networks='none', host='one')
        self.attach(server, _HAS)
        self._migrate_server(server, host='two')
        self.flags(allowed_modes='none', group='rbd_cache')
        self.restart_compute_service('one')
        self.told.take()
        self._revert_resize(server)
        self.assertEqual({_HAS: 'writeback'}, self.told.take())
