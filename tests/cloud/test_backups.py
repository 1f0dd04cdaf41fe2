# SPDX-License-Identifier: Apache-2.0

"""Backups of volumes with keys, and restored volumes."""

from tests import rbd_content
from tests.cloud import base
from tests.cloud import test_retype

_OWN = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
_CAME = {
    'rbd:object_size': '8M',
    'rbd:stripe_unit': '1M',
    'rbd:stripe_count': '2',
    'theirs': 'x',
}


class RestoreTest(base.CloudTestCase):
    """The backup service, which writes metadata itself."""

    def setUp(self) -> None:
        super().setUp()
        volume = self.created(metadata=_CAME)
        answer = self.request(
            'POST', '/backups', {'backup': {'volume_id': volume}}
        )
        self.backup = answer['backup']['id']
        self.addCleanup(self.remove, self.backup, 'backups')
        self.wait_for(self.backup, kind='backups')

    def _restored(self, **into: str) -> str:
        """Restore the backup and return the ID of the volume."""
        answer = self.request(
            'POST', f'/backups/{self.backup}/restore', {'restore': into}
        )
        volume = str(answer['restore']['volume_id'])
        self.wait_for(self.backup, kind='backups')
        self.wait_for(volume)
        return volume

    def _keys(self, volume: str) -> base.Record:
        items = self.metadata(volume)
        items.pop('src_backup_id', None)
        return items

    def test_each_way(self) -> None:
        """Restore one backup in each possible way."""
        volume = self.created(metadata=_OWN)
        self._restored(volume_id=volume)
        self.assertEqual({**_OWN, 'theirs': 'x'}, self._keys(volume))
        self.assertEqual(8, self.info(volume)['stripe_count'])
        # Restore into a volume without keys.
        volume = self.created()
        self._restored(volume_id=volume)
        self.assertEqual({'theirs': 'x'}, self._keys(volume))
        # Restore into a volume that Cinder creates.
        volume = self._restored(name='restored')
        self.addCleanup(self.remove, volume)
        self.assertEqual({'theirs': 'x'}, self._keys(volume))
        # A new volume from the backup.
        volume = self.created(backup_id=self.backup, metadata=_OWN)
        self.assertEqual({**_OWN, 'theirs': 'x'}, self._keys(volume))


class IncrementalTest(base.CloudTestCase):
    """Backups of a volume whose image a retype has replaced."""

    def _back_up(self, volume: str, incremental: bool) -> str:
        body = {'volume_id': volume, 'incremental': incremental}
        answer = self.request('POST', '/backups', {'backup': body})
        backup = str(answer['backup']['id'])
        self.addCleanup(self.remove, backup, 'backups')
        self.wait_for(backup, kind='backups')
        return backup

    def test_incremental_backups_continue_after_a_retype(self) -> None:
        volume = self.created(metadata=_OWN)
        with test_retype.opened(
            self.image_name(volume), read_only=False
        ) as image:
            rbd_content.write(image, 3, 8)
        self._back_up(volume, incremental=False)
        with test_retype.opened(
            self.image_name(volume), read_only=False
        ) as image:
            rbd_content.write(image, 700, 8)
        plain = self.make_type(rbd_tenant_options='')
        self.addCleanup(self.remove, volume)
        self.action(volume, **{'os-retype': {'new_type': plain}})
        self.until(lambda: self.show(volume)['volume_type'] == plain)
        self.wait_for(volume)
        self.assertNotIn('stripe_count', self.info(volume))
        with test_retype.opened(
            self.image_name(volume), read_only=False
        ) as image:
            rbd_content.write(image, 5, 2)
            written = rbd_content.sums(image)['']
        backup = self._back_up(volume, incremental=True)
        answer = self.request('GET', f'/backups/{backup}')['backup']
        self.assertTrue(answer['is_incremental'])
        restored = self.created(backup_id=backup)
        with test_retype.opened(self.image_name(restored)) as image:
            self.assertEqual(written, rbd_content.sums(image)[''])
