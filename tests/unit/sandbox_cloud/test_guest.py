# SPDX-License-Identifier: Apache-2.0

import hashlib
import pathlib
import struct

import fixtures

from sandbox_cloud import guest
from sandbox_cloud import guest_image
from tests.unit import base

_CONSOLE = """\
guest: up, Linux 6.1.0\r
guest: vda size=1073741824 cache=write-back serial=\r
guest: vdb size=2147483648 cache=write-through serial=0a74b295-f5b9-4038-8\r
guest: vdb 1 wrote 4 MiB md5=aa\r
guest: vdb gone\r
guest: vdc size=3221225472 cache=write-back sectors=512/4096 discard=0 \
serial=0a74b295-f5b9-4038-8\r
guest: vdc 11 read 4 MiB md5=bb\r
"""
_SERIAL = '0a74b295-f5b9-4038-8a44-032e2ecb6865'


class GuestTestCase(base.TestCase):
    def test_answer_by_its_number(self) -> None:
        self.assertEqual('wrote 4 MiB md5=aa', guest.answer(_CONSOLE, 1))
        self.assertEqual('read 4 MiB md5=bb', guest.answer(_CONSOLE, '11'))
        self.assertIsNone(guest.answer(_CONSOLE, 2))

    def test_a_disk_as_it_was_seen_last(self) -> None:
        disk = guest.seen(_CONSOLE, _SERIAL)
        expected = {
            'disk': 'vdc',
            'size': '3221225472',
            'cache': 'write-back',
            'sectors': '512/4096',
            'discard': '0',
            # virtio truncates serial numbers.
            'serial': _SERIAL[:20],
        }
        self.assertEqual(expected, disk)
        self.assertIsNone(guest.seen(_CONSOLE, 'another'))

    def test_checksum_is_that_of_lines_cut_off(self) -> None:
        # The lines of this word do not end at the end of a MiB.
        content = (b'seven7\n' * 2**19)[: 2 * 2**20]
        self.assertEqual(
            hashlib.md5(content, usedforsecurity=False).hexdigest(),
            guest.checksum('seven7', 2),
        )

    def test_a_line_that_does_not_fit(self) -> None:
        self.assertRaises(
            ValueError, guest.ask, 'volumes/x', f'1 write 1 {"x" * 500}'
        )


class GuestImageTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.image = guest_image.GuestImage(
            self.root / 'guest', self.root / 'log'
        )

    def test_one_that_is_there_is_not_made_again(self) -> None:
        self.image.path.parent.mkdir()
        self.image.path.write_text('made before')
        self.assertEqual('made before', self.image.make().read_text())

    def test_another_init_is_another_image(self) -> None:
        first = self.image.path
        other = self.root / 'init'
        other.write_text('#!/bin/busybox sh\n')
        self.useFixture(
            fixtures.MonkeyPatch('sandbox_cloud.guest_image.INIT', other)
        )
        self.assertNotEqual(first, self.image.path)

    def test_the_partition_is_active_and_fills_the_disk(self) -> None:
        code = self.root / 'mbr.bin'
        code.write_bytes(b'code')
        self.useFixture(
            fixtures.MonkeyPatch('sandbox_cloud.guest_image._MBR', code)
        )
        sector = guest_image._mbr(49152)
        self.assertEqual(512, len(sector))
        self.assertEqual(b'code', sector[:4])
        self.assertEqual(b'\x55\xaa', sector[510:])
        flag, kind, first, count = struct.unpack('<B3xB3xII', sector[446:462])
        # Bootable; FAT16 with LBA addressing.
        self.assertEqual((0x80, 0x0E), (flag, kind))
        self.assertEqual(49152, first + count)
