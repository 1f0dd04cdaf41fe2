# SPDX-License-Identifier: Apache-2.0

"""The filter in Nova's scheduler, with Placement and Nova's databases.

Cinder's responses are faked; ``tests/cloud`` uses a real Cinder.
"""

import contextlib
import types
from typing import Any

from nova.tests.functional.api import client
from nova.volume import cinder
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_NAME = 'RBDCacheModeFilter'
_VOLUME = uuids.volume_writeback
_REASON = f'volume {_VOLUME} requests cache mode writeback'


class FilterTestCase(base.NovaTestCase):
    """A server with a volume, on a host that allows its cache mode."""

    ADDITIONAL_FILTERS = [_NAME]

    def setUp(self) -> None:
        self.flags(
            available_filters=[
                'nova.scheduler.filters.all_filters',
                f'nova_rbd_cache.scheduler_filter.{_NAME}',
            ],
            group='filter_scheduler',
        )
        super().setUp()
        answering = types.SimpleNamespace(get=self.answer)
        self.patch(
            cinder,
            'cinderclient',
            lambda _context: types.SimpleNamespace(client=answering),
        )
        self.start_compute('one')
        self.server: Any = self._create_server(networks='none')
        self.attach(self.server, _VOLUME)

    def answer(self, url: str, timeout: int) -> Any:
        """Respond as Cinder with the cache mode that the volume requests."""
        mode = base.ASKED[url.split('/')[2]]
        modes = None if mode is None else [mode]
        required = {'required_cache_modes': modes, 'reason': 'because'}
        return None, {'next_attachment': required}

    def start_without_mode(self, host: str) -> None:
        """Start a compute host that does not allow the mode."""
        self.flags(allowed_modes='none', group='rbd_cache')
        self.start_compute(host)

    def host(self) -> Any:
        """Return the host of the server."""
        return self.api.get_server(self.server['id'])['OS-EXT-SRV-ATTR:host']


class NoHostTest(FilterTestCase):
    """No host allows the cache mode any longer."""

    def setUp(self) -> None:
        super().setUp()
        self.start_without_mode('two')
        self.restart_compute_service('one')
        self.told.take()

    def act(self, **action: Any) -> None:
        """Send an action to the server."""
        # Outside of its tests Nova responds before scheduling.
        with contextlib.suppress(client.OpenStackApiException):
            self.api.post_server_action(self.server['id'], action)

    def state(self) -> tuple[Any, ...]:
        """Return the state that a refusal does not change."""
        shown = self.api.get_server(self.server['id'])
        attachments = self.cinder.volume_to_attachment[_VOLUME]
        return (
            shown['status'],
            shown['OS-EXT-STS:task_state'],
            shown['OS-EXT-SRV-ATTR:host'],
            shown['flavor'],
            list(attachments),
        )

    def check_unchanged(self, **action: Any) -> None:
        """Check that the server is unchanged and the log has a reason."""
        before, logged = self.state(), len(self.stdlog.logger.output)
        self.act(**action)
        self.assertEqual(before, self.state(), str(action))
        self.assertEqual({}, self.told.take())
        log = self.stdlog.logger.output[logged:]
        self.assertIn(f'No host for server {self.server["id"]}: ', log)
        self.assertIn(_REASON, log, str(action))

    def test_moves_and_boots(self) -> None:
        self.check_moves()
        self.check_boot()
        self.check_evacuation()

    def check_moves(self) -> None:
        """Check that the server cannot be moved, and is unchanged."""
        flavor = self.api.get_flavors()[1]['id']
        live = {'host': None, 'block_migration': 'auto'}
        self.check_unchanged(migrate=None)
        self.check_unchanged(migrate={'host': 'two'})
        self.check_unchanged(resize={'flavorRef': flavor})
        self.check_unchanged(**{'os-migrateLive': live})
        self.check_unchanged(**{'os-migrateLive': {**live, 'host': 'two'}})

    def check_evacuation(self) -> None:
        """Check that no host is found after the server's host failed."""
        self.computes['one'].stop()
        (service,) = self.api.get_services(binary='nova-compute', host='one')
        self.api.put_service(service['id'], {'forced_down': True})
        before = self.state()
        self.act(evacuate={})
        self.assertEqual(('ERROR', *before[1:]), self.state())
        fault = self.api.get_server(self.server['id'])['fault']
        self.assertIn(_REASON, fault['message'])

    def check_boot(self) -> None:
        """Check that servers boot from volumes whose mode a host allows."""
        root = uuids.volume_directsync
        made = self.boot(root)
        shown = self._wait_for_state_change(made, 'ERROR')
        self.assertIn(
            f'volume {root} requests cache mode directsync',
            shown['fault']['message'],
        )
        made = self.boot(uuids.volume_none)
        self._wait_for_state_change(made, 'ACTIVE')

    def boot(self, volume: str) -> Any:
        """Create a server that boots from a volume."""
        server = self._build_server(networks='none', image_uuid='')
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'uuid': volume,
                'source_type': 'volume',
                'destination_type': 'volume',
            }
        ]
        return self.api.post_server({'server': server})

    def test_on_the_same_host(self) -> None:
        """A server that stays on its host keeps its modes."""
        image = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
        self._rebuild_server(self.server, image)
        self.assertEqual({_VOLUME: 'writeback'}, self.told.take())
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.server, self.api.get_flavors()[1]['id'])
        self.assertEqual('one', self.host())
        self.assertEqual({_VOLUME: 'writeback'}, self.told.take())
        # A server that has left its host does not return to it.
        self._confirm_resize(self.server)
        self._shelve_server(self.server)
        self.act(unshelve=None)
        self.assertEqual(('SHELVED_OFFLOADED', None, None), self.state()[:3])
