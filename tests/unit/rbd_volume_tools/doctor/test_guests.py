# SPDX-License-Identifier: Apache-2.0

import pathlib

import fixtures
import hypothesis

from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import guests
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.doctor import hosts

_RBD = ('-blockdev', '{"driver":"rbd","pool":"volumes","image":"a"}')
_DISK = '{"driver":"virtio-blk-pci","iothread":"iothread1","drive":"a"}'
_GOOD = (
    *('/usr/bin/qemu-system-x86_64', '-machine', 'pc-q35-7.2,usb=off'),
    *(*_RBD, '-device', _DISK),
)
_SLOW = (
    *('/usr/bin/qemu-kvm', '-M', 'type=pc-i440fx-7.2'),
    *('-drive', 'file=rbd:volumes/a:key=secret', '-device', 'virtio-blk-pci'),
)


class GuestsTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.proc = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def process(self, number: int, *words: str, maps: str = '') -> None:
        folder = self.proc / str(number)
        folder.mkdir()
        (folder / 'cmdline').write_bytes('\0'.join((*words, '')).encode())
        (folder / 'maps').write_text(f'7f00-7f01 r-xp 0 00:00 0 {maps}\n')

    def test_running_guests_are_described(self) -> None:
        self.process(1, *_GOOD, maps='/usr/lib/libtcmalloc_minimal.so.4')
        self.process(2, *_SLOW, maps='/usr/lib/libc.so.6')
        self.process(3, '/usr/bin/qemu-kvm', '-drive', 'file=/disk')
        self.process(4, 'python', *_RBD)
        (self.proc / '5').mkdir()
        self.process(6)
        running = list(guests.running(self.proc))
        self.assertEqual(
            [
                guests.Guest('libtcmalloc', 'pc-q35-7.2', True),
                guests.Guest('', 'pc-i440fx-7.2', False),
            ],
            running,
        )
        shown = list(guests.check(running))
        self.assertEqual(
            [findings.Severity.NOTICE] * 3,
            [severity for _, severity in hosts.problems(shown)],
        )
        self.assertTrue(all('1 of 2' in each.seen for each in shown))
        self.assertNotIn('secret', str(shown))

    @hypothesis.given(
        untrusted.damaged('\0'.join((*_GOOD, *_SLOW, '')).encode())
        | untrusted.damaged(_DISK.encode()).map(
            lambda disk: b'\0'.join((*map(str.encode, _GOOD[:-1]), disk))
        )
    )
    @hypothesis.example('\0'.join((*_GOOD[:-1], '{virtio-blk')).encode())
    @hypothesis.example(
        '\0'.join((*_GOOD[:-1], '{"virtio-blk":' * 50_000)).encode()
    )
    def test_process_of_another_program_ends_no_check(
        self, cmdline: bytes
    ) -> None:
        folder = self.proc / '1'
        folder.mkdir(exist_ok=True)
        (folder / 'cmdline').write_bytes(cmdline)
        list(guests.check(guests.running(self.proc)))

    def test_of_another_user(self) -> None:
        self.process(1, *_GOOD)
        (self.proc / '1' / 'maps').unlink()
        (guest,) = guests.running(self.proc)
        self.assertIsNone(guest.allocator)
        shown = hosts.problems(guests.check([guest]))
        self.assertEqual(1, len(shown))

    def test_nothing_to_do(self) -> None:
        self.process(1, *_GOOD, maps='/usr/lib/libjemalloc.so.2')
        checked = guests.check(guests.running(self.proc))
        self.assertEqual([], hosts.problems(checked))
        (none,) = guests.check([])
        self.assertEqual('none', none.seen)
