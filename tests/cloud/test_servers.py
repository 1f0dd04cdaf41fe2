#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The sandbox's servers: they boot, use volumes and move between hosts."""

import subprocess

from sandbox_cloud import guest
from tests.cloud import servers

MIB = 2**20


class ServerTest(servers.ServerTestCase):
    def test_volume_of_a_running_server(self) -> None:
        server = self.boot()
        volume = self.created()
        self.attach(server, volume)
        self.assertEqual('none', self.cache_mode(server, volume))
        seen = self.seen_by_guest(server, volume)
        self.assertEqual(str(2**30), seen['size'])
        word = self.check_guest_writes(server, volume)
        self.detach(server, volume)
        # Not in the guest's own memory alone.
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{volume}', '-'],
            capture_output=True,
            check=True,
        )
        self.assertEqual(f'{word}\n'.encode(), done.stdout[MIB : MIB + 33])

    def test_boot_from_a_volume(self) -> None:
        volume = self.created(imageRef=self.image())
        server = self.boot(volume)
        seen = self.seen_by_guest(server, volume)
        self.assertEqual('vda', seen['disk'])


class MigrationTest(servers.ServerTestCase):
    """Between two compute hosts on one machine."""

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        self.machine = self.boot()
        self.volume = self.created()
        self.attach(self.machine, self.volume)
        # And one with a key of ours.
        asked = {'rbd:cache_mode': 'writeback'}
        self.cached = self.created(metadata=asked)
        self.attach(self.machine, self.cached)
        self.word = self.check_guest_writes(self.machine, self.volume)
        self.host = self.server(self.machine)['OS-EXT-SRV-ATTR:host']

    def check_moved(self) -> None:
        """Check that the guest runs elsewhere and reads what it wrote."""
        host = self.server(self.machine)['OS-EXT-SRV-ATTR:host']
        self.assertNotEqual(self.host, host)
        self.assertEqual('none', self.cache_mode(self.machine, self.volume))
        mode = self.cache_mode(self.machine, self.cached)
        self.assertEqual('writeback', mode)
        said = self.ask_guest(self.machine, self.volume, 'read 4')
        expected = guest.checksum(self.word, 4)
        self.assertEqual(f'read 4 MiB md5={expected}', said)

    def test_live(self) -> None:
        self.server_action(
            self.machine,
            **{'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
        )
        self.wait_for_server(self.machine)
        self.check_moved()

    def test_cold(self) -> None:
        self.server_action(self.machine, migrate={'host': None})
        self.wait_for_server(self.machine, 'VERIFY_RESIZE')
        self.server_action(self.machine, confirmResize=None)
        self.wait_for_server(self.machine)
        self.check_moved()

    def test_evacuated(self) -> None:
        with self.down(self.host):
            self.server_action(self.machine, evacuate={})
            self.wait_for_server(self.machine, 'SHUTOFF')
            self.server_action(self.machine, **{'os-start': None})
            self.wait_for_server(self.machine)
            self.check_moved()
