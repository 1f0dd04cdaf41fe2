# SPDX-License-Identifier: Apache-2.0

"""The cache mode persists when Nova creates a server's guest again.

See ``test_cache_modes.py`` for the faster operations, ``test_servers.py`` for
live migration and evacuation, and ``tests/functional/nova_rbd_cache`` for all
operations without a real libvirt.
"""

from collections.abc import Callable

from sandbox_cloud import guest
from sandbox_cloud import state
from tests import runs
from tests.cloud import servers


# The functional tests of Nova run these operations without libvirt, and
# test_servers migrates and evacuates a real server.
@runs.tags(runs.NIGHTLY)
class WaysTest(servers.ServerTestCase):
    """Run all operations on one server, one after the other."""

    def setUp(self) -> None:
        super().setUp()
        # Nova resizes from one host to the other.
        self.need_two_hosts()
        first = self.make_type(rbd_cache_mode='writeback')
        self.other_type = self.make_type(
            rbd_cache_mode='writethrough', volume_backend_name='rbd2'
        )
        metadata = {'rbd:cache_mode': 'writeback'}
        self.volume = self.created(metadata=metadata)
        self.typed = self.created(volume_type=first)
        self.machine = self.boot()
        for volume in (self.volume, self.typed):
            self.attach(self.machine, volume)

    def acted(self, *actions: tuple[str, object], until: str) -> None:
        """Run actions on the server and wait for a status."""
        for name, value in actions:
            self.server_action(self.machine, **{name: value})
        self.wait_for_server(self.machine, until)

    def ways(self) -> dict[str, Callable[[], None]]:
        """Return the operations; the guest runs after each of them."""
        resize = ('resize', {'flavorRef': self.flavor('small')})
        soft = ('reboot', {'type': 'SOFT'})
        migrate = ('migrate', {'host': None})
        shelve = {'shelve and unshelve': self.shelve}
        if state.State(state.default_root()).release == '2025.1':
            # This Nova sets a location in Glance, which users may not.
            shelve = {}
        return {
            'soft reboot': lambda: self.acted(soft, until='ACTIVE'),
            'resize': lambda: self.acted(resize, until='VERIFY_RESIZE'),
            'revert': lambda: self.acted(
                ('revertResize', None), until='ACTIVE'
            ),
            'cold migration': lambda: self.acted(
                migrate, until='VERIFY_RESIZE'
            ),
            'confirm': lambda: self.acted(
                ('confirmResize', None), until='ACTIVE'
            ),
            **shelve,
            'rescue and unrescue': self.rescue,
            'read': self.read,
            'retype': lambda: self.retype(self.volume, 'rbd2'),
            # libvirt copies the disk under the guest, which keeps its mode.
            'to another mode': lambda: self.retype(
                self.typed, self.other_type
            ),
        }

    def modes(self) -> list[str | None]:
        """Return the modes of the volumes."""
        return [
            self.cache_mode(self.machine, volume)
            for volume in (self.volume, self.typed)
        ]

    def test_each_way(self) -> None:
        self.word = self.check_guest_writes(self.machine, self.volume)
        seen = {}
        ways = self.ways()
        for name, go in ways.items():
            go()
            seen[name] = self.modes()
        expected = ['writeback', 'writeback']
        self.assertEqual(dict.fromkeys(ways, expected), seen)
        self.hard_reboot(self.machine)
        self.assertEqual(['writeback', 'writethrough'], self.modes())

    def shelve(self) -> None:
        """Shelve the server, which offloads it, and unshelve it."""
        self.acted(('shelve', None), until='SHELVED_OFFLOADED')
        self.acted(('unshelve', None), until='ACTIVE')

    def rescue(self) -> None:
        """Rescue the server without the volumes and unrescue it."""
        self.acted(('rescue', None), until='RESCUE')
        self.acted(('unrescue', None), until='ACTIVE')

    def read(self) -> None:
        """Check that the guest reads the data that it wrote at first."""
        said = self.ask_guest(self.machine, self.volume, 'read 4')
        expected = guest.checksum(self.word, 4)
        self.assertEqual(f'read 4 MiB md5={expected}', said)

    def retype(self, volume: str, name: str) -> None:
        """Retype a volume with migration, for which Nova swaps it."""
        body = {'new_type': name, 'migration_policy': 'on-demand'}
        self.action(volume, self.operator, **{'os-retype': body})

        def done() -> bool:
            shown = self.show(volume)
            return (shown['volume_type'], shown['status']) == (name, 'in-use')

        self.until(done, 240)
