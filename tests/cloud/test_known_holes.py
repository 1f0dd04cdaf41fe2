# SPDX-License-Identifier: Apache-2.0

"""Weaknesses of OpenStack that were closed, with volumes of our driver.

Each test sends the requests that a tenant would send to use one of them.
"""

from collections.abc import Iterator
import pathlib
import subprocess
from typing import Any
import uuid

from rbd_volume_options import compute_hosts
from tests import hostile_images
from tests import runs
from tests.cloud import base
from tests.cloud import images
from tests.cloud import servers
from tests.cloud import test_retype

_Request = tuple[str, str, base.Record | None]

#: A file that every service on the machine can read.
_SECRET = pathlib.Path('/etc/passwd')
#: Glance does not inspect the content of an image in such a container.
_NOT_INSPECTED = 'ova'


class AttachmentTest(servers.ServerTestCase):
    """Attachments of a server, without a service token (CVE-2023-2088)."""

    def _ends(self, volume: str, attachment: str) -> Iterator[_Request]:
        """Yield the requests that end an attachment."""
        yield 'DELETE', f'/attachments/{attachment}', None
        connector = {'connector': {'host': servers.FIRST}}
        named = {'attachment_id': attachment}
        for name, body in (
            ('os-detach', {}),
            ('os-detach', named),
            ('os-terminate_connection', connector),
            ('os-force_detach', {**named, **connector}),
        ):
            yield 'POST', f'/volumes/{volume}/action', {name: body}

    def _check_kept(self, server: str, volume: str, attachment: str) -> None:
        """Check that nobody but Nova ends an attachment."""
        for cloud in (self.tenant, self.operator):
            for each in self._ends(volume, attachment):
                response = self.respond(*each, cloud=cloud)
                shown = f'{each}: {response.status_code} {response.text}'
                self.assertIn(response.status_code, (403, 409), shown)
        path = f'/attachments/{attachment}'
        record = self.request('GET', path)['attachment']
        self.assertEqual(
            (server, volume), (record['instance'], record['volume_id'])
        )

    def _change(self, server: str, volume: str, attachment: str) -> list[Any]:
        """Send the requests in which a connector offers cache modes.

        An attachment that they create is deleted.
        """
        connector = {
            'host': servers.FIRST,
            compute_hosts.CONNECTOR_ITEM: {'modes': ['none', 'writeback']},
        }
        request = {'volume_uuid': volume, 'instance_uuid': server}
        responses = [
            self.respond(
                'PUT',
                f'/attachments/{attachment}',
                {'attachment': {'connector': connector}},
            )
        ]
        for body in (request, {**request, 'connector': connector}):
            made = self.respond('POST', '/attachments', {'attachment': body})
            if made.ok:
                other = made.json()['attachment']['id']
                self.request('DELETE', f'/attachments/{other}')
            responses.append(made)
        action = {'os-initialize_connection': {'connector': connector}}
        self.respond('POST', f'/volumes/{volume}/action', action)
        return [each.status_code for each in responses]

    def test_tenant_can_not_take_a_disk_from_a_server(self) -> None:
        server = self.boot()
        changed = {}
        for mode in ('writeback', None):
            metadata = {'rbd:cache_mode': mode} if mode else {}
            volume = self.created(metadata=metadata)
            self.attach(server, volume)
            (attached,) = self.show(volume)['attachments']
            attachment = attached['attachment_id']
            cache = self.cache_mode(server, volume)
            self._check_kept(server, volume, attachment)
            changed[mode] = self._change(server, volume, attachment)
            self._check_kept(server, volume, attachment)
            self.assertEqual(cache, self.cache_mode(server, volume))
            self.check_guest_writes(server, volume)
        # Cinder lets tenants create further attachments; the first remains.
        self.assertEqual(400, changed['writeback'][0])


class HostileImageTest(images.ImageTestCase):
    """Glance images whose content names a file of the host.

    See CVE-2024-32498 and CVE-2022-47951.
    """

    def _hostile(self) -> Iterator[tuple[bytes, str]]:
        """Yield the content of each image, and its declared format."""
        for make, disk_format in hostile_images.EACH:
            path = self.folder / uuid.uuid4().hex
            make(_SECRET, path)
            self.assertIn(_SECRET.read_bytes(), self._as_disk(path))
            yield path.read_bytes(), disk_format

    def _as_disk(self, path: pathlib.Path) -> bytes:
        """Return the disk in an image file, as qemu-img reads it."""
        disk = self.folder / 'disk'
        command = ['qemu-img', 'convert', '-O', 'raw', str(path), str(disk)]
        subprocess.run(command, check=True)
        return disk.read_bytes()

    def _stored(
        self, data: bytes, disk_format: str, store: str = images.OURS
    ) -> str:
        """Upload an image that Glance does not inspect; return its ID."""
        image = self.make(disk_format, _NOT_INSPECTED)
        response = self._put(image, data, store)
        self.assertEqual(204, response.status_code, response.text)
        return str(image.id)

    def _put(self, image: Any, data: bytes, store: str = images.OURS) -> Any:
        headers = {
            'Content-Type': 'application/octet-stream',
            'X-Image-Meta-Store': store,
        }
        path = f'/images/{image.id}/file'
        return self.tenant.image.put(path, headers=headers, data=data)

    def _refused(self, volume: str, at: int = 0) -> None:
        """Check that a volume is in error and contains nothing.

        :param at: the offset at which its data would begin
        """

        def done() -> Any:
            shown = self.show(volume)
            self.assertNotEqual('available', shown['status'])
            return shown['status'] == 'error'

        self.until(done)
        self._check_content(volume, b'', at)

    def _check_content(self, volume: str, data: bytes, at: int = 0) -> None:
        """Check the content of a MiB of a volume.

        A volume in error may have no RBD image.
        """
        name = self.image_name(volume)
        if data or name in base.images():
            with test_retype.opened(name) as image:
                content = image.read(at, images.MIB)
            self.assertEqual(data, content[: len(data)])
            self.assertEqual(b'', content[len(data) :].strip(b'\0'))

    @runs.tags(runs.NIGHTLY)
    def test_upload_of_a_hostile_image_is_refused_by_glance(self) -> None:
        for data, disk_format in self._hostile():
            image = self.make(disk_format)
            response = self._put(image, data)
            self.assertEqual(415, response.status_code, response.text)
            status = self.tenant.image.get_image(image.id).status
            self.assertEqual('queued', status)
            self.discard(image.id)
            self.check_gone(image.id)

    @runs.tags(runs.NIGHTLY)
    def test_new_volume_has_no_file_of_the_host(self) -> None:
        """A raw image in our store is cloned; all others are refused."""
        refused, cloned = [], []
        # The data of an encrypted volume begin after its header.
        begins = {'rbd': 0, 'rbd-encrypted': 2 * images.MIB}
        for data, disk_format in self._hostile():
            ident = self._stored(data, disk_format)
            for kind, at in begins.items():
                volume = self.create(imageRef=ident, volume_type=kind)
                if (disk_format, kind) == ('raw', 'rbd'):
                    cloned.append((volume, data))
                else:
                    refused.append((volume, at))
        for volume, data in cloned:
            self.wait_for(volume)
            self.assertIn('parent', self.info(volume))
            self._check_content(volume, data)
        for volume, at in refused:
            self._refused(volume, at)

    @runs.tags(runs.NIGHTLY)
    def test_raw_image_of_another_store_is_refused(self) -> None:
        """Cinder downloads it, and writes it as it is only if it is raw."""
        for data, disk_format in self._hostile():
            if disk_format == 'raw':
                ident = self._stored(data, disk_format, images.FILES)
                self._refused(self.create(imageRef=ident))

    @runs.tags(runs.NIGHTLY)
    def test_reimaged_volume_has_no_file_of_the_host(self) -> None:
        volume = self.created(metadata=base.ASKED)
        for data, disk_format in self._hostile():
            action = {'image_id': self._stored(data, disk_format)}
            self.action(volume, **{'os-reimage': action})
            self._refused(volume)
            ready = {'os-reset_status': {'status': 'available'}}
            self.action(volume, self.operator, **ready)

    def test_copies_of_a_clone_have_no_file_of_the_host(self) -> None:
        """Neither a new layout nor an upload reads the file."""
        for data, disk_format in self._hostile():
            if disk_format == 'raw':
                ident = self._stored(data, disk_format)
                volume = self.created(imageRef=ident)
                self._retype(volume)
                self._check_content(volume, data)
                self._check_upload(volume, data)

    def _retype(self, volume: str) -> None:
        """Retype a volume in place, with a copy of its RBD image."""
        name = self.make_type(rbd_stripe_unit='64K', rbd_stripe_count='8')
        self.addCleanup(self.remove, volume)
        self.action(volume, **{'os-retype': {'new_type': name}})
        self.until(lambda: self.show(volume)['volume_type'] == name)
        self.wait_for(volume)
        self.assertEqual(8, self.info(volume)['stripe_count'])

    def _check_upload(self, volume: str, data: bytes) -> None:
        """Upload a volume as qcow2, which contains the data as a disk.

        Cinder may refuse to upload what looks like an image with another file;
        it then deletes the Glance image.
        """
        request = {
            'image_name': 'from-volume',
            'disk_format': 'qcow2',
            'container_format': _NOT_INSPECTED,
        }
        answer = self.action(volume, **{'os-volume_upload_image': request})
        ident = answer['os-volume_upload_image']['image_id']
        self.addCleanup(self.discard, ident)
        self.wait_for(volume)
        path = self.folder / 'uploaded'
        response = self.tenant.image.get(f'/images/{ident}/file')
        if response.status_code != 404:
            self.assertEqual(200, response.status_code, response.text)
            path.write_bytes(response.content)
            self.assertEqual(data, self._as_disk(path)[: len(data)])


class LocationTest(images.ImageTestCase):
    """Locations of Glance images with ``show_multiple_locations = False``."""

    def test_tenants_neither_see_nor_set_a_location(self) -> None:
        image = self.upload(images.content()[: images.MIB])
        record = self.tenant.image.get(f'/images/{image.id}').json()
        listed = self.tenant.image.get('/images').json()['images']
        self.assertIn(image.id, [each['id'] for each in listed])
        for shown in (record, *listed):
            self.assertNotIn('locations', shown)
        place = {'url': record['direct_url']}
        other = self.make()
        for ident in (image.id, other.id):
            path = f'/images/{ident}/locations'
            responses = [
                self.tenant.image.get(path),
                self.tenant.image.post(path, json=place),
            ]
            value = {**place, 'metadata': {}}
            for patch in (
                {'op': 'add', 'path': '/locations/-', 'value': value},
                {'op': 'replace', 'path': '/locations', 'value': [value]},
                {'op': 'remove', 'path': '/locations/0'},
            ):
                kind = 'application/openstack-images-v2.1-json-patch'
                responses.append(
                    self.tenant.image.patch(
                        f'/images/{ident}',
                        headers={'Content-Type': kind},
                        json=[patch],
                    )
                )
            # An image that has data gets no other location (409).
            codes = [each.status_code for each in responses]
            added = 403 if ident == other.id else 409
            self.assertEqual([403, added, 403, 403, 403], codes)
        self.check_content(image, images.content()[: images.MIB])
        self.assertEqual(
            'queued', self.tenant.image.get_image(other.id).status
        )
