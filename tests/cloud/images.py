# SPDX-License-Identifier: Apache-2.0

"""Base class of the tests of Glance images."""

import functools
import hashlib
import pathlib
import random
import subprocess
from typing import Any

import fixtures

from tests.cloud import base

MIB = 2**20
#: Our store, and a stock store on the same pool.
OURS, BESIDE = 'rbd1', 'rbd3'
#: A stock store on its own pool, and a file store.
STOCK, FILES = 'rbd2', 'file1'
POOLS = {OURS: 'images', BESIDE: 'images', STOCK: 'images2'}
#: Object sizes that the sandbox configures for our store and stock ones.
OBJECT_SIZE = 4 * MIB
STOCK_OBJECT_SIZE = 8 * MIB


@functools.cache
def content() -> bytes:
    """Return a little more than 43 MiB, with a hole of 24 MiB."""
    chance = random.Random(5)
    return (
        chance.randbytes(9 * MIB)
        + bytes(24 * MIB)
        + chance.randbytes(10 * MIB)
    ) + b'the end'


class ImageTestCase(base.CloudTestCase):
    """Create a tenant's Glance images and remove them at the end."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def make(
        self, disk_format: str = 'raw', container_format: str = 'bare'
    ) -> Any:
        """Create a Glance image without data."""
        image = self.tenant.image.create_image(
            f'test-{disk_format}',
            disk_format=disk_format,
            container_format=container_format,
            allow_duplicates=True,
        )
        self.addCleanup(self.discard, image.id)
        return image

    def discard(self, ident: str) -> None:
        """Delete a Glance image if it exists."""
        self.tenant.image.delete_image(ident, ignore_missing=True)

    def upload(
        self, data: bytes, store: str = OURS, disk_format: str = 'raw'
    ) -> Any:
        """Create a Glance image and upload its data in one request."""
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
        """Wait until a Glance image is active in a store; return it.

        Glance's task may continue: it computes hashes and removes its lock, a
        property of the image. If the image is deleted at that moment, Glance
        returns 500 (StaleDataError of its database).
        """

        def done() -> Any:
            # The SDK does not show the stores.
            shown = self.tenant.image.get(f'/images/{ident}').json()
            if shown['status'] != 'active' or 'os_glance_import_task' in shown:
                return None
            if store not in shown.get('stores', '').split(','):
                return None
            return self.tenant.image.get_image(ident)

        return self.until(done)

    def check_content(self, image: Any, data: bytes) -> None:
        """Check size and hashes in Glance, and the data themselves."""
        self.assertEqual(len(data), image.size)
        digest = hashlib.sha512(data).hexdigest()
        self.assertEqual('sha512', image.hash_algo)
        self.assertEqual(digest, image.hash_value)
        self.assertEqual(
            hashlib.md5(data).hexdigest(),  # noqa: S324 - Glance's checksum
            image.checksum,
        )
        response = self.tenant.image.get(f'/images/{image.id}/file')
        actual = hashlib.sha512(response.content).hexdigest()
        self.assertEqual(digest, actual)

    def check_ours(self, image: Any) -> base.Record:
        """Check that our store created the RBD image."""
        info = self.image_info(image)
        self.assertEqual(OBJECT_SIZE, info['object_size'])
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        return info

    def check_stock(self, image: Any, store: str) -> None:
        """Check that a stock store created the RBD image."""
        info = self.image_info(image, store)
        self.assertEqual(STOCK_OBJECT_SIZE, info['object_size'])

    def image_info(self, image: Any, store: str = OURS) -> base.Record:
        """Return the output of ``rbd info`` for a Glance image."""
        record: base.Record = base.rbd('info', f'{POOLS[store]}/{image.id}')
        return record

    def check_gone(self, ident: str, store: str = OURS) -> None:
        """Wait until the RBD image is gone from a store's pool."""
        self.until(lambda: ident not in base.images(POOLS[store]), 30)

    def start_import(
        self,
        image: Any,
        method: str,
        store: str = OURS,
        cloud: Any = None,
        **how: str,
    ) -> None:
        """Start an import, which continues in the background."""
        body = {'method': {'name': method, **how}, 'stores': [store]}

        def ask() -> Any:
            response = (cloud or self.tenant).image.post(
                f'/images/{image.id}/import', json=body
            )
            # An earlier import shows its result before its task has ended.
            ended = 'Image has active task' not in response.text
            return [response] if ended else None

        (response,) = self.until(ask)
        self.assertEqual(202, response.status_code, response.text)

    def delete_from(self, image: Any, store: str) -> None:
        """Delete a Glance image's data from one of its stores."""
        response = self.operator.image.delete(f'/stores/{store}/{image.id}')
        self.assertEqual(204, response.status_code, response.text)

    def check_volume(self, volume: str) -> None:
        """Check that a volume has the content of the Glance image."""
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{volume}', '-'],
            capture_output=True,
            check=True,
        )
        self.check_same(done.stdout[: len(content())])

    def check_same(self, received: bytes) -> None:
        """Compare hashes, so that a failure does not print megabytes."""
        self.assertEqual(
            hashlib.sha512(content()).hexdigest(),
            hashlib.sha512(received).hexdigest(),
        )
