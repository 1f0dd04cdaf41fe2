# SPDX-License-Identifier: Apache-2.0

"""Deleted volumes that their type keeps, and their restoration."""

from typing import Any
import uuid

import rados
import rbd

from cinder_rbd_ext.trash import entries
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import undelete
from tests.functional.cinder_rbd_ext import base
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_CONTENT = b'precious'


class _Storage:
    """Cinder's API in the project of a volume, with the driver behind it.

    :ivar refused: whether the quota of the project is used up
    """

    def __init__(self, case: base.DriverTestCase) -> None:
        self._case = case
        self.refused = False
        self.volume: Any = None
        self.requested: list[Any] = []

    def post(self, path: str, json: Any, microversion: str = '') -> Any:
        """Manage an image, as Cinder's manager does."""
        self.requested.append(json)
        if self.refused:
            return fake_cloud.fault(413, 'VolumeSizeExceedsAvailableQuota')
        if 'volume' in json:
            driver, body = self._case.driver, json['volume']
            self.volume = self._case.new_volume(
                body['metadata'], body['volume_type']
            )
            driver.manage_existing_get_size(self.volume, body['ref'])
            self._case.update(
                self.volume, driver.manage_existing(self.volume, body['ref'])
            )
        return fake_cloud.response(202, {'volume': {'id': self.volume.id}})

    def get(self, path: str) -> Any:
        """Return the status of the volume."""
        return fake_cloud.response(200, {'volume': {'status': 'available'}})


class UndeleteTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.empty_trash)
        self.tools = scan.Cluster(rados, rbd, self.cluster.conf, 'admin')
        self.type = self.make_type(
            rbd_keep_deleted='24', rbd_stripe_unit='64K', rbd_stripe_count='2'
        )

    def deleted(self, **values: Any) -> Any:
        """Return a volume with data that was deleted."""
        volume = self.made_volume(
            {'colour': 'blue'}, self.type, display_name='data', **values
        )
        with self.cluster.image(volume.name) as image:
            image.write(_CONTENT, 2**21)
        self.delete_with_record(volume, self.driver)
        return volume

    def restoration(self, storage: _Storage) -> undelete.Restoration:
        (kept,) = undelete.kept(self.tools, 'volumes')
        return undelete.Restoration(kept, self.tools, storage)

    def content(self, volume: Any) -> bytes:
        with self.cluster.image(volume.name, read_only=True) as image:
            return bytes(image.read(2**21, len(_CONTENT)))

    def test_volume_has_its_data_and_its_layout_again(self) -> None:
        former = self.deleted()
        self.assertEqual([], self.cluster.names())
        storage = _Storage(self)
        ident = self.restoration(storage).run()
        volume = storage.volume
        self.assertEqual(volume.id, ident)
        self.assertNotEqual(former.id, ident)
        self.assertEqual(_CONTENT, self.content(volume))
        self.assertEqual(65536, self.layout_of(volume)['stripe_unit'])
        self.assertEqual({'colour': 'blue'}, volume.metadata)
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual([], undelete.kept(self.tools, 'volumes'))
        # It is a volume like any other: it can be deleted and restored again.
        self.delete_with_record(volume, self.driver)
        self.restoration(again := _Storage(self)).run()
        self.assertEqual(_CONTENT, self.content(again.volume))

    def test_refused_volume_waits_in_the_trash_until_the_same_time(
        self,
    ) -> None:
        self.deleted()
        storage = _Storage(self)
        storage.refused = True
        before = self.restoration(storage)
        error = self.assertRaises(outcomes.Refused, before.run)
        self.assertIn('Quota', str(error))
        after = self.restoration(storage)
        self.assertEqual([], self.cluster.names())
        left = after.volume.entry.expires - before.volume.entry.expires
        self.assertLess(abs(left.total_seconds()), 60)
        self.assertEqual(before.volume.mark.record, after.volume.mark.record)
        # The purger removes it then.
        marks = entries.Marks(self.driver)
        (entry,) = entries.in_pool(self.driver, marks.entries)
        self.assertFalse(entry.is_expired)
        storage.refused = False
        after.run()
        self.assertEqual(_CONTENT, self.content(storage.volume))

    def test_purger_keeps_it_for_its_time(self) -> None:
        self.deleted()
        self.driver.purger.run_once()
        self.assertEqual(1, len(undelete.kept(self.tools, 'volumes')))

    def test_source_of_a_clone_and_an_encrypted_volume_are_not_kept(
        self,
    ) -> None:
        source = self.made_volume(volume_type=self.type)
        clone = self.new_volume(volume_type=self.type)
        self.driver.create_cloned_volume(clone, source)
        self.delete_with_record(source, self.driver)
        encrypted = self.made_volume(volume_type=self.type)
        encrypted.encryption_key_id = str(uuid.uuid4())
        self.driver.delete_volume(encrypted)
        self.assertEqual([], undelete.kept(self.tools, 'volumes'))
        self.assertIn(f'{source.name}.deleted', self.cluster.names())

    def test_image_with_the_name_is_not_replaced(self) -> None:
        former = self.deleted()
        rbd.RBD().create(self.cluster.ioctx(), former.name, 2**20)
        storage = _Storage(self)
        self.assertRaises(rbd.Error, self.restoration(storage).run)
        self.assertEqual([], storage.requested)
        self.assertEqual(1, len(undelete.kept(self.tools, 'volumes')))
