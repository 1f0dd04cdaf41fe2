# SPDX-License-Identifier: Apache-2.0

"""Test the keys of a volume after a backup was restored to it.

Cinder's ``BackupMetadataAPI`` restores the metadata between connecting and
disconnecting the volume, as in the backup service.
"""

from typing import Any

from cinder.backup import driver as backup_driver
from cinder.db import api as db
import ddt

from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_STRIPED = {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'}
_CONNECTOR = {'host': 'backup', 'initiator': None}


@ddt.ddt
class RestoreTest(base.DriverTestCase):
    """A restore of everything except the data."""

    def restore(
        self, volume: Any, came: dict[str, str], **options: Any
    ) -> Any:
        """Restore a backup with metadata; return the volume's metadata."""
        driver = options.get('driver', self.driver)
        other = self.new_volume(came)
        metadata = backup_driver.BackupMetadataAPI(self.context)
        saved = metadata.get(other.id)
        volume.status = options.get('status', 'restoring-backup')
        volume.save()
        driver.initialize_connection(volume, _CONNECTOR)
        metadata.put(volume.id, saved)
        if options.get('killed'):
            return self.metadata(volume)
        driver.terminate_connection(volume, _CONNECTOR, force=True)
        return self.metadata(volume)

    def metadata(self, volume: Any) -> dict[str, str]:
        """Return the volume's metadata from the database."""
        return dict(db.volume_metadata_get(self.admin, volume.id))

    @ddt.data('restoring-backup', 'creating')
    def test_own_keys_are_kept(self, status: str) -> None:
        own = {**_STRIPED, keys.CACHE_MODE: 'writeback'}
        volume = self.made_volume({**own, 'mine': '1'})
        came = {
            keys.STRIPE_UNIT: '1M',
            keys.STRIPE_COUNT: '2',
            keys.OBJECT_SIZE: '8M',
            keys.CACHE_MODE: 'none',
            'theirs': '2',
        }
        restored = self.restore(volume, came, status=status)
        self.assertEqual({**own, 'theirs': '2'}, restored)

    def test_keys_that_are_true_come_along(self) -> None:
        volume = self.made_volume(_STRIPED)
        db.volume_metadata_delete(self.admin, volume.id, keys.STRIPE_UNIT)
        db.volume_metadata_delete(self.admin, volume.id, keys.STRIPE_COUNT)
        came = {**_STRIPED, keys.CACHE_MODE: 'writeback'}
        self.assertEqual(came, self.restore(volume, came))

    @ddt.data(
        _STRIPED,
        {keys.OBJECT_SIZE: '8M'},
        {keys.CACHE_MODE: 'unsafe'},
        {keys.STRIPE_UNIT: '64K'},
        {'RBD:stripe_count': '8'},
        {'rbd:unknown': '1'},
        {keys.OBJECT_MAP: 'false'},
    )
    def test_false_or_disallowed(self, came: dict[str, str]) -> None:
        volume = self.made_volume()
        self.assertEqual({'x': 'y'}, self.restore(volume, {**came, 'x': 'y'}))

    def test_what_tenants_may_not_set(self) -> None:
        driver = self.make_driver(rbd_tenant_options='')
        volume = self.made_volume(driver=driver)
        came = {keys.CACHE_MODE: 'writeback'}
        self.assertEqual({}, self.restore(volume, came, driver=driver))

    def test_copy_is_gone_afterwards(self) -> None:
        volume = self.made_volume(_STRIPED)
        before = self.recorded(volume)
        self.restore(volume, {})
        self.assertEqual(before, self.recorded(volume))

    def test_restore_that_was_cut_short(self) -> None:
        """The next connection restores the volume's own keys."""
        for status in ('restoring-backup', 'available'):
            volume = self.made_volume(_STRIPED)
            self.restore(volume, {keys.OBJECT_SIZE: '8M'}, killed=True)
            volume.status = status
            volume.save()
            self.driver.initialize_connection(volume, _CONNECTOR)
            self.driver.terminate_connection(volume, _CONNECTOR)
            self.assertEqual(_STRIPED, self.metadata(volume))

    def test_other_connections_change_nothing(self) -> None:
        volume = self.made_volume(_STRIPED)
        self.driver.initialize_connection(volume, _CONNECTOR)
        db.volume_metadata_update(
            self.admin, volume.id, {keys.CACHE_MODE: 'none'}, False
        )
        self.driver.terminate_connection(volume, _CONNECTOR)
        self.assertEqual(
            {**_STRIPED, keys.CACHE_MODE: 'none'}, self.metadata(volume)
        )
