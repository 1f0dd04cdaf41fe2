# SPDX-License-Identifier: Apache-2.0

"""Test Glance images in our store and volumes created from them."""

from collections.abc import Iterator
import contextlib
import functools
import hashlib
import http.server
import json
import subprocess
import threading
import time

import ddt

from tests import runs
from tests.cloud import base
from tests.cloud import images
from tests.cloud.images import MIB


@ddt.ddt
class UploadTest(images.ImageTestCase):
    """Uploads in different formats and to different stores."""

    def test_raw_image_is_striped_and_sparse(self) -> None:
        image = self.upload(images.content())
        self.check_content(image, images.content())
        self.check_ours(image)
        used = base.rbd('du', f'images/{image.id}')['images']
        # Two pieces of the hole are all zeros and take no space.
        self.assertGreater(28 * MIB, max(i['used_size'] for i in used))
        self.discard(image.id)
        self.check_gone(image.id)

    def test_converted_image_has_the_same_content(self) -> None:
        raw, path = self.folder / 'raw', self.folder / 'qcow2'
        raw.write_bytes(images.content())
        subprocess.run(
            ['qemu-img', 'convert', '-O', 'qcow2', str(raw), str(path)],
            check=True,
        )
        image = self.upload(path.read_bytes(), disk_format='qcow2')
        self.check_content(image, path.read_bytes())
        self.check_ours(image)

    def test_size_unknown(self) -> None:
        """Upload a chunked body, whose size Glance does not know."""
        image = self.make()

        def body() -> Iterator[bytes]:
            for start in range(0, len(images.content()), MIB):
                yield images.content()[start : start + MIB]

        response = self.tenant.image.put(
            f'/images/{image.id}/file',
            headers={'Content-Type': 'application/octet-stream'},
            data=body(),
        )
        self.assertEqual(204, response.status_code, response.text)
        self.check_content(self.active(image.id), images.content())
        self.check_ours(image)

    @ddt.data(images.STOCK, images.BESIDE)
    def test_stock_stores(self, store: str) -> None:
        image = self.upload(images.content(), store)
        self.check_content(image, images.content())
        self.check_stock(image, store)
        self.discard(image.id)
        self.check_gone(image.id, store)

    def test_ranges_of_an_image_are_served(self) -> None:
        image = self.upload(images.content())
        for first, last in ((0, 0), (4 * MIB - 1, 4 * MIB), (5, 9 * MIB)):
            response = self.tenant.image.get(
                f'/images/{image.id}/file',
                headers={'Range': f'bytes={first}-{last}'},
            )
            self.assertEqual(206, response.status_code)
            self.assertEqual(
                hashlib.sha512(images.content()[first : last + 1]).hexdigest(),
                hashlib.sha512(response.content).hexdigest(),
            )

    def test_tenant_that_goes_away(self) -> None:
        """A body that ends early leaves nothing in the pool."""
        image = self.make()

        def body() -> Iterator[bytes]:
            yield images.content()[: 9 * MIB]
            raise ConnectionError('gone')

        with contextlib.suppress(Exception):
            self.tenant.image.put(
                f'/images/{image.id}/file',
                headers={
                    'Content-Type': 'application/octet-stream',
                    'Content-Length': str(len(images.content())),
                },
                data=body(),
                connect_retries=0,
            )
        self.check_gone(image.id)


@runs.tags(runs.RELEASES)
class FullPoolTest(images.ImageTestCase):
    """Requests while the store's pool has reached its quota."""

    def _set_quota(self, limit: int) -> None:
        """Set a quota in bytes (0: none) and wait for the flag of the pool."""
        subprocess.run(
            ['ceph', *f'osd pool set-quota images max_bytes {limit}'.split()],
            check=True,
            capture_output=True,
        )
        self.until(lambda: self._is_full() == bool(limit), 60)

    def _is_full(self) -> bool:
        done = subprocess.run(
            ['ceph', 'osd', 'dump', '--format', 'json'],
            check=True,
            capture_output=True,
        )
        return any(
            'full' in pool['flags_names'].split(',')
            for pool in json.loads(done.stdout)['pools']
            if pool['pool_name'] == 'images'
        )

    def test_upload_and_deletion(self) -> None:
        """The upload is refused in time; a deletion still works."""
        stored = self.upload(images.content())
        refused = self.make()
        self.addCleanup(self._set_quota, 0)
        self._set_quota(1)
        began = time.monotonic()
        # The body fits into the socket buffers: Glance answers without reading
        # it.
        response = self.tenant.image.put(
            f'/images/{refused.id}/file',
            headers={'Content-Type': 'application/octet-stream'},
            data=images.content()[: 64 * 1024],
        )
        self.assertEqual(413, response.status_code, response.text)
        self.assertLess(time.monotonic() - began, 60)
        self.assertNotIn(refused.id, base.images('images'))
        shown = self.tenant.image.get_image(refused.id)
        self.assertEqual('queued', shown.status)
        response = self.tenant.image.delete(f'/images/{stored.id}')
        self.assertEqual(204, response.status_code, response.text)
        self.check_gone(stored.id)


class ImportTest(images.ImageTestCase):
    """Glance's import methods."""

    def test_glance_direct(self) -> None:
        image = self.make()
        self.tenant.image.stage_image(image, data=images.content())
        self.start_import(image, 'glance-direct')
        self.check_content(self.active(image.id), images.content())
        self.check_ours(image)

    def test_web_download(self) -> None:
        (self.folder / 'image').write_bytes(images.content())
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
        self.check_content(self.active(image.id), images.content())
        self.check_ours(image)


class VolumeTest(images.ImageTestCase):
    """Volumes created from Glance images in our store."""

    def test_clone_has_the_layout_of_the_volume(self) -> None:
        image = self.upload(images.content())
        volume = self.created(imageRef=image.id, metadata=base.ASKED)
        info = self.check_made(volume)
        self.assertEqual(
            ('images', image.id, 'snap'),
            tuple(info['parent'][k] for k in ('pool', 'image', 'snapshot')),
        )
        self.check_volume(volume)

    def test_delete_with_children(self) -> None:
        """The clone stays usable; the RBD image moves to Ceph's trash."""
        image = self.upload(images.content())
        volume = self.created(imageRef=image.id)
        response = self.tenant.image.delete(f'/images/{image.id}')
        self.assertEqual(204, response.status_code)
        self.check_gone(image.id)
        self.check_volume(volume)

    def test_delete_of_a_large_image(self) -> None:
        """With an object map, librbd removes only the objects that exist.

        Otherwise it removes 262,144, which takes more than a minute. The RBD
        image is resized in Ceph, which avoids an upload of this size.
        """
        image = self.upload(images.content())
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
        self.assertLess(seconds, 20)
