# SPDX-License-Identifier: Apache-2.0

"""Why librbd does not encrypt volumes: doc/source/admin/works-with.rst.

If these tests fail, librbd has changed, and the page has to be changed.
"""

import os
import pathlib
import subprocess

import fixtures
import rbd

from tests import runs
from tests.functional import ceph
from tests.unit import base

_MIB = 1 << 20
_SECRET = '0123456789abcdef'
_LUKS = b'LUKS'


# What librbd does with encrypted images, for a page; no code of ours.
#: QEMU's program, repeated when it could not measure its CPU time.
_QEMU_IMG = str(
    pathlib.Path(__file__).parents[2] / 'tools/sandbox_cloud/shims/qemu-img'
)


@runs.tags(runs.NIGHTLY)
class LibrbdEncryptionTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.secret, self.header = folder / 'secret', folder / 'header'

    def _create(self, **striping: int) -> None:
        """Create an image with the header that Cinder writes."""
        self.secret.write_text(_SECRET)
        subprocess.run(
            [
                *(_QEMU_IMG, 'create', '-q', '-f', 'luks'),
                *('-o', 'cipher-alg=aes-256,cipher-mode=xts'),
                *('-o', 'ivgen-alg=plain64,iter-time=10,key-secret=key'),
                *('--object', f'secret,id=key,file={self.secret}'),
                *(str(self.header), '16M'),
            ],
            check=True,
        )
        content = self.header.read_bytes()
        rbd.RBD().create(
            self.cluster.ioctx(), 'volume', len(content), **striping
        )
        with self.cluster.image('volume') as image:
            image.write(content.rstrip(b'\0'), 0)

    def _is_refused(self, image: rbd.Image) -> bool:
        """Let librbd encrypt an image; return whether it refuses that.

        Newer releases require data that start at a multiple of the stripe
        period.
        """
        try:
            image.encryption_load(rbd.RBD_ENCRYPTION_FORMAT_LUKS1, _SECRET)
        except rbd.InvalidArgument:
            return True
        return False

    def _write_with_qemu(self, offset: int, length: int) -> None:
        subprocess.run(
            [
                *('qemu-io', '--object', f'secret,id=key,file={self.secret}'),
                *('-c', f'write -P 90 {offset} {length}', '--image-opts'),
                'driver=luks,key-secret=key,file.driver=rbd,'
                'file.pool=volumes,file.image=volume,file.user=admin,'
                f'file.conf={self.cluster.conf}',
            ],
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def test_striped_image_is_refused_or_misread(self) -> None:
        self._create(stripe_unit=64 << 10, stripe_count=8)
        self._write_with_qemu(4 * _MIB, _MIB)
        with self.cluster.image('volume') as image:
            if not self._is_refused(image):
                content = image.read(4 * _MIB, _MIB)
                self.assertNotEqual(bytes([90]) * _MIB, content)

    def test_striped_image_is_misread_by_librbd_alone(self) -> None:
        rbd.RBD().create(
            self.cluster.ioctx(),
            'volume',
            64 * _MIB,
            stripe_unit=64 << 10,
            stripe_count=8,
        )
        content = os.urandom(8 * _MIB)
        with self.cluster.image('volume') as image:
            image.encryption_format(rbd.RBD_ENCRYPTION_FORMAT_LUKS1, _SECRET)
        with self.cluster.image('volume') as image:
            image.encryption_load(rbd.RBD_ENCRYPTION_FORMAT_LUKS1, _SECRET)
            image.write(content, 8 * _MIB)
            part = image.read(9 * _MIB, _MIB)
        self.assertNotEqual(content[_MIB : 2 * _MIB], part)

    def test_clone_is_refused_or_loses_its_header(self) -> None:
        self._create()
        with self.cluster.image('volume') as image:
            image.create_snap('snapshot')
            image.protect_snap('snapshot')
        ioctx = self.cluster.ioctx()
        rbd.RBD().clone(ioctx, 'volume', 'snapshot', ioctx, 'clone')
        with self.cluster.image('clone') as image:
            self.assertEqual(_LUKS, image.read(0, 4))
            is_refused = self._is_refused(image)
            if not is_refused:
                image.write(b'data', _MIB)
        with self.cluster.image('clone') as image:
            is_intact = image.read(0, 4) == _LUKS
        self.assertEqual(is_refused, is_intact)
