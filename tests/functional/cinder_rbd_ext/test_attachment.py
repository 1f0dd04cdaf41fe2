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

"""The cache mode that an attachment is given."""

from cinder import exception

from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_CONNECTOR = {'host': 'compute-1'}


class CacheModeTest(base.DriverTestCase):
    """connection_info's cache_mode, by where it was asked for."""

    def _mode(self, volume: object, driver: object = None) -> str | None:
        connection = (driver or self.driver).initialize_connection(  # type: ignore[union-attr]
            volume, _CONNECTOR
        )
        mode: str | None = connection['data'].get('cache_mode')
        return mode

    def test_nobody_asked(self) -> None:
        self.assertIsNone(self._mode(self.made_volume()))

    def test_by_metadata_type_and_backend(self) -> None:
        driver = self.make_driver(rbd_volume_cache_mode='directsync')
        by_type = self.make_type(rbd_cache_mode='writethrough')
        for metadata, type_id, expected in (
            ({keys.CACHE_MODE: 'writeback'}, by_type, 'writeback'),
            (None, by_type, 'writethrough'),
            (None, None, 'directsync'),
        ):
            volume = self.made_volume(metadata, type_id)
            self.assertEqual(expected, self._mode(volume, driver))

    def test_changed_between_attachments(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        volume.metadata = {keys.CACHE_MODE: 'none'}
        volume.save()
        self.assertEqual('none', self._mode(volume))

    def test_multiattach_is_always_none(self) -> None:
        driver = self.make_driver(rbd_volume_cache_mode='writeback')
        volume = self.made_volume(
            type_id=self.make_type(multiattach='<is> True'), multiattach=True
        )
        self.assertEqual('none', self._mode(volume, driver))

    def test_a_mode_that_is_not_allowed(self) -> None:
        volume = self.made_volume()
        for mode, reason in (
            ('unsafe', 'not allowed by this backend'),
            ('fast', 'not a cache mode'),
        ):
            volume.metadata = {keys.CACHE_MODE: mode}
            volume.save()
            error = self.assertRaises(
                exception.InvalidInput, self._mode, volume
            )
            self.assertIn(reason, str(error))
            self.assertIn(mode, str(error))
            self.assertIn('none, writethrough, writeback', str(error))

    def test_cinder_itself_reads_the_volume(self) -> None:
        volume = self.made_volume()
        volume.metadata = {keys.CACHE_MODE: 'fast'}
        volume.save()
        connection = self.driver.initialize_connection(volume, {})
        self.assertNotIn('cache_mode', connection['data'])

    def test_other_keys_do_not_stand_in_the_way(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'writeback'})
        volume.metadata = {**volume.metadata, 'rbd:stripe_unit': 'x'}
        volume.save()
        self.assertEqual('writeback', self._mode(volume))
