# SPDX-License-Identifier: Apache-2.0

"""Settings of RBD images and pools that override the mode of an attachment.

The other rules do not depend on Ceph: the unit tests of ``attach`` test them.
"""

from typing import Any

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import reasons
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_CONNECTOR = {
    'host': 'compute-1',
    'rbd_host': {'modes': ['none', 'writethrough', 'writeback', 'directsync']},
}


class OverrideTest(base.DriverTestCase):
    def mode(self, volume: Any) -> Any:
        """Return the cache mode in connection_info."""
        connection = self.driver.initialize_connection(volume, _CONNECTOR)
        return connection['data'].get('cache_mode')

    def refused(self, volume: Any, *words: str) -> None:
        """Check that an attachment is refused and the reason is recorded."""
        error = self.assertRaises(
            exceptions.AttachmentRefused, self.mode, volume
        )
        refusal = reasons.stored(self.recorded(volume), 'attachment')
        told = refusal.text if refusal else ''
        for word in words:
            self.assertIn(word, str(error))
            self.assertIn(word, told)

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
        metadata = {keys.CACHE_MODE: 'writeback'}
        clone = self.new_volume(metadata, source_volid=source.id)
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        self.assertEqual('writeback', self.mode(clone))
        snapshot = self.new_snapshot(source)
        of_snapshot = self.new_volume(metadata, snapshot_id=snapshot.id)
        self.update(
            of_snapshot,
            self.driver.create_volume_from_snapshot(of_snapshot, snapshot),
        )
        self.assertEqual('writeback', self.mode(of_snapshot))
