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

import pathlib
import struct

import fixtures

from sandbox_cloud import guest_image
from tests.unit import base


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
