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

"""A volume that asks for a cache mode, and who attaches it.

Servers that Nova attaches are in test_attach_servers; here Cinder's own API
of attachments is used as Nova uses it.
"""

import subprocess
from typing import Any
import uuid

from tests.cloud import base

_ASKED = {'rbd:cache_mode': 'writeback'}
_CONNECTOR = {'host': 'compute-7', 'ip': '127.0.0.1', 'platform': 'x86_64'}
_REFUSED = 'os-rbd-volume-options:attach_refused'


class RefusalTest(base.CloudTestCase):
    """What is left of an attachment that a host can't have."""

    def _reserve(self, volume: str) -> str:
        answer = self.request(
            'POST',
            '/attachments',
            {
                'attachment': {
                    'volume_uuid': volume,
                    'instance_uuid': str(uuid.uuid4()),
                }
            },
        )
        ident: str = answer['attachment']['id']
        return ident

    def _connect(self, attachment: str, **offer: Any) -> str:
        """Return what a host is told that can't have the mode."""
        response = self.respond(
            'PUT',
            f'/attachments/{attachment}',
            {'attachment': {'connector': {**_CONNECTOR, **offer}}},
        )
        self.assertEqual(500, response.status_code, response.text)
        message: str = response.json()['computeFault']['message']
        return message

    def _check_told(self, volume: str, message: str, *words: str) -> None:
        shown = self.request('GET', f'/volumes/{volume}')['volume']
        for word in ("rbd:cache_mode = 'writeback'", *words):
            self.assertIn(word, message)
            self.assertIn(word, shown[_REFUSED]['reason'])
        self.assertIn("not attached to host 'compute-7'", message)
        self.assertNotIn('compute-7', shown[_REFUSED]['reason'])

    def test_attachment_that_waits(self) -> None:
        """A boot, an attach, a resize, an unshelve: reserved before."""
        volume = self.created(metadata=_ASKED)
        attachment = self._reserve(volume)
        message = self._connect(attachment)
        self._check_told(volume, message, 'offers no cache modes')
        message = self._connect(attachment, rbd_cache_modes='none,directsync')
        self._check_told(
            volume, message, 'does not offer it; allowed: none, directsync'
        )
        self.request('DELETE', f'/attachments/{attachment}')
        self._check_free(volume)

    def test_attachment_at_once(self) -> None:
        """A live migration: reserved and connected by one request."""
        volume = self.created(metadata=_ASKED)
        body = {
            'volume_uuid': volume,
            'instance_uuid': str(uuid.uuid4()),
            'connector': _CONNECTOR,
        }
        response = self.respond('POST', '/attachments', {'attachment': body})
        self.assertEqual(500, response.status_code, response.text)
        self._check_told(
            volume,
            response.json()['computeFault']['message'],
            'offers no cache modes',
        )
        listed = f'/attachments?volume_id={volume}'
        for left in self.request('GET', listed)['attachments']:
            self.request('DELETE', f'/attachments/{left["id"]}')
        self._check_free(volume)

    def _check_free(self, volume: str) -> None:
        self.wait_for(volume)
        shown = self.show(volume)
        self.assertEqual([], shown['attachments'])
        self.assertEqual({}, shown['os-rbd-volume-options:cache_modes'])

    def test_setting_of_the_image(self) -> None:
        volume = self.created(metadata=_ASKED)
        spec = f'volumes/volume-{volume}'
        subprocess.run(
            ['rbd', 'image-meta', 'set', spec, 'conf_rbd_cache', 'false'],
            check=True,
        )
        attachment = self._reserve(volume)
        message = self._connect(attachment, rbd_cache_modes=['writeback'])
        self._check_told(volume, message, 'conf_rbd_cache = false')
        self.request('DELETE', f'/attachments/{attachment}')
        self._check_free(volume)


class OwnTest(base.CloudTestCase):
    """Cinder's own attachments succeed, whatever mode is asked for."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.created(metadata=_ASKED)

    def _image(self, disk_format: str) -> str:
        """Return a Glance image that the volume was uploaded to."""
        answer = self.action(
            self.volume,
            **{
                'os-volume_upload_image': {
                    'image_name': 'test',
                    'disk_format': disk_format,
                    'container_format': 'bare',
                }
            },
        )
        image: str = answer['os-volume_upload_image']['image_id']
        self.addCleanup(
            self.tenant.image.delete_image, image, ignore_missing=True
        )
        self.wait_for(self.volume)
        found = self.tenant.image.get_image(image)
        self.assertEqual('active', found.status)
        return image

    def test_upload_raw(self) -> None:
        self._image('raw')

    def test_upload_of_another_format(self) -> None:
        self._image('qcow2')

    def _reimage(self, cloud: Any = None, **options: Any) -> None:
        image = self._image('qcow2')
        body = {'image_id': image, **options}
        self.action(self.volume, cloud, **{'os-reimage': body})

    def test_reimage(self) -> None:
        self._reimage()
        self.wait_for(self.volume)

    def test_backup_and_restore(self) -> None:
        answer = self.request(
            'POST', '/backups', {'backup': {'volume_id': self.volume}}
        )
        backup = answer['backup']['id']
        self.addCleanup(self.remove, backup, 'backups')
        self.wait_for(backup, kind='backups')
        self.request(
            'POST',
            f'/backups/{backup}/restore',
            {'restore': {'volume_id': self.volume}},
        )
        self.wait_for(backup, kind='backups')
        self.wait_for(self.volume)

    def test_host_assisted_migration(self) -> None:
        name = self.make_type(
            volume_backend_name='<or> rbd <or> rbd2',
            rbd_tenant_options='rbd:cache_mode',
        )
        volume = self.created(volume_type=name, metadata=_ASKED)
        # Types go last, when nothing uses them any more.
        self.addCleanup(self.remove, volume)
        here = self.show(volume)['os-vol-host-attr:host']
        hosts = {'sandbox@rbd#rbd', 'sandbox@rbd2#rbd2'}
        (target,) = hosts - {here}
        body = {'host': target, 'force_host_copy': True}
        self.action(volume, self.operator, **{'os-migrate_volume': body})
        self.until(
            lambda: (
                self.show(volume)['migration_status'] in ('success', 'error')
            )
        )
        shown = self.show(volume)
        self.assertEqual(
            ('success', target),
            (shown['migration_status'], shown['os-vol-host-attr:host']),
        )

    def test_retype_that_migrates(self) -> None:
        name = self.make_type(
            rbd_stripe_unit='32K',
            rbd_stripe_count='4',
            rbd_tenant_options='rbd:cache_mode',
        )
        self.addCleanup(self.remove, self.volume)
        body = {'new_type': name, 'migration_policy': 'on-demand'}
        self.action(self.volume, self.operator, **{'os-retype': body})
        self.until(lambda: self.show(self.volume)['status'] == 'available')
        self.assertEqual(4, self.info(self.volume)['stripe_count'])

    def test_clone_and_volume_of_a_snapshot(self) -> None:
        self.created(source_volid=self.volume, metadata=_ASKED)
        snapshot = self.snapshot(self.volume)
        self.created(snapshot_id=snapshot, metadata=_ASKED)
