# SPDX-License-Identifier: Apache-2.0

"""The driver's part in the restore of a backup."""

from unittest import mock

from cinder.db import api as db

from cinder_rbd_ext.attach import requester
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import base

_CONNECTOR = {'host': 'backup'}


class RestoringTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume(base.ASKED)
        self.volume.status = 'restoring-backup'
        self.volume.save()

    def _connect(self) -> None:
        self.driver.initialize_connection(self.volume, _CONNECTOR)
        db.volume_metadata_update(self.admin, self.volume.id, {}, True)

    def _keys(self) -> dict[str, str]:
        return dict(db.volume_metadata_get(self.admin, self.volume.id))

    def test_tenant_is_told_of_data_for_another_sector_size(self) -> None:
        for value, is_told in (('512e', False), ('4096', True)):
            self._connect()
            came = {keys.SECTOR_SIZE: value}
            db.volume_metadata_update(self.admin, self.volume.id, came, False)
            self.driver.terminate_connection(self.volume, _CONNECTOR)
            self.assertEqual(base.ASKED, self._keys())
            told = self.told(self.volume)
            self.assertEqual(is_told, 'could not read' in told)

    def test_attachment_after_an_interrupted_restore_has_own_keys(
        self,
    ) -> None:
        own = {keys.DISCARD: 'false'}
        db.volume_metadata_update(self.admin, self.volume.id, own, False)
        self._connect()
        came = {keys.DISCARD: 'true'}
        db.volume_metadata_update(self.admin, self.volume.id, came, False)
        self.volume.status = 'available'
        self.volume.save()
        shown = self.driver.initialize_connection(self.volume, {'host': 'a'})
        self.assertIs(False, shown['data']['discard'])

    def test_limit_of_a_backup_is_in_force_after_the_restore(self) -> None:
        """Not only after the volume is attached for the first time."""
        self._connect()
        came = {'rbd:iops_limit': '200'}
        db.volume_metadata_update(self.admin, self.volume.id, came, False)
        self.driver.terminate_connection(self.volume, _CONNECTOR)
        self.assertEqual({**base.ASKED, **came}, self._keys())
        stored = self.cluster.stored(self.volume.name).metadata
        self.assertEqual('200', stored['conf_rbd_qos_iops_limit'])

    def test_failure_does_not_keep_the_volume_connected(self) -> None:
        self._connect()
        with mock.patch.object(
            db,
            'volume_metadata_update',
            autospec=True,
            side_effect=RuntimeError('down'),
        ):
            self.driver.terminate_connection(self.volume, _CONNECTOR)
        self.assertIn('Could not restore the keys of volume', self.log.output)
        self.driver.terminate_connection(self.volume, _CONNECTOR)
        self.assertEqual(base.ASKED, self._keys())

    def test_connections_of_the_driver_itself(self) -> None:
        own = requester.OwnConnector(_CONNECTOR)
        self.driver.initialize_connection(self.volume, own)
        self.assertNotIn('rbd:restoring', self.recorded(self.volume))
        self.assertIn(keys.STRIPE_COUNT, self.recorded(self.volume))
