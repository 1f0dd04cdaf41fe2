# SPDX-License-Identifier: Apache-2.0

"""Moves of a server to a host that cannot give its volumes their modes.

No operation fails, and each volume gets its mode back on the first host.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib

from sandbox_cloud import guest
from tests import runs
from tests.cloud import servers
from tests.cloud import test_cache_modes

_IN_FORCE = 'os-rbd-volume-options:cache_modes_in_force'
_REQUESTED = 'os-rbd-volume-options:cache_modes'
_FEWER = '[rbd_cache]\nallowed_modes = none\n'
_DISABLED = '[rbd_cache]\nenabled = False\n'

Modes = dict[str, str]
#: Name of an operation, what does it, and the modes that the guest has then.
Step = tuple[str, Callable[[], object], Modes]


@runs.tags(runs.NIGHTLY)
class MovesTest(test_cache_modes.CacheModeTestCase):
    """A server with a volume of each mode, one of which it boots from."""

    timeout = 2400

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        root = self.volume('writeback', imageRef=self.image())
        with self.disabled(servers.SECOND):
            self.machine = self.boot(root)
        self.requested = {root: 'writeback'}
        self.words = {}
        for mode in test_cache_modes.EFFECTS:
            volume = self.volume(mode)
            self.requested[volume] = mode
            self.attach(self.machine, volume)
            word = self.check_guest_writes(self.machine, volume)
            self.words[volume] = word

    @property
    def none(self) -> Modes:
        """The modes where a host allows only ``none``."""
        return dict.fromkeys(self.requested, 'none')

    @contextlib.contextmanager
    def disabled(self, host: str) -> Iterator[None]:
        """Disable the scheduling of servers to a host."""
        path = f'/os-services/{self.service(host)}'
        self.compute('PUT', path, {'status': 'disabled'}, self.operator)
        try:
            yield
        finally:
            self.compute('PUT', path, {'status': 'enabled'}, self.operator)

    def act(self, name: str, body: object, until: str = 'ACTIVE') -> None:
        """Run an action on the server and wait for a status."""
        self.server_action(self.machine, **{name: body})
        self.wait_for_server(self.machine, until)

    def live(self, host: str) -> Callable[[], None]:
        """Return a live migration to a host."""

        def go() -> None:
            migrate = {'host': host, 'block_migration': 'auto'}
            self.act('os-migrateLive', migrate)
            self.until(lambda: self.host() == host, 240)
            self.wait_for_server(self.machine)

        return go

    def host(self) -> str:
        """Return the host of the server."""
        return str(self.server(self.machine)['OS-EXT-SRV-ATTR:host'])

    def cold(self) -> None:
        self.act('migrate', {'host': None}, 'VERIFY_RESIZE')

    def resize(self) -> None:
        flavor = {'flavorRef': self.flavor('small')}
        self.act('resize', flavor, 'VERIFY_RESIZE')
        self.act('confirmResize', None)

    def shelve(self) -> None:
        """Shelve and offload, attach another volume, and unshelve."""
        self.act('shelve', None, 'SHELVED_OFFLOADED')
        added = self.volume('writeback')
        self.attach(self.machine, added)
        self.requested[added] = 'writeback'
        with self.disabled(servers.FIRST):
            self.act('unshelve', None)

    def reboot(self) -> None:
        self.hard_reboot(self.machine)

    def evacuate(self) -> None:
        with self.down(servers.SECOND):
            self.act('evacuate', {}, 'SHUTOFF')
            self.act('os-start', None)

    def check(self, steps: list[Step], host_chooses: bool = False) -> None:
        """Run operations and check the modes in libvirt after each."""
        for name, go, expected in steps:
            go()
            expected = {
                volume: expected.get(volume, 'none')
                for volume in self.requested
            }
            seen = {
                volume: self.cache_mode(self.machine, volume)
                for volume in self.requested
            }
            self.assertEqual(expected, seen, name)
            if not host_chooses:
                self.check_attributes(name, expected)

    def check_attributes(self, name: str, expected: Modes) -> None:
        """Check what Cinder shows about the attachments."""
        for volume, mode in expected.items():
            shown = self.show(volume)
            self.assertEqual('in-use', shown['status'], name)
            self.assertEqual([mode], list(shown[_IN_FORCE].values()), name)
            self.assertEqual(
                [self.requested[volume]],
                list(shown[_REQUESTED].values()),
                name,
            )

    def check_data(self) -> None:
        """Check that the guest reads what it wrote, and writes again."""
        for volume, word in self.words.items():
            said = self.ask_guest(self.machine, volume, 'read 4')
            expected = guest.checksum(word, 4)
            self.assertEqual(f'read 4 MiB md5={expected}', said)
            self.words[volume] = self.check_guest_writes(self.machine, volume)

    def test_host_with_fewer_modes(self) -> None:
        there, back = self.live(servers.SECOND), self.live(servers.FIRST)
        with self.configured(_FEWER, servers.SECOND):
            self.check(
                [
                    ('live migration', there, self.none),
                    ('hard reboot', self.reboot, self.none),
                    ('live migration back', back, self.requested),
                    ('cold migration', self.cold, self.none),
                    (
                        'revert',
                        lambda: self.act('revertResize', None),
                        self.requested,
                    ),
                    ('resize', self.resize, self.none),
                ]
            )
            self.check_data()
            self.check(
                [('shelve, attach and unshelve', self.shelve, self.none)]
            )
            self.check([('evacuation', self.evacuate, self.requested)])
        self.check_data()

    def test_host_without_the_plug_in(self) -> None:
        """The host of a live migration that writes the XML decides."""
        there, back = self.live(servers.SECOND), self.live(servers.FIRST)
        with self.configured(_DISABLED, servers.SECOND):
            self.check(
                [
                    ('live migration', there, self.requested),
                    ('hard reboot', self.reboot, self.none),
                    ('live migration back', back, self.none),
                ],
                host_chooses=True,
            )
            self.check([('hard reboot there', self.reboot, self.requested)])
            self.check(
                [('cold migration', self.cold, self.none)], host_chooses=True
            )
            self.check(
                [
                    (
                        'revert',
                        lambda: self.act('revertResize', None),
                        self.requested,
                    )
                ]
            )
        self.check_data()
