#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Glance images: our store, the stock one and a file store, side by side."""

from collections.abc import Iterator
import contextlib
import functools
import hashlib
import http.server
import pathlib
import random
import subprocess
import threading
import time
from typing import Any

import fixtures

from tests.cloud import base

MIB = 2**20
OURS, STOCK, FILES = 'rbd1', 'rbd2', 'file1'
#: What the sandbox's configuration asks of our store.
OBJECT_SIZE = 4 * MIB


@functools.cache
def content() -> bytes:
    """Return 43 MiB and a bit, a hole of 24 MiB among them."""
    chance = random.Random(5)
    return (
        chance.randbytes(9 * MIB)
        + bytes(24 * MIB)
        + chance.randbytes(10 * MIB)
    ) + b'the end'


class ImageTestCase(base.CloudTestCase):
    """Images of a tenant, removed at the end."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def make(self, disk_format: str = 'raw') -> Any:
        """Return an image without data."""
        image = self.tenant.image.create_image(
            f'test-{disk_format}',
            disk_format=disk_format,
            container_format='bare',
            allow_duplicates=True,
        )
        self.addCleanup(self.discard, image.id)
        return image

    def discard(self, ident: str) -> None:
        """Remove an image if it is still there."""
        self.tenant.image.delete_image(ident, ignore_missing=True)

    def upload(
        self, data: bytes, store: str = OURS, disk_format: str = 'raw'
    ) -> Any:
        """Return an image with data, put there in one request."""
        image = self.make(disk_format)
        response = self.tenant.image.put(
            f'/images/{image.id}/file',
            headers={
                'Content-Type': 'application/octet-stream',
                'X-Image-Meta-Store': store,
            },
            data=data,
        )
        self.assertEqual(204, response.status_code, response.text)
        return self.tenant.image.get_image(image.id)

    def active(self, ident: str, store: str = OURS) -> Any:
        """Wait until an image is active in a store; return it."""

        def done() -> Any:
            # The SDK doesn't know the stores.
            found = self.tenant.image.get(f'/images/{ident}').json()
            if found['status'] != 'active':
                return None
            if store not in found.get('stores', '').split(','):
                return None
            return self.tenant.image.get_image(ident)

        return self.until(done)

    def check_content(self, image: Any, data: bytes) -> None:
        """Check what Glance says of the data, and the data themselves."""
        self.assertEqual(len(data), image.size)
        digest = hashlib.sha512(data).hexdigest()
        self.assertEqual('sha512', image.hash_algo)
        self.assertEqual(digest, image.hash_value)
        self.assertEqual(
            hashlib.md5(data).hexdigest(),  # noqa: S324 - Glance's checksum
            image.checksum,
        )
        response = self.tenant.image.get(f'/images/{image.id}/file')
        found = hashlib.sha512(response.content).hexdigest()
        self.assertEqual(digest, found)

    def check_ours(self, image: Any) -> base.Record:
        """Check that the RBD image is one of our store's."""
        info = self.image_info(image)
        self.assertEqual(OBJECT_SIZE, info['object_size'])
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        return info

    def image_info(self, image: Any) -> base.Record:
        """Return what ``rbd info`` says of a Glance image."""
        record: base.Record = base.rbd('info', f'images/{image.id}')
        return record

    def check_gone(self, ident: str) -> None:
        """Check that nothing is left of an image in the pool."""
        self.until(lambda: ident not in base.images('images'), 30)


class UploadTest(ImageTestCase):
    """One request, any format, any store."""

    def test_raw(self) -> None:
        image = self.upload(content())
        self.check_content(image, content())
        self.check_ours(image)
        used = base.rbd('du', f'images/{image.id}')['images']
        # Two pieces of the hole were all zeros.
        self.assertGreater(28 * MIB, max(i['used_size'] for i in used))
        self.discard(image.id)
        self.check_gone(image.id)

    def test_qcow2(self) -> None:
        raw, path = self.folder / 'raw', self.folder / 'qcow2'
        raw.write_bytes(content())
        subprocess.run(
            ['qemu-img', 'convert', '-O', 'qcow2', str(raw), str(path)],
            check=True,
        )
        image = self.upload(path.read_bytes(), disk_format='qcow2')
        self.check_content(image, path.read_bytes())
        self.check_ours(image)

    def test_size_unknown(self) -> None:
        """A body in chunks has no length that Glance could know."""
        image = self.make()

        def body() -> Iterator[bytes]:
            for start in range(0, len(content()), MIB):
                yield content()[start : start + MIB]

        response = self.tenant.image.put(
            f'/images/{image.id}/file',
            headers={'Content-Type': 'application/octet-stream'},
            data=body(),
        )
        self.assertEqual(204, response.status_code, response.text)
        self.check_content(self.active(image.id), content())
        self.check_ours(image)

    def test_stock_store_beside_ours(self) -> None:
        image = self.upload(content(), STOCK)
        self.check_content(image, content())
        self.assertEqual(8 * MIB, self.image_info(image)['object_size'])
        self.discard(image.id)
        self.check_gone(image.id)

    def test_range(self) -> None:
        image = self.upload(content())
        for first, last in ((0, 0), (4 * MIB - 1, 4 * MIB), (5, 9 * MIB)):
            response = self.tenant.image.get(
                f'/images/{image.id}/file',
                headers={'Range': f'bytes={first}-{last}'},
            )
            self.assertEqual(206, response.status_code)
            self.assertEqual(
                hashlib.sha512(content()[first : last + 1]).hexdigest(),
                hashlib.sha512(response.content).hexdigest(),
            )

    def test_tenant_that_goes_away(self) -> None:
        """A body that ends early leaves nothing in the pool."""
        image = self.make()

        def body() -> Iterator[bytes]:
            yield content()[: 9 * MIB]
            raise ConnectionError('gone')

        with contextlib.suppress(Exception):
            self.tenant.image.put(
                f'/images/{image.id}/file',
                headers={
                    'Content-Type': 'application/octet-stream',
                    'Content-Length': str(len(content())),
                },
                data=body(),
                connect_retries=0,
            )
        self.check_gone(image.id)


class ImportTest(ImageTestCase):
    """Glance's import methods."""

    def start_import(
        self,
        image: Any,
        method: str,
        store: str = OURS,
        cloud: Any = None,
        **how: str,
    ) -> None:
        """Ask for an import; it goes on after the answer."""
        response = (cloud or self.tenant).image.post(
            f'/images/{image.id}/import',
            json={'method': {'name': method, **how}, 'stores': [store]},
        )
        self.assertEqual(202, response.status_code, response.text)

    def test_glance_direct(self) -> None:
        image = self.make()
        self.tenant.image.stage_image(image, data=content())
        self.start_import(image, 'glance-direct')
        self.check_content(self.active(image.id), content())
        self.check_ours(image)

    def test_web_download(self) -> None:
        (self.folder / 'image').write_bytes(content())
        handler = functools.partial(
            http.server.SimpleHTTPRequestHandler, directory=str(self.folder)
        )
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        uri = f'http://127.0.0.1:{server.server_port}/image'
        image = self.make()
        self.start_import(image, 'web-download', uri=uri)
        self.check_content(self.active(image.id), content())
        self.check_ours(image)

    def test_copy_to_ours(self) -> None:
        image = self.upload(content(), FILES)
        self._copy(image, OURS)
        self.check_ours(image)

    def test_copy_from_ours(self) -> None:
        image = self.upload(content())
        self._copy(image, FILES)

    def _copy(self, image: Any, store: str) -> None:
        self.start_import(image, 'copy-image', store, self.operator)
        copied = self.active(image.id, store)
        response = self.tenant.image.get(
            f'/images/{image.id}/file', params={'prefer': store}
        )
        self.assertEqual(
            hashlib.sha512(content()).hexdigest(),
            hashlib.sha512(response.content).hexdigest(),
        )
        self.check_content(copied, content())


class VolumeTest(ImageTestCase):
    """What Cinder makes of our store's images."""

    def test_clone_has_the_layout_of_the_volume(self) -> None:
        image = self.upload(content())
        volume = self.created(imageRef=image.id, metadata=base.ASKED)
        info = self.check_made(volume)
        self.assertEqual(
            ('images', image.id, 'snap'),
            tuple(info['parent'][k] for k in ('pool', 'image', 'snapshot')),
        )
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{volume}', '-'],
            capture_output=True,
            check=True,
        )
        self.assertEqual(
            hashlib.sha512(content()).hexdigest(),
            hashlib.sha512(done.stdout[: len(content())]).hexdigest(),
        )

    def test_delete_with_children(self) -> None:
        """The clone outlives the image, which goes to Ceph's trash."""
        image = self.upload(content())
        volume = self.created(imageRef=image.id)
        response = self.tenant.image.delete(f'/images/{image.id}')
        self.assertEqual(204, response.status_code)
        self.check_gone(image.id)
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{volume}', '-'],
            capture_output=True,
            check=True,
        )
        self.assertEqual(
            hashlib.sha512(content()).hexdigest(),
            hashlib.sha512(done.stdout[: len(content())]).hexdigest(),
        )

    def test_delete_of_a_large_image(self) -> None:
        """1 TiB of hardly anything, gone in under a second.

        Nobody uploads that in a test: the image is made larger in Ceph.
        """
        image = self.upload(content())
        name = f'images/{image.id}'
        for command in (
            ('snap', 'unprotect', f'{name}@snap'),
            ('snap', 'rm', '--no-progress', f'{name}@snap'),
            ('resize', '--no-progress', '--size', '1T', name),
            ('snap', 'create', '--no-progress', f'{name}@snap'),
            ('snap', 'protect', f'{name}@snap'),
        ):
            subprocess.run(['rbd', *command], check=True)
        began = time.monotonic()
        response = self.tenant.image.delete(f'/images/{image.id}')
        seconds = time.monotonic() - began
        self.assertEqual(204, response.status_code)
        self.assertNotIn(image.id, base.images('images'))
        self.assertLess(seconds, 1)
