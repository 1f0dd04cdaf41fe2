# SPDX-License-Identifier: Apache-2.0

"""Test the removal of a mode in use from ``allowed_modes``."""

from typing import Any

from nova.tests.functional.api import client
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_HAS = uuids.volume_writeback
_WANTS = uuids.volume_directsync


class DisallowedModeTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.start_compute()
        self.server: Any = self._create_server(networks='none')
        self.attach(self.server, _HAS)
        self.flags(allowed_modes='none', group='rbd_cache')
        self.restart_compute_service('compute1')
        self.told.take()

    def check_kept(self) -> None:
        """Check that the guest runs with its previous mode."""
        self.assertEqual({_HAS: 'writeback'}, self.told.take())
        shown = self.api.get_server(self.server['id'])
        self.assertEqual('ACTIVE', shown['status'])

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

    def test_mode_that_the_guest_never_had(self) -> None:
        """The record of the attachment was changed in the meantime."""
        self.told.targets = {
            target: (serial, 'none')
            for target, (serial, _) in self.told.targets.items()
        }
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
