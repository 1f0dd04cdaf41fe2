# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Ways in which Nova makes a server's guest again: the mode stays.

Those that are quick to go are in ``test_cache_modes.py``, those from host to
host in ``test_servers.py``; all of them, without a real libvirt, in
``tests/functional/nova_rbd_cache``.
"""

from collections.abc import Callable

from tests.cloud import servers


class WaysTest(servers.ServerTestCase):
    """One server goes all ways, one after the other."""

    def setUp(self) -> None:
        super().setUp()
        # Nova resizes from one to the other.
        self.need_two_hosts()
        asked = {'rbd:cache_mode': 'writeback'}
        self.volume = self.created(metadata=asked)
        self.machine = self.boot()
        self.attach(self.machine, self.volume)

    def acted(self, *actions: tuple[str, object], until: str) -> None:
        """Do something to the server; wait until it has a status."""
        for name, value in actions:
            self.server_action(self.machine, **{name: value})
        self.wait_for_server(self.machine, until)

    def ways(self) -> dict[str, Callable[[], None]]:
        """Return the ways; the guest that has the volume runs after each."""
        resize = ('resize', {'flavorRef': self.flavor('small')})
        soft = ('reboot', {'type': 'SOFT'})
        return {
            'soft reboot': lambda: self.acted(soft, until='ACTIVE'),
            'resize': lambda: self.acted(resize, until='VERIFY_RESIZE'),
            'revert': lambda: self.acted(
                ('revertResize', None), until='ACTIVE'
            ),
            'resize again': lambda: self.acted(resize, until='VERIFY_RESIZE'),
            'confirm': lambda: self.acted(
                ('confirmResize', None), until='ACTIVE'
            ),
            'shelve and unshelve': self.shelve,
            'rescue and unrescue': self.rescue,
            'retype': self.retype,
        }

    def test_each_way(self) -> None:
        seen = {}
        ways = self.ways()
        for name, go in ways.items():
            go()
            seen[name] = self.cache_mode(self.machine, self.volume)
        self.assertEqual(dict.fromkeys(ways, 'writeback'), seen)

    def shelve(self) -> None:
        """Shelve the server, which leaves its host, and have it back."""
        self.acted(('shelve', None), until='SHELVED_OFFLOADED')
        self.acted(('unshelve', None), until='ACTIVE')

    def rescue(self) -> None:
        """Rescue the server, without the volume, and unrescue it."""
        self.acted(('rescue', None), until='RESCUE')
        self.acted(('unrescue', None), until='ACTIVE')

    def retype(self) -> None:
        """Have Cinder move the volume, for which Nova swaps it."""
        body = {'new_type': 'rbd2', 'migration_policy': 'on-demand'}
        self.action(self.volume, self.operator, **{'os-retype': body})

        def done() -> bool:
            shown = self.show(self.volume)
            return (shown['volume_type'], shown['status']) == (
                'rbd2',
                'in-use',
            )

        self.until(done, 240)


class OtherModeTest(servers.ServerTestCase):
    """A volume in use goes to a type, on another back end, of another mode."""

    def test_after_the_next_start_it_has_that_mode(self) -> None:
        first = self.make_type(rbd_cache_mode='writeback')
        second = self.make_type(
            rbd_cache_mode='writethrough', volume_backend_name='rbd2'
        )
        machine = self.boot()
        volume = self.created(volume_type=first)
        self.attach(machine, volume)
        self.assertEqual('writeback', self.cache_mode(machine, volume))
        body = {'new_type': second, 'migration_policy': 'on-demand'}
        self.action(volume, self.operator, **{'os-retype': body})
        self.until(
            lambda: self.show(volume)['volume_type'] == second,
            240,
        )
        self.wait_for(volume, 'in-use')
        # libvirt copies the disk under the guest that goes on as it was.
        self.assertEqual('writeback', self.cache_mode(machine, volume))
        self.hard_reboot(machine)
        self.assertEqual('writethrough', self.cache_mode(machine, volume))
