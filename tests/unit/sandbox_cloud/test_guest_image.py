# SPDX-License-Identifier: Apache-2.0

import lzma
import pathlib

import fixtures

from sandbox_cloud import guest_image
from tests.unit import base


class ModulesTestCase(base.TestCase):
    def test_modules_are_decompressed_and_builtin_ones_omitted(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        kernel = root / 'lib' / 'modules' / '6.12'
        block = kernel / 'kernel' / 'drivers' / 'block'
        block.mkdir(parents=True)
        (kernel / 'modules.builtin').write_text(
            'kernel/drivers/virtio/virtio.ko\nkernel/fs/fuse/fuse.ko\n'
        )
        (block / 'virtio_blk.ko.xz').write_bytes(lzma.compress(b'compressed'))
        (block / 'button.ko').write_bytes(b'plain')
        modules = guest_image.modules(root, ('virtio', 'virtio_blk', 'button'))
        self.assertEqual(
            {'virtio_blk': b'compressed', 'button': b'plain'}, modules
        )
