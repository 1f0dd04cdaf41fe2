# SPDX-License-Identifier: Apache-2.0

"""State of a server after Cinder refuses an attachment.

The documentation on compute hosts has a table of these states. The tests
mock the refusal, which Nova gets when it connects a volume to a host.
"""

import contextlib
from typing import Any
from unittest import mock

from cinderclient import exceptions as cinder_exception
from nova.tests.functional.api import client
from nova.volume import cinder
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_REASON = 'RBD volume option refused: because'
_VOLUMES = list(base.ASKED)
_NEW = uuids.volume_new


class RefusedTest(base.NovaTestCase):
    """Tests with two hosts, of which Cinder refuses one or both."""

    def setUp(self) -> None:
        super().setUp()
        self.set_modes({**base.ASKED, _NEW: 'writeback'})
        self.refused: set[str] = set()
        for name, position in (
            ('attachment_create', 3),
            ('attachment_update', 2),
        ):
            self._refuse(name, position)
        for host in ('one', 'two'):
            self.start_compute(host)

    def _refuse(self, name: str, position: int) -> None:
        """Refuse requests with the connector of a refused host."""
        stock = getattr(cinder.API, name)

        def request(*args: Any, **kwargs: Any) -> Any:
            connector = kwargs.get('connector')
            if connector is None and len(args) > position:
                connector = args[position]
            if connector and connector['host'] in self.refused:
                raise cinder_exception.BadRequest(400, _REASON)
            return stock(*args, **kwargs)

        self.patch(cinder.API, name, mock.Mock(side_effect=request))

    def made(self, volume: str) -> Any:
        """Create a server with a volume on the first host."""
        server = self._create_server(networks='none', host='one')
        self.attach(server, volume)
        return server

    def after(self, server: Any, **action: Any) -> tuple[Any, ...]:
        """Run an action on a server; return its state afterwards."""
        # In tests, Nova responds after the failure, with an error.
        with contextlib.suppress(client.OpenStackApiException):
            self.api.post_server_action(server['id'], action)
        return self.state(server)

    def state(self, server: Any) -> tuple[Any, ...]:
        """Return the status and host when no task is running."""
        shown = self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': None}, max_retries=60
        )
        return (
            shown['status'],
            shown['OS-EXT-SRV-ATTR:host'],
        )

    def test_each_operation(self) -> None:
        servers = [self.made(volume) for volume in _VOLUMES[:4]]
        flavor = self.api.get_flavors()[1]['id']
        live = {'host': None, 'block_migration': 'auto'}
        seen = {}
        self.refused = {'two'}
        seen['live migration'] = self.after(
            servers[0], **{'os-migrateLive': live}
        )
        seen['resize'] = self.after(servers[0], resize={'flavorRef': flavor})
        seen['cold migration'] = self.after(servers[1], migrate=None)
        self._shelve_server(servers[2])
        self.refused = {'one', 'two'}
        seen['unshelve'] = self.after(servers[2], unshelve=None)
        seen['swap'] = self.swapped(servers[3], _VOLUMES[3])
        seen['reboot'] = self.after(servers[3], reboot={'type': 'HARD'})
        seen['boot'] = self.booted(_VOLUMES[4])
        seen['evacuation'] = self.evacuated(servers[3])
        unchanged = ('ACTIVE', 'one')
        self.assertEqual(
            {
                'live migration': unchanged,
                'resize': ('ERROR', 'two'),
                'cold migration': ('ERROR', 'two'),
                'unshelve': ('SHELVED_OFFLOADED', None),
                'swap': unchanged,
                'reboot': unchanged,
                'boot': ('ERROR', None),
                'evacuation': ('ERROR', 'one'),
            },
            seen,
        )

    def test_refused_revert_leaves_server_in_error(self) -> None:
        """nova-rbd-cache recover recognizes it by the last migration."""
        server = self.made(_VOLUMES[0])
        self._migrate_server(server, host='two')
        self.refused = {'one', 'two'}
        self.assertEqual(
            ('ERROR', 'one'), self.after(server, revertResize=None)
        )
        (last,) = self.api.get_migrations()
        self.assertEqual(
            ('migration', 'error', 'two'),
            (last['migration_type'], last['status'], last['dest_compute']),
        )

    def swapped(self, server: Any, volume: str) -> tuple[Any, ...]:
        """Swap a volume for one that is refused."""
        with contextlib.suppress(client.OpenStackApiException):
            self.api.put_server_volume(server['id'], volume, _NEW)
        attached = self.api.get_server_volumes(server['id'])
        self.assertEqual([volume], [each['volumeId'] for each in attached])
        return self.state(server)

    def booted(self, volume: str) -> tuple[Any, ...]:
        """Boot from a volume whose attachment is refused."""
        server = self._build_server(networks='none', image_uuid='')
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'uuid': volume,
                'source_type': 'volume',
                'destination_type': 'volume',
            }
        ]
        made = self.api.post_server({'server': server})
        self._wait_for_state_change(made, 'ERROR')
        return self.state(made)

    def evacuated(self, server: Any) -> tuple[Any, ...]:
        """Evacuate a server to a refused host."""
        self.computes['one'].stop()
        (service,) = self.api.get_services(binary='nova-compute', host='one')
        self.api.put_service(service['id'], {'forced_down': True})
        return self.after(server, evacuate={})
