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


_DEPENDS = {
    'linux-image-cloud-amd64': """\
linux-image-cloud-amd64
  Depends: linux-base-cloud-amd64
  Depends: linux-image-7.2-cloud-amd64
""",
    'linux-image-7.2-cloud-amd64': """\
linux-image-7.2-cloud-amd64
  PreDepends: linux-base
 |Depends: dracut
  Depends: initramfs-tools
  Depends: linux-binary-7.2-cloud-amd64
  Depends: linux-modules-7.2-cloud-amd64
""",
}


class KernelTestCase(base.TestCase):
    def test_all_packages_of_the_kernel_are_unpacked(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

        def run(
            image: object, *command: str, cwd: pathlib.Path | None = None
        ) -> str:
            if command[0] == 'apt-cache':
                return _DEPENDS[command[-1]]
            if command[0] == 'apt-get':
                for name in command[3:]:
                    (root / f'{name}.deb').touch()
            else:
                target = pathlib.Path(command[3])
                target.mkdir(exist_ok=True)
                (target / pathlib.Path(command[2]).stem).touch()
                if 'binary' in command[2]:
                    (target / 'vmlinuz').write_text('kernel')
            return ''

        self.useFixture(
            fixtures.MonkeyPatch(
                'sandbox_cloud.guest_image.GuestImage._run', run
            )
        )
        image = guest_image.GuestImage(root, root / 'log')
        kernel = image._unpack_kernel(root)
        unpacked = {path.name for path in kernel.iterdir()}
        names = {'linux-image-7', 'linux-binary-7', 'linux-modules-7'}
        names = {f'{name}.2-cloud-amd64' for name in names}
        self.assertEqual({*names, 'vmlinuz'}, unpacked)
        self.assertEqual('kernel', (root / 'vmlinuz').read_text())
