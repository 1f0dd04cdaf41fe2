# SPDX-License-Identifier: Apache-2.0

"""The cache mode in each operation in which Nova defines a disk.

The tables list the expected modes for each operation. ``tests/cloud`` repeats
the operations that are possible with real services on one machine.
"""

from collections.abc import Callable
from typing import Any

from nova.virt.libvirt import guest

from tests.functional.nova_rbd_cache import base

Modes = dict[str, str]
#: No volume is defined: libvirt starts the existing definition, or the server
#: has no volumes in this operation.
NOTHING: Modes = {}


class OneHostTest(base.NovaTestCase):
    """Operations on one host; a server has volumes with five modes."""

    def setUp(self) -> None:
        super().setUp()
        self.start_compute()
        self.server: Any = None

    def ways(self) -> list[tuple[str, Callable[[], Any], Modes]]:
        """Return the name, the call and the modes of each operation."""
        every = base.EXPECTED
        return [
            ('attach, running', self._attach_all, every),
            ('soft reboot', self._soft_reboot, NOTHING),
            ('hard reboot', self._hard_reboot, every),
            ('stop', lambda: self._stop_server(self.server), NOTHING),
            ('detach and attach, stopped', self._attach_anew, every),
            ('start', lambda: self._start_server(self.server), every),
            ('resize', self._resize, every),
            ('confirm', self._confirm, NOTHING),
            ('rescue', lambda: self._rescue_server(self.server), NOTHING),
            # libvirt uses its XML from before the rescue.
            ('unrescue', lambda: self._unrescue_server(self.server), NOTHING),
            ('shelve', lambda: self._shelve_server(self.server), NOTHING),
            ('unshelve', lambda: self._unshelve_server(self.server), every),
            ('rebuild', self._rebuild, every),
            ('nova-compute restarted, hard reboot', self._restart, every),
        ]

    def test_each_way(self) -> None:
        self.server = self._create_server(networks='none')
        self.told.take()
        expected, seen = {}, {}
        for name, go, modes in self.ways():
            go()
            expected[name], seen[name] = modes, self.told.take()
        self.assertEqual(expected, seen)

    def _attach_all(self) -> None:
        for volume in base.ASKED:
            self.attach(self.server, volume)

    def _attach_anew(self) -> None:
        for volume in base.ASKED:
            self.api.delete_server_volume(self.server['id'], volume)
            self._wait_for_volume_detach(self.server['id'], volume)
        self._attach_all()

    def _soft_reboot(self) -> None:
        self._reboot_server(self.server)

    def _hard_reboot(self) -> None:
        self._reboot_server(self.server, hard=True)

    def _resize(self) -> None:
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.server, self.api.get_flavors()[1]['id'])

    def _confirm(self) -> None:
        self._confirm_resize(self.server)

    def _rebuild(self) -> None:
        image = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
        self._rebuild_server(self.server, image)

    def _restart(self) -> None:
        self.restart_compute_service('compute1')
        self._hard_reboot()


class BootFromVolumeTest(base.NovaTestCase):
    """Servers whose root disk is a volume."""

    def setUp(self) -> None:
        super().setUp()
        self.start_compute()

    def test_each_mode(self) -> None:
        for volume, mode in base.EXPECTED.items():
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
            self._wait_for_state_change(made, 'ACTIVE')
            self.assertEqual({volume: mode}, self.told.take())
            self._reboot_server(made, hard=True)
            self.assertEqual({volume: mode}, self.told.take())


class SwapTest(base.NovaTestCase):
    def test_new_volume_has_its_own_mode(self) -> None:
        """Cinder requests a swap when it migrates a volume in use."""
        old, new = self.cinder.SWAP_OLD_VOL, self.cinder.SWAP_NEW_VOL
        self.set_modes({old: 'writeback', new: 'directsync'})
        self.start_compute()
        server = self._create_server(networks='none')
        self.attach(server, old)
        self.assertEqual({old: 'writeback'}, self.told.take())
        # The fake copies nothing.
        self.patch(guest.BlockDevice, 'is_job_complete', lambda this: True)
        self.api.put_server_volume(server['id'], old, new)
        self._wait_for_volume_attach(server['id'], new)
        self.assertEqual({new: 'directsync'}, self.told.take())
        self._reboot_server(server, hard=True)
        self.assertEqual({new: 'directsync'}, self.told.take())


class TwoHostsTest(base.MigrationTestCase):
    """Operations that move a server to another host."""

    def setUp(self) -> None:
        super().setUp()
        for host in ('one', 'two', 'three'):
            self.start_compute(host)
        self.server: Any = None

    def ways(self) -> list[tuple[str, Callable[[], Any]]]:
        """Return the operations, each of which keeps all modes."""
        return [
            ('cold migration', lambda: self._cold('two')),
            ('cold migration, reverted', self._revert),
            ('live migration', lambda: self.migrate_live('two', 'one')),
            ('live migration back', lambda: self.migrate_live('one', 'two')),
            ('evacuation', lambda: self._evacuate('two', 'three')),
        ]

    def test_each_way(self) -> None:
        self.server = self.make_server(host='one')
        self.told.take()
        seen = {}
        for name, go in self.ways():
            go()
            seen[name] = self.told.take()
        self.assertEqual(dict.fromkeys(seen, base.EXPECTED), seen)

    def _cold(self, host: str) -> None:
        self._migrate_server(self.server, host=host)
        self._confirm_resize(self.server)

    def _revert(self) -> None:
        self._migrate_server(self.server, host='one')
        self.told.take()
        self._revert_resize(self.server)

    def _evacuate(self, source: str, target: str) -> None:
        self.computes[source].stop()
        services = self.api.get_services(binary='nova-compute', host=source)
        self.api.put_service(services[0]['id'], {'forced_down': True})
        self._evacuate_server(
            self.server, {'host': target}, expected_host=target
        )
        self._start_server(self.server)
