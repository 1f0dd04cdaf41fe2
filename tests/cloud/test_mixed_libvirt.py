# SPDX-License-Identifier: Apache-2.0

"""Moves between hosts with different releases of libvirt and QEMU.

The first host has a newer libvirt, in which disks can have a discard
granularity. The second host has that of Debian 12.
"""

from collections.abc import Callable
import subprocess
import unittest

from rbd_volume_options.families import discard
from tests import runs
from tests import tree
from tests.cloud import servers
from tests.cloud import test_moves

_GRANULARITY = 2**20
_LIBVIRT = 'trixie'


# A minute for each move, and the installation of another release of Debian.
@runs.tags(runs.NIGHTLY)
class OlderLibvirtTest(test_moves.UnbootedTestCase):
    def setUp(self) -> None:
        super().setUp()
        version = self._virsh(servers.SECOND, 'version', '--daemon')
        release = version.split()[-1]
        if _numbers(release) >= _numbers(discard.OLDEST_LIBVIRT):
            raise unittest.SkipTest(f'no older libvirt than {release}')
        self.addCleanup(self.use_libvirt, 'machine')
        self.use_libvirt(_LIBVIRT)
        self.boot_nothing()
        self.fine = self.volume_with_granularity()
        self.attach(self.machine, self.fine)
        self.requested[self.fine] = 'directsync'
        self.write(self.fine)

    def use_libvirt(self, release: str) -> None:
        """Run libvirt of a release of Debian on the first host."""
        sandbox = str(tree.ROOT / 'tools' / 'sandbox')
        words = ('up', '--libvirt', release)
        subprocess.run([sandbox, *words], stdin=subprocess.DEVNULL, check=True)

    def volume_with_granularity(self) -> str:
        """Create a volume of a type with a discard granularity."""
        kind = self.make_type(rbd_discard_granularity=str(_GRANULARITY))
        return self.volume('directsync', volume_type=kind)

    def granularity(self) -> str | None:
        """Return the granularity of the volume's disk, in libvirt."""
        block_io = self.disk_xml(self.machine, self.fine).find('blockio')
        return (
            None if block_io is None else block_io.get('discard_granularity')
        )

    def move(self, name: str, go: Callable[[], object], host: str) -> None:
        """Move the server and check its host, modes, granularity and data."""
        self.check([(name, go, self.requested)])
        self.assertEqual(host, self.host(), name)
        has = str(_GRANULARITY) if host == servers.FIRST else None
        self.assertEqual(has, self.granularity(), name)
        self.check_data()

    def messages(self) -> str:
        """Return the user messages about the volume."""
        path = f'/messages?resource_uuid={self.fine}'
        answer = self.request('GET', path)
        return ''.join(each['user_message'] for each in answer['messages'])

    def to_older(self) -> None:
        with self.disabled(servers.FIRST):
            self.act('shelve', None, 'SHELVED_OFFLOADED')
            self.act('unshelve', None)

    def test_moves_and_first_attachment(self) -> None:
        self.assertEqual(str(_GRANULARITY), self.granularity())
        self.assertEqual('', self.messages())
        self.move('cold migration', self.cold, servers.SECOND)
        self.assertIn('libvirt 9.0.0', self.messages())
        self.move('revert', self.revert, servers.FIRST)
        self.move('shelve and unshelve', self.to_older, servers.SECOND)
        self.move('hard reboot', self.reboot, servers.SECOND)
        self.check_refused_at_first_attachment()
        self.move('evacuation', self.evacuate, servers.FIRST)
        self.check_not_migrated_live()
        self.move('resize', self.resize, servers.SECOND)
        self.check_live_to_newer()

    def check_refused_at_first_attachment(self) -> None:
        """Check that a new volume is refused, with the versions."""
        other = self.volume_with_granularity()
        self.check_refused_by_nova(
            self.machine, other, 'libvirt 9.0.0, QEMU 7.2'
        )

    def check_not_migrated_live(self) -> None:
        """Check that a server that would change is not migrated live."""
        migrate = {'host': servers.SECOND, 'block_migration': 'auto'}
        self.server_action(self.machine, **{'os-migrateLive': migrate})
        self.until(lambda: 'error' in self.migrations()[0])
        self.wait_for_server(self.machine)
        self.assertEqual(servers.FIRST, self.host())
        self.assertEqual(str(_GRANULARITY), self.granularity())
        self.check_data()

    def check_live_to_newer(self) -> None:
        """Check that a running guest stays as it is until its next start."""
        self.live(servers.FIRST)()
        self.assertIsNone(self.granularity())
        self.check_data()
        self.move('hard reboot on the newer', self.reboot, servers.FIRST)

    def migrations(self) -> list[str]:
        """Return the statuses of the server's migrations, newest first."""
        path = f'/os-migrations?instance_uuid={self.machine}'
        answer = self.compute('GET', path, cloud=self.operator)
        return [each['status'] for each in answer['migrations']]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split('.')]
