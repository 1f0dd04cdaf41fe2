# SPDX-License-Identifier: Apache-2.0

"""Backups of snapshots, and restores of data written for a sector size."""

from typing import Any
import uuid

from cinder import exception
from cinder.db import api as db

from rbd_volume_options import image_record
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext.api import base

_KEY = keys.SECTOR_SIZE
_LARGE = {_KEY: '4096'}
_UNREADABLE = ('could not read', _KEY)


class CreateTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        refused_by_cinder = exception.InvalidVolume(reason='by Cinder')
        self.patch(
            'cinder.backup.api.API.create', side_effect=refused_by_cinder
        )

    def _check_refused(self, words: str, volume: Any, **more: Any) -> None:
        body = {'backup': {'volume_id': volume.id, **more}}
        self.refused(400, words, 'POST', '/backups', body)

    def test_snapshot_of_a_volume_whose_image_is_replaced(self) -> None:
        made = {image_record.RECORD_CONVERSION: '{}'}
        for status, words in (
            ('retyping', 'is being retyped'),
            ('available', 'by Cinder'),
        ):
            volume = self.volume(made=made, status=status)
            snapshot = self.snapshot(volume)
            self._check_refused(words, volume, snapshot_id=snapshot)

    def test_backup_that_a_limit_of_the_owner_makes_slow_is_refused(
        self,
    ) -> None:
        """It would be one of the few of all projects, for weeks."""
        limit = {'rbd:bps_limit': str(1 << 20)}
        slow = self.volume(limit, {**base.MADE, **limit}, size=1024)
        words = 'slow: rbd:bps_limit. Remove them first, or back up a snapshot'
        self._check_refused(words, slow)
        self._check_refused('by Cinder', slow, snapshot_id=self.snapshot(slow))
        made = {**base.MADE, **limit}
        for volume in (
            # The limit of the type, and one of a volume of another driver.
            self.volume(None, made, size=1024),
            self.volume(limit, limit, 'fake', size=1024),
            # Cinder reads a clone of it.
            self.volume(limit, made, size=1024, status='in-use'),
        ):
            self._check_refused('by Cinder', volume, force=True)


class RestoreTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.restored = self.patch(
            'cinder.backup.api.API.restore',
            return_value={
                'backup_id': '',
                'volume_id': '',
                'volume_name': '',
            },
        )

    def _backup(self, volume_id: str) -> str:
        """Create a backup of a volume in the database; return its ID."""
        values = {
            'size': 1,
            'status': 'available',
            'project_id': self.app.project,
            'user_id': 'u',
            'volume_id': volume_id,
        }
        return str(db.backup_create(self.admin_context, values)['id'])

    def _restore(self, backup: str, volume: Any = None) -> Any:
        """Return the request to restore a backup."""
        body = {'volume_id': volume.id} if volume else {}
        return 'POST', f'/backups/{backup}/restore', {'restore': body}

    def test_existing_volume_has_the_sectors_of_the_backup(self) -> None:
        plain, large = self.volume(), self.volume(made=_LARGE)
        emulated = self.volume(made={_KEY: '512e'})
        of_plain, of_large = map(self._backup, (plain.id, large.id))
        for backup, volume in ((of_plain, large), (of_large, emulated)):
            self.refused(400, _UNREADABLE, *self._restore(backup, volume))
        self.restored.assert_not_called()
        for backup, volume in ((of_plain, emulated), (of_large, large)):
            self.ok(*self._restore(backup, volume))
        self.ok(*self._restore(self._backup(str(uuid.uuid4())), large))

    def test_volume_that_is_not_an_id_gets_stock_refusal(self) -> None:
        method, path, _ = self._restore(self._backup(self.volume().id))
        body = {'restore': {'volume_id': base.UNSTORABLE}}
        self.refused(400, 'volume_id', method, path, body)

    def test_new_volume_of_cinder_has_the_sectors_of_the_backup(self) -> None:
        of_plain = self._backup(self.volume().id)
        of_large = self._backup(self.volume(made=_LARGE).id)
        self.refused(400, _UNREADABLE, *self._restore(of_large))
        self.ok(*self._restore(of_plain))
        self.set_specs('rbd', rbd__sector_size='4096')
        self.refused(400, _UNREADABLE, *self._restore(of_plain))
        self.ok(*self._restore(of_large))

    def test_limit_of_the_owner_that_makes_a_restore_slow_is_refused(
        self,
    ) -> None:
        limit = {'rbd:write_bps_limit': str(1 << 20)}
        slow = self.volume(limit, {**base.MADE, **limit}, size=100)
        backup = self._backup(slow.id)
        words = 'slow: rbd:write_bps_limit. Remove them first.'
        self.refused(400, words, *self._restore(backup, slow))
        self.restored.assert_not_called()
        body = self.create(limit, size=100, backup_id=backup)
        self.refused(400, words, 'POST', '/volumes', body)
        body = self.create(limit, size=100)
        self.ok('POST', '/volumes', body)
        self.ok(*self._restore(backup, self.volume(size=100)))

    def test_requested_volume_has_the_sectors_of_the_backup(self) -> None:
        of_plain = self._backup(self.volume().id)
        of_large = self._backup(self.volume(made=_LARGE).id)
        for backup, metadata, volume_type in (
            (of_large, None, 'rbd'),
            (of_large, {_KEY: '512e'}, 'rbd'),
            (of_large, None, 'fake'),
            (of_plain, _LARGE, 'rbd'),
        ):
            body = self.create(
                metadata, volume_type=volume_type, backup_id=backup
            )
            self.refused(400, _UNREADABLE, 'POST', '/volumes', body)
        for backup, metadata in (
            (of_large, _LARGE),
            (of_plain, None),
            (self._backup(str(uuid.uuid4())), _LARGE),
        ):
            body = self.create(metadata, backup_id=backup)
            self.ok('POST', '/volumes', body)
