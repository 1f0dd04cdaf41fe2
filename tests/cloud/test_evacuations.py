# SPDX-License-Identifier: Apache-2.0

"""Evacuation of a server with a volume of each cache mode.

``test_refused_ways.py`` has the refusals of a host that allows other modes.
"""

import subprocess

from sandbox_cloud import guest
from tests.cloud import servers
from tests.cloud import test_cache_modes

_DISABLED = '[rbd_cache]\nenabled = False\n'


class EvacuationTest(test_cache_modes.CacheModeTestCase):
    """A server with a volume of each cache mode, to which it has written."""

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        self.machine = self.boot()
        self.volumes = {
            mode: self.volume(mode) for mode in test_cache_modes.EFFECTS
        }
        self.words = {}
        for mode, volume in self.volumes.items():
            self.attach(self.machine, volume)
            word = self.check_guest_writes(self.machine, volume)
            self.words[mode] = word
        self.host = self._host()
        (self.other,) = {servers.FIRST, servers.SECOND} - {self.host}

    def _host(self) -> str:
        return str(self.server(self.machine)['OS-EXT-SRV-ATTR:host'])

    def check_kept(self) -> None:
        """Check the modes and what the guest reads, and writes again."""
        volumes = list(self.volumes.values())
        self.assertEqual(list(self.volumes), self.modes(self.machine, volumes))
        for mode, volume in self.volumes.items():
            said = self.ask_guest(self.machine, volume, 'read 4')
            expected = guest.checksum(self.words[mode], 4)
            self.assertEqual(f'read 4 MiB md5={expected}', said, mode)
            self.words[mode] = self.check_guest_writes(self.machine, volume)

    def check_left(self) -> None:
        """Check that every volume can be detached, and contains its data."""
        for mode, volume in self.volumes.items():
            self.detach(self.machine, volume)
            done = subprocess.run(
                ['rbd', 'export', self.image_of(volume), '-'],
                capture_output=True,
                check=True,
            )
            data = done.stdout[2**20 : 5 * 2**20]
            expected = guest.checksum(self.words[mode], 4)
            self.assertEqual(expected, guest.checksum_of(data), mode)

    def test_refused_evacuation_is_repeated_with_every_mode(self) -> None:
        with self.configured(_DISABLED, self.other), self.down(self.host):
            self.server_action(self.machine, evacuate={})
            refused = self.wait_for_server(self.machine, 'ERROR')
            self.assertEqual(self.host, self._host())
            self.assertIn('cache mode', refused['fault']['message'])
        with self.down(self.host):
            self.server_action(self.machine, evacuate={})
            self.wait_for_server(self.machine)
            self.assertEqual(self.other, self._host())
            self.check_kept()
        self.check_left()
