# SPDX-License-Identifier: Apache-2.0

"""Layout and features of volumes on each creation path of a user."""

import pathlib
import subprocess
import tempfile
import time
from typing import Any
import uuid

from tests import runs
from tests.cloud import base

MIB = 2**20


@runs.tags(runs.RELEASES)
class CreateTest(base.CloudTestCase):
    """Empty volumes, and volumes from volumes and snapshots."""

    def test_volume_has_requested_layout(self) -> None:
        volume = self.created(size=8, metadata=base.ASKED)
        info = self.check_made(volume)
        self.assertEqual(8 * 2**30, info['size'])
        self.assertEqual(base.ASKED, self.metadata(volume))

    def test_create_as_the_type_says(self) -> None:
        name = self.make_type(
            rbd_stripe_unit='128K', rbd_stripe_count='4', rbd_object_map='no'
        )
        info = self.info(self.created(volume_type=name))
        self.assertEqual(128 * 1024, info['stripe_unit'])
        self.assertEqual(4, info['stripe_count'])
        self.assertNotIn('object-map', info['features'])

    def test_nothing_asked(self) -> None:
        info = self.info(self.created())
        self.assertEqual(4 * MIB, info['object_size'])
        self.assertNotIn('striping', info['features'])

    def test_create_encrypted(self) -> None:
        volume = self.created(volume_type='rbd-encrypted', metadata=base.ASKED)
        self.check_made(volume)

    def test_clone_of_a_snapshot(self) -> None:
        source = self.created()
        clone = self.created(
            snapshot_id=self.snapshot(source), metadata=base.ASKED_WITH_MODE
        )
        self.assertIn('parent', self.check_made(clone))

    def test_clone_of_a_volume_inherits(self) -> None:
        source = self.created(metadata=base.ASKED_WITH_MODE)
        clone = self.created(source_volid=source)
        self.assertIn('parent', self.check_made(clone))

    def test_data_pool_of_the_backend(self) -> None:
        volume = self.created(volume_type='rbd2')
        info = self.info(volume, 'volumes2')
        self.assertEqual('volumes-data', info['data_pool'])

    def test_data_pool_of_a_type(self) -> None:
        name = self.make_type(rbd_data_pool='volumes-data')
        info = self.info(self.created(volume_type=name))
        self.assertEqual('volumes-data', info['data_pool'])

    def test_the_scheduler_knows_our_backends(self) -> None:
        name = self.make_type(
            **{
                'capabilities:rbd_volume_options': '<is> True',
                'volume_backend_name': 'rbd2',
            }
        )
        self.created(volume_type=name)
        nowhere = self.make_type(
            **{
                'capabilities:rbd_volume_options': '<is> True',
                'volume_backend_name': 'fake',
            }
        )
        volume = self.create(volume_type=nowhere)
        self.until(lambda: self.show(volume)['status'] == 'error')


@runs.tags(runs.RELEASES)
class ImageTest(base.CloudTestCase):
    """Volumes from Glance images."""

    def _upload(self, disk_format: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            raw = pathlib.Path(folder, 'raw')
            with raw.open('wb') as out:
                out.truncate(16 * MIB)
                out.seek(5 * MIB)
                out.write(b'content')
            path = raw
            if disk_format != 'raw':
                path = pathlib.Path(folder, disk_format)
                subprocess.run(
                    ['qemu-img', 'convert', '-O', disk_format, raw, path],
                    check=True,
                )
            image = self.tenant.image.create_image(
                f'test-{uuid.uuid4().hex[:8]}',
                filename=str(path),
                disk_format=disk_format,
                container_format='bare',
                wait=True,
                timeout=60,
            )
        self.addCleanup(
            self.tenant.image.delete_image, image.id, ignore_missing=True
        )
        return str(image.id)

    def _check_content(self, volume: str) -> None:
        done = subprocess.run(
            ['rbd', 'export', f'volumes/volume-{volume}', '-'],
            capture_output=True,
            check=True,
        )
        self.assertEqual(b'content', done.stdout[5 * MIB : 5 * MIB + 7])

    def test_clone_of_a_raw_image(self) -> None:
        volume = self.created(
            imageRef=self._upload('raw'), metadata=base.ASKED
        )
        self.assertIn('parent', self.check_made(volume))
        self._check_content(volume)

    def test_import_of_a_qcow2_image(self) -> None:
        volume = self.created(
            imageRef=self._upload('qcow2'), metadata=base.ASKED
        )
        self.assertNotIn('parent', self.check_made(volume))
        self._check_content(volume)

    def test_reimage_and_upload(self) -> None:
        volume = self.created(metadata=base.ASKED_WITH_MODE)
        image = self._upload('qcow2')
        self.action(volume, **{'os-reimage': {'image_id': image}})
        # The status changes after the response.
        time.sleep(1)
        self.wait_for(volume)
        self.check_made(volume)
        self._check_content(volume)
        self._upload_volume(volume)

    def _upload_volume(self, volume: str) -> None:
        """Upload a volume; Cinder reads it without a cache mode."""
        answer = self.action(
            volume,
            **{
                'os-volume_upload_image': {
                    'image_name': 'from-volume',
                    'disk_format': 'raw',
                    'container_format': 'bare',
                }
            },
        )
        image = answer['os-volume_upload_image']['image_id']
        self.addCleanup(
            self.tenant.image.delete_image, image, ignore_missing=True
        )
        self.wait_for(volume)
        shown: Any = self.tenant.image.get_image(image)
        self.assertEqual('active', shown.status)
