# SPDX-License-Identifier: Apache-2.0

import pathlib

import ddt

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.bench import qemu
from tests.unit import base


@ddt.ddt
class DiskTest(base.TestCase):
    def command(self, mode: str, io_thread: bool = False) -> str:
        disk = qemu.Disk(
            'volumes',
            'image',
            pathlib.Path('/a,b/ceph.conf'),
            'me',
            cache_modes.CacheMode(mode),
            io_thread,
        )
        return ' '.join(disk.command(pathlib.Path('/run/nbd')))

    # Columns of libvirt's table of cache modes: writeback, direct, no-flush.
    @ddt.data(
        ('none', 'on', 'off', 'off'),
        ('writethrough', 'off', 'off', 'on'),
        ('writeback', 'off', 'off', 'off'),
        ('directsync', 'on', 'off', 'on'),
        ('unsafe', 'off', 'on', 'off'),
    )
    @ddt.unpack
    def test_cache_mode_sets_three_booleans(
        self, mode: str, direct: str, no_flush: str, through: str
    ) -> None:
        command = self.command(mode)
        self.assertIn(f'cache.direct={direct},', command)
        self.assertIn(f'cache.no-flush={no_flush} ', command)
        self.assertTrue(command.endswith(f'writethrough={through}'))

    def test_commas_in_paths_are_doubled(self) -> None:
        self.assertIn('conf=/a,,b/ceph.conf,user=me', self.command('none'))

    def test_io_thread(self) -> None:
        self.assertNotIn('iothread', self.command('none'))
        command = self.command('none', True)
        self.assertIn('--object iothread,id=thread', command)
        self.assertIn(',iothread=thread', command)
