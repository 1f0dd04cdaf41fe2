# SPDX-License-Identifier: Apache-2.0

"""Cache modes of attachments to servers."""

from typing import Any

from tempest import config
from tempest.common import compute
from tempest.common import waiters
from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import test_utils

from rbd_tempest_plugin.tests import base
from rbd_volume_options import keys

CONF = config.CONF


class CacheModeTest(base.RBDVolumeTest):
    """Attachments have the requested mode of their volume."""

    create_default_network = True

    #: The server to which volumes are attached. All tests share it, because
    #: its boot takes longest.
    server: str

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if compute hosts do not support cache modes."""
        super().skip_checks()
        if not CONF.service_available.nova:
            raise cls.skipException('Nova is not available')
        if not CONF.rbd_volume_options_feature_enabled.cache_mode:
            raise cls.skipException('cache modes are disabled')

    @classmethod
    def resource_setup(cls) -> None:
        """Boot the server."""
        super().resource_setup()
        made, _ = compute.create_test_server(
            cls.os_primary,
            tenant_network=cls.get_tenant_network(),
            wait_until='ACTIVE',
        )
        cls.server = made['id']
        # The step that is added last runs first.
        for step in (
            lambda: waiters.wait_for_server_termination(
                cls.servers_client, cls.server
            ),
            lambda: cls.servers_client.delete_server(cls.server),
        ):
            cls.addClassResourceCleanup(
                test_utils.call_and_ignore_notfound_exc, step
            )

    def _modes(self, volume: str) -> list[Any]:
        """Return the cache modes of the attachments of a volume."""
        return list(self.attributes(volume)['cache_modes'].values())

    def _attach(self, volume: str) -> None:
        """Attach a volume to the server, until the test ends."""
        self.servers_client.attach_volume(self.server, volumeId=volume)
        self.addCleanup(self._detach, volume)
        waiters.wait_for_volume_resource_status(
            self.volumes_client, volume, 'in-use'
        )

    def _detach(self, volume: str) -> None:
        try:
            self.servers_client.detach_volume(self.server, volume)
        except exceptions.NotFound:
            return
        waiters.wait_for_volume_resource_status(
            self.volumes_client, volume, 'available'
        )

    @decorators.idempotent_id('2ebe1f3d-ed38-445e-9b3f-87d04841be8d')
    def test_each_mode(self) -> None:
        """Each volume of a server has its requested mode."""
        for mode in CONF.rbd_volume_options.cache_modes:
            volume = self.create_asking({keys.CACHE_MODE: mode})
            self._attach(volume)
            self.assertEqual([mode], self._modes(volume))
            self._detach(volume)
            self.assertEqual([], self._modes(volume))

    @decorators.idempotent_id('04673b4d-eada-47ee-af02-20c01184bb74')
    def test_no_mode_asked_for(self) -> None:
        """The compute host chooses the mode if none is requested."""
        plain = self.make_type({})
        volume = self.create_volume(volume_type=plain)['id']
        self._attach(volume)
        self.assertEqual([None], self._modes(volume))

    @decorators.idempotent_id('a1f715c6-df35-45c6-b571-eaab8c9160d0')
    def test_mode_of_the_type(self) -> None:
        """The mode of a type applies to its volumes."""
        mode = CONF.rbd_volume_options.cache_modes[-1]
        name = self.make_type({keys.CACHE_MODE: mode})
        volume = self.create_volume(volume_type=name)['id']
        self._attach(volume)
        self.assertEqual([mode], self._modes(volume))

    @decorators.idempotent_id('66a2fd6b-9ddc-467e-9b35-1837d177b415')
    def test_change_is_for_the_next_attachment(self) -> None:
        """An attachment keeps its mode, even after a reboot."""
        if not CONF.rbd_volume_options_feature_enabled.tenant_options:
            raise self.skipException('tenants may not set all keys')
        first, second = CONF.rbd_volume_options.cache_modes[:2]
        volume = self.create_asking({keys.CACHE_MODE: first})
        self._attach(volume)
        self.volumes_client.create_volume_metadata(
            volume, {keys.CACHE_MODE: second}
        )
        self.assertEqual([first], self._modes(volume))
        self.servers_client.reboot_server(self.server, type='HARD')
        waiters.wait_for_server_status(
            self.servers_client, self.server, 'ACTIVE'
        )
        self.assertEqual([first], self._modes(volume))
        self._detach(volume)
        self._attach(volume)
        self.assertEqual([second], self._modes(volume))

    @decorators.idempotent_id('4f82957d-df18-4da9-bb72-9a2fb768eaec')
    def test_boot_from_volume(self) -> None:
        """A striped volume with a cache mode can be a server's root disk."""
        mode = CONF.rbd_volume_options.cache_modes[-1]
        volume = self.create_asking(
            {**self.asked, keys.CACHE_MODE: mode},
            imageRef=CONF.compute.image_ref,
        )
        disk = {
            'uuid': volume,
            'source_type': 'volume',
            'destination_type': 'volume',
            'boot_index': 0,
            'delete_on_termination': False,
        }
        self.create_server(image_id='', block_device_mapping_v2=[disk])
        self.assertEqual([mode], self._modes(volume))
        self.assert_striped(volume)
