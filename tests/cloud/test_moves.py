# SPDX-License-Identifier: Apache-2.0

"""Moves of a server to a host that cannot give its volumes their modes.

No operation fails, and each volume gets its mode back on the first host.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import random
import threading

from sandbox_cloud import guest
from tests import runs
from tests.cloud import nova_compute
from tests.cloud import servers
from tests.cloud import test_cache_modes

_IN_FORCE = 'os-rbd-volume-options:cache_modes_in_force'
_REQUESTED = 'os-rbd-volume-options:cache_modes'
_FEWER = '[rbd_cache]\nallowed_modes = none\n'
_DISABLED = '[rbd_cache]\nenabled = False\n'

Modes = dict[str, str]
#: Name of an operation, what does it, and the modes that the guest has then.
Step = tuple[str, Callable[[], object], Modes]


class MovesTestCase(test_cache_modes.CacheModeTestCase):
    """A server with volumes, and its operations.

    :ivar requested: the mode that each volume requests
    :ivar words: what the guest wrote on a volume
    """

    timeout = 2400
    machine: str

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        self.requested: Modes = {}
        self.words: dict[str, str] = {}

    def add(self, mode: str, **values: object) -> str:
        """Attach a new volume that requests a mode; return its ID."""
        volume = self.volume(mode, **values)
        self.requested[volume] = mode
        self.attach(self.machine, volume)
        return volume

    def write(self, *volumes: str) -> None:
        """Write on volumes, in the guest."""
        for volume in volumes:
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

    def revert(self) -> None:
        self.act('revertResize', None)

    def confirm(self) -> None:
        self.act('confirmResize', None)

    def resize(self) -> None:
        flavor = {'flavorRef': self.flavor('small')}
        self.act('resize', flavor, 'VERIFY_RESIZE')
        self.confirm()

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
        self.write(*self.words)


@runs.tags(runs.NIGHTLY)
class MovesTest(MovesTestCase):
    """A server that boots from a volume, with a volume of each mode.

    One is encrypted, and one can be attached to several servers.
    """

    def setUp(self) -> None:
        super().setUp()
        root = self.volume('writeback', imageRef=self.image())
        with self.disabled(servers.SECOND):
            self.machine = self.boot(root)
        self.requested[root] = 'writeback'
        self.write(*map(self.add, test_cache_modes.EFFECTS))
        self.add('writethrough', volume_type='rbd-encrypted')
        self.shared = self.created(volume_type='rbd-multiattach')
        self.attach(self.machine, self.shared)
        self.requested[self.shared] = 'none'

    def test_host_with_fewer_modes(self) -> None:
        there, back = self.live(servers.SECOND), self.live(servers.FIRST)
        with self.configured(_FEWER, servers.SECOND):
            self.check(
                [
                    ('live migration', there, self.none),
                    ('hard reboot', self.reboot, self.none),
                    ('live migration back', back, self.requested),
                    ('cold migration', self.cold, self.none),
                    ('revert', self.revert, self.requested),
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
            self.check([('revert', self.revert, self.requested)])
        self.check_data()


@runs.tags(runs.NIGHTLY)
class GuestTest(MovesTestCase):
    """A server that boots from a Glance image, where Nova makes its guest."""

    def setUp(self) -> None:
        super().setUp()
        with self.disabled(servers.SECOND):
            self.machine = self.boot()
        self.first = self.add('writeback')
        self.write(self.first, self.add('directsync'))

    def rescue(self) -> None:
        """Rescue the server without the volumes and unrescue it."""
        self.act('rescue', None, 'RESCUE')
        self.act('unrescue', None)

    def rebuild(self) -> None:
        self.act('rebuild', {'imageRef': self.image()})

    def swap(self) -> None:
        """Have Cinder move a volume, for which Nova swaps it."""
        name = self.make_type(
            rbd_cache_mode='writethrough', volume_backend_name='rbd2'
        )
        body = {'new_type': name, 'migration_policy': 'on-demand'}
        self.action(self.first, self.operator, **{'os-retype': body})
        self.until(
            lambda: (
                [self.show(self.first)[x] for x in ('volume_type', 'status')]
                == [name, 'in-use']
            ),
            240,
        )

    def seen(self) -> set[str]:
        """Return the write caches of the disks, as the guest has them."""
        return {
            self.seen_by_guest(self.machine, volume)['cache']
            for volume in self.words
        }

    def test_host_with_fewer_modes(self) -> None:
        with self.configured(_FEWER, servers.SECOND):
            self.check([('cold migration', self.cold, self.none)])
            self.confirm()
            self.check(
                [
                    ('rescue and unrescue', self.rescue, self.none),
                    ('rebuild', self.rebuild, self.none),
                    ('swap', self.swap, self.none),
                    ('hard reboot', self.reboot, self.none),
                ]
            )
            self.wait_for_guest(self.machine)
            self.assertEqual({'write-back'}, self.seen())
            self.check_data()
            self.check([('back', self.cold, self.requested)])
            self.confirm()
            # In the guest, the cache of directsync has no volatile part.
            self.wait_for_guest(self.machine)
            self.assertEqual({'write-back', 'write-through'}, self.seen())
            self.check(
                [
                    ('rescue there', self.rescue, self.requested),
                    ('rebuild there', self.rebuild, self.requested),
                ]
            )
        self.wait_for_guest(self.machine)
        self.check_data()


@runs.tags(runs.NIGHTLY)
class RandomMovesTest(MovesTestCase):
    """Operations at random, in which nova-compute is sometimes killed.

    The seed is in ``RBD_TEST_SEED`` and the number in ``RBD_TEST_MOVES``.
    """

    timeout = 7200

    def setUp(self) -> None:
        super().setUp()
        root = self.volume('writeback', imageRef=self.image())
        with self.disabled(servers.SECOND):
            self.machine = self.boot(root)
        self.requested[root] = 'writeback'
        self.write(*map(self.add, test_cache_modes.EFFECTS))

    def elsewhere(self) -> str:
        """Return the host that does not have the server."""
        hosts = {servers.FIRST, servers.SECOND}
        (other,) = hosts - {self.host()}
        return other

    def cold_and(self, end: Callable[[], None]) -> Callable[[], None]:
        def go() -> None:
            self.cold()
            end()

        return go

    def unshelve(self) -> None:
        self.act('shelve', None, 'SHELVED_OFFLOADED')
        self.act('unshelve', None)

    def evacuate_from_here(self) -> None:
        with self.down(self.host()):
            self.act('evacuate', {}, 'SHUTOFF')
            self.act('os-start', None)

    def recover(self) -> None:
        """Do what users and operators of stock Nova do after a kill.

        :raises AssertionError: if the server does not start again
        """

        def settled() -> bool:
            record = self.server(self.machine)
            return not record['OS-EXT-STS:task_state']

        # nova-compute settles what it was doing when it starts.
        with contextlib.suppress(AssertionError):
            self.until(settled, 45)
        record = self.server(self.machine)
        if record['status'] == 'VERIFY_RESIZE':
            self.revert()
        elif record['status'] == 'SHELVED_OFFLOADED':
            self.act('unshelve', None)
        elif record['status'] != 'ACTIVE' or not settled():
            self.server_action(
                self.machine, **{'os-resetState': {'state': 'active'}}
            )
        self.reboot()

    def test_live_there_and_back(self) -> None:
        there, back = self.live(servers.SECOND), self.live(servers.FIRST)
        with self.configured(_FEWER, servers.SECOND):
            for _round in range(2):
                self.check([('live migration', there, self.none)])
                self.check_data()
                self.check([('live migration back', back, self.requested)])
                self.check_data()

    def test_random_moves_with_kills(self) -> None:
        seed = int(os.environ.get('RBD_TEST_SEED', '261128'))
        draw = random.Random(seed)
        ways: dict[str, Callable[[], None]] = {
            'live migration': lambda: self.live(self.elsewhere())(),
            'cold migration': self.cold_and(self.confirm),
            'reverted migration': self.cold_and(self.revert),
            'hard reboot': self.reboot,
            'shelve and unshelve': self.unshelve,
            'evacuation': self.evacuate_from_here,
        }
        was_killed = False
        with self.configured(_FEWER, servers.SECOND):
            for number in range(int(os.environ.get('RBD_TEST_MOVES', '5'))):
                name = draw.choice(list(ways))
                kill = name != 'evacuation' and draw.random() < 0.4
                host = draw.choice([servers.FIRST, servers.SECOND])
                later = draw.uniform(0.2, 9)
                words = f'{number} of {seed}: {name}'
                if kill:
                    words += f', nova-compute of {host} killed in {later:.1f}'
                print(words, flush=True)
                self.move(ways[name], host if kill else '', later)
                if kill or name != 'live migration':
                    # The console of a guest that moves does not move.
                    self.wait_for_guest(self.machine)
                # Other moves make new attachments.
                if kill or name not in ('hard reboot', 'live migration'):
                    was_killed = kill
                self.check_after(words, was_killed)

    def move(self, go: Callable[[], None], host: str, later: float) -> None:
        """Run an operation; kill nova-compute of a host in the meantime."""
        if not host:
            return go()
        killer = threading.Timer(later, nova_compute.kill, [host])
        killer.start()
        try:
            with contextlib.suppress(AssertionError):
                go()
        finally:
            killer.join()
            self.wait_for_report(host)
        return self.recover()

    def check_after(self, words: str, was_killed: bool) -> None:
        """Check volumes, modes and data.

        A cold migration makes a new attachment before it deletes the former
        one. If nova-compute is killed between, the volume stays reserved until
        the next migration, with any driver.
        """
        self.wait_for_server(self.machine)
        has_modes = self.host() == servers.FIRST
        seen = {
            volume: self.cache_mode(self.machine, volume)
            for volume in self.requested
        }
        self.assertEqual(
            self.requested if has_modes else self.none, seen, words
        )
        for volume in self.requested:
            shown = self.show(volume)
            statuses = {'in-use', 'reserved'} if was_killed else {'in-use'}
            self.assertIn(shown['status'], statuses, words)
            for mode in shown[_REQUESTED].values():
                self.assertEqual(self.requested[volume], mode, words)
        self.check_data()
