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

"""Test the cache mode of attachments."""

from typing import Any

from cinder import objects

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.attach import refused_attachment
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_PLAIN = {'host': 'compute-1'}
_CONNECTOR = {
    **_PLAIN,
    'rbd_cache_modes': ['none', 'writethrough', 'writeback', 'directsync'],
}
_SERVER = '11111111-2222-4333-8444-555555555555'


class AttachmentTestCase(base.DriverTestCase):
    def mode(
        self, volume: Any, driver: Any = None, connector: Any = None
    ) -> str | None:
        """Return the cache mode in connection_info."""
        connection = (driver or self.driver).initialize_connection(
            volume, _CONNECTOR if connector is None else connector
        )
        found: str | None = connection['data'].get('cache_mode')
        return found

    def reserve(self, volume: Any) -> None:
        """Reserve the volume for a server, as Cinder's API does."""
        objects.VolumeAttachment(
            self.context,
            volume_id=volume.id,
            attach_status='reserved',
            instance_uuid=_SERVER,
        ).create()
        volume.status = 'reserved'
        volume.save()

    def refused(
        self, volume: Any, *words: str, connector: Any = _CONNECTOR
    ) -> None:
        """Check that an attachment is refused and the reason is recorded."""
        error = self.assertRaises(
            exceptions.AttachmentRefused, self.mode, volume, None, connector
        )
        found = refused_attachment.of_volume(self.recorded(volume))
        told = found.reason if found else ''
        for word in words:
            self.assertIn(word, str(error))
            self.assertIn(word, told)


class CacheModeTest(AttachmentTestCase):
    """The cache mode in connection_info, by its source."""

    def test_nobody_asked(self) -> None:
        self.assertIsNone(self.mode(self.made_volume()))

    def test_by_metadata_type_and_backend(self) -> None:
        driver = self.make_driver(rbd_volume_cache_mode='directsync')
        by_type = self.make_type(rbd_cache_mode='writethrough')
        for metadata, type_id, expected in (
            ({keys.CACHE_MODE: 'writeback'}, by_type, 'writeback'),
            (None, by_type, 'writethrough'),
            (None, None, 'directsync'),
        ):
            volume = self.made_volume(metadata, type_id)
            self.assertEqual(expected, self.mode(volume, driver))

    def test_changed_between_attachments(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        volume.metadata = {keys.CACHE_MODE: 'none'}
        volume.save()
        self.assertEqual('none', self.mode(volume))

    def test_multiattach_is_always_none(self) -> None:
        driver = self.make_driver(rbd_volume_cache_mode='writeback')
        volume = self.made_volume(
            type_id=self.make_type(multiattach='<is> True'), multiattach=True
        )
        self.assertEqual('none', self.mode(volume, driver))

    def test_a_mode_that_is_not_allowed(self) -> None:
        volume = self.made_volume()
        for mode, reason in (
            ('unsafe', 'not allowed by this back end'),
            ('fast', 'not a cache mode'),
        ):
            volume.metadata = {keys.CACHE_MODE: mode}
            volume.save()
            self.refused(volume, reason, mode, 'none, writethrough, writeback')

    def test_other_keys_do_not_stand_in_the_way(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        volume.metadata = {**volume.metadata, 'rbd:stripe_unit': 'x'}
        volume.save()
        self.assertEqual('writeback', self.mode(volume))


class HandshakeTest(AttachmentTestCase):
    """Cache modes that the host offers; Cinder itself needs none."""

    def test_host_without_the_plug_in(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        self.reserve(volume)
        self.refused(
            volume, 'writeback', 'offers no cache modes', connector=_PLAIN
        )
        self.assertEqual('writeback', self.mode(volume))
        self.assertIsNone(refused_attachment.of_volume(self.recorded(volume)))

    def test_lenient_back_end_attaches_without_the_mode(self) -> None:
        driver = self.make_driver(rbd_cache_mode_enforcement='lenient')
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        self.reserve(volume)
        self.assertIsNone(self.mode(volume, driver, _PLAIN))

    def test_cinder_itself(self) -> None:
        volume = self.made_volume()
        volume.metadata = {keys.CACHE_MODE: 'fast'}
        volume.save()
        for connector in ({}, _PLAIN):
            self.assertIsNone(self.mode(volume, None, connector))


class OverrideTest(AttachmentTestCase):
    """Settings of RBD images and pools that override the cache mode."""

    def _set(self, volume: Any, value: str) -> None:
        with self.cluster.image(volume.name) as image:
            image.metadata_set('conf_rbd_cache', value)

    def test_override_on_the_image_is_refused(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        self._set(volume, 'false')
        self.refused(volume, 'writeback', 'conf_rbd_cache = false')
        self._set(volume, 'true')
        self.assertEqual('writeback', self.mode(volume))

    def test_override_on_the_pool_is_refused(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'none'})
        option = ('rbd_cache', 'true')
        self.rbd('config', 'pool', 'set', 'volumes', *option)
        self.addCleanup(
            self.rbd, 'config', 'pool', 'remove', 'volumes', 'rbd_cache'
        )
        self.refused(volume, 'none', 'conf_rbd_cache = true')

    def test_what_we_make_does_not_carry_it_on(self) -> None:
        source = self.made_volume()
        self._set(source, 'false')
        asked = {keys.CACHE_MODE: 'writeback'}
        clone = self.new_volume(asked, source_volid=source.id)
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        self.assertEqual('writeback', self.mode(clone))
        snapshot = self.new_snapshot(source)
        of_snapshot = self.new_volume(asked, snapshot_id=snapshot.id)
        self.update(
            of_snapshot,
            self.driver.create_volume_from_snapshot(of_snapshot, snapshot),
        )
        self.assertEqual('writeback', self.mode(of_snapshot))
