# SPDX-License-Identifier: Apache-2.0

"""Test servers of the sandbox that use volumes and move between hosts.

``test_cache_modes.py`` boots a server from a volume. ``test_moves.py`` has the
other operations, with hosts that allow other modes.
"""

import subprocess

from sandbox_cloud import guest
from tests.cloud import servers

MIB = 2**20


class MigrationTest(servers.ServerTestCase):
    """Moves of a server and its volumes between two compute hosts."""

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        self.machine = self.boot()
        self.volume = self.created()
        self.attach(self.machine, self.volume)
        # A second volume with a cache mode.
        metadata = {'rbd:cache_mode': 'writeback'}
        self.cached = self.created(metadata=metadata)
        self.attach(self.machine, self.cached)
        seen = self.seen_by_guest(self.machine, self.volume)
        self.assertEqual(str(2**30), seen['size'])
        self.word = self.check_guest_writes(self.machine, self.volume)
        self.host = self._host()

    def _host(self) -> str:
        return str(self.server(self.machine)['OS-EXT-SRV-ATTR:host'])

    def check_moved(self) -> None:
        """Check that the guest runs on another host and reads its data."""
        before, self.host = self.host, self._host()
        self.assertNotEqual(before, self.host)
        self.assertEqual('none', self.cache_mode(self.machine, self.volume))
        mode = self.cache_mode(self.machine, self.cached)
        self.assertEqual('writeback', mode)
        said = self.ask_guest(self.machine, self.volume, 'read 4')
        expected = guest.checksum(self.word, 4)
        self.assertEqual(f'read 4 MiB md5={expected}', said)

    def check_written(self) -> None:
        """Check that the data of the guest is stored in Ceph."""
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{self.volume}', '-'],
            capture_output=True,
            check=True,
        )
        expected = f'{self.word}\n'.encode()
        self.assertEqual(expected, done.stdout[MIB : MIB + len(expected)])

    def test_live_and_evacuated(self) -> None:
        self.server_action(
            self.machine,
            **{'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
        )
        self.wait_for_server(self.machine)
        self.check_moved()
        with self.down(self.host):
            self.server_action(self.machine, evacuate={})
            self.wait_for_server(self.machine, 'SHUTOFF')
            self.server_action(self.machine, **{'os-start': None})
            self.wait_for_server(self.machine)
            self.check_moved()
        self.detach(self.machine, self.volume)
        self.check_written()
