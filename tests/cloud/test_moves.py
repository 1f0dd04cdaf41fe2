# SPDX-License-Identifier: Apache-2.0

"""Moves of a server to a host that cannot give its volumes their modes.

No operation fails, and each volume gets its mode back on the first host.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import uuid

from sandbox_cloud import compute_hosts
from sandbox_cloud import guest
from sandbox_cloud import state
from tests import runs
from tests.cloud import servers
from tests.cloud import test_cache_modes

_IN_FORCE = 'os-rbd-volume-options:cache_modes_in_force'
REQUESTED = 'os-rbd-volume-options:cache_modes'
#: Options of a host with fewer modes.
FEWER = '[rbd_cache]\nallowed_modes = none\n'
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
        words = {volume: uuid.uuid4().hex for volume in volumes}
        said = self.ask_about(
            self.machine, {k: f'write 4 {word}' for k, word in words.items()}
        )
        expected = {
            volume: f'wrote 4 MiB md5={guest.checksum(word, 4)}'
            for volume, word in words.items()
        }
        self.assertEqual(expected, said)
        self.words.update(words)

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
            self.until(lambda: self.host() == host, self.patience)
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
            seen = self.cache_modes(self.machine)
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
                list(shown[REQUESTED].values()),
                name,
            )

    def check_data(self) -> None:
        """Check that the guest reads what it wrote, and writes again."""
        said = self.ask_about(
            self.machine, dict.fromkeys(self.words, 'read 4')
        )
        expected = {
            volume: f'read 4 MiB md5={guest.checksum(word, 4)}'
            for volume, word in self.words.items()
        }
        self.assertEqual(expected, said)
        self.write(*self.words)


class UnbootedTestCase(MovesTestCase):
    """A server without an operating system, which takes a tenth of the time.

    QEMU itself writes and reads, through the disks.
    """

    def boot_nothing(self) -> None:
        """Boot from an empty volume on the first host."""
        root = self.volume('writeback')
        body = {'os-set_bootable': {'bootable': True}}
        self.action(root, self.operator, **body)
        with self.disabled(servers.SECOND):
            self.machine = self.boot(root, wait=False)
            self.wait_for_server(self.machine)
        self.requested[root] = 'writeback'

    def write(self, *volumes: str) -> None:
        """Write another byte on volumes, through their disks in QEMU."""
        new = {x: str(int(self.words.get(x, 0)) % 255 + 1) for x in volumes}
        writes = {x: f'write -P {byte} 1M 4M' for x, byte in new.items()}
        said = self.disks_say(writes)
        self.disks_say(dict.fromkeys(volumes, 'flush'))
        self.assertEqual(len(volumes), said.count('4194304/4194304'), said)
        self.words.update(new)

    def check_data(self) -> None:
        """Check what was written last, and write again."""
        said = self.disks_say(
            {x: f'read -P {byte} 1M 4M' for x, byte in self.words.items()}
        )
        self.assertNotIn('failed', said)
        self.assertEqual(len(self.words), said.count('4194304/4194304'), said)
        self.write(*self.words)

    def disks_say(self, requests: dict[str, str]) -> str:
        """Run a command of qemu-io on disks; return the outputs.

        QEMU writes them to its log.
        """
        domain, host = self.domain(self.machine), self.host()
        aliases = {
            disk.findtext('serial', ''): alias.get('name')
            for disk in domain.iter('disk')
            if (alias := disk.find('alias')) is not None
        }
        words = [
            f"qemu-monitor-command --hmp {self.machine} 'qemu-io -d "
            f'/machine/peripheral/{aliases[volume]}/virtio-backend '
            f'"{command}"\''
            for volume, command in requests.items()
        ]
        place = state.State(state.default_root())
        number = {servers.FIRST: 1, servers.SECOND: 2}[host]
        log = compute_hosts.ComputeHost(place, number).libvirt.joinpath(
            'log', 'qemu', f'{domain.findtext("name")}.log'
        )
        before = len(log.read_text())
        self._virsh(host, '; '.join(words))
        return log.read_text()[before:]


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
        with self.configured(FEWER, servers.SECOND):
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
        with self.configured(FEWER, servers.SECOND):
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
