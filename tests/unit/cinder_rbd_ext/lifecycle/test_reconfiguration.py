# SPDX-License-Identifier: Apache-2.0

"""Unit tests of cinder_rbd_ext.lifecycle.reconfiguration.

The functional tests show what happens to an image.
"""

from concurrent import futures
import time
from typing import Any
from unittest import mock

from cinder.db import api as db
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures

from cinder_rbd_ext import record
from cinder_rbd_ext.api import attributes
from cinder_rbd_ext.lifecycle import reconfiguration
from rbd_volume_options import definitions
from rbd_volume_options import image_configuration
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests.unit.cinder_rbd_ext import base

_ENTRY = 'conf_rbd_compression_hint'


@ddt.ddt
class ReconfigurationsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.volume.status = 'available'
        self.volume.save()

    def _set(self, hint: str) -> None:
        metadata = {keys.COMPRESSION_HINT: hint}
        db.volume_metadata_update(self.admin, self.volume.id, metadata, False)

    def _entry(self) -> str | None:
        stored = self.cluster.stored(self.volume.name)
        entry: str | None = stored.metadata.get(_ENTRY)
        return entry

    def test_image_is_opened_only_for_a_difference(self) -> None:
        self._set('compressible')
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('compressible', self._entry())
        with mock.patch.object(
            self.driver.images, 'opened', autospec=True
        ) as opened:
            self.driver.remove_export(self.context, self.volume)
        opened.assert_not_called()

    def test_row_that_the_manager_reads_is_a_volume(self) -> None:
        self._set('compressible')
        row = db.volume_get(self.context, self.volume.id)
        self.driver.remove_export(self.context, row)
        self.assertEqual('compressible', self._entry())

    def test_key_that_changes_meanwhile_is_in_force_afterwards(self) -> None:
        self._set('compressible')
        change = image_configuration.change

        def changed(*args: Any) -> None:
            change(*args)
            if self._entry() == 'compressible':
                self._set('incompressible')

        self.useFixture(
            fixtures.MockPatchObject(image_configuration, 'change', changed)
        )
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('incompressible', self._entry())
        self.assertEqual(
            'incompressible',
            self.recorded(self.volume)[keys.COMPRESSION_HINT],
        )

    def test_attachment_applies_what_an_earlier_change_did_not(self) -> None:
        self._set('compressible')
        with mock.patch.object(
            image_configuration,
            'change',
            autospec=True,
            side_effect=OSError('no'),
        ):
            self.driver.remove_export(self.context, self.volume)
        self.assertIn(
            volume_items.RECORD_CONFIGURING, record.items_of(self.volume.id)
        )
        self.driver.initialize_connection(self.volume, {'host': 'a'})
        self.assertEqual('compressible', self._entry())
        self.assertNotIn(
            volume_items.RECORD_CONFIGURING, record.items_of(self.volume.id)
        )

    @ddt.data('deleting', 'reverting', 'downloading')
    def test_volume_whose_image_is_replaced_is_left_alone(
        self, status: str
    ) -> None:
        self._set('compressible')
        self.volume.status = status
        self.volume.save()
        self.driver.remove_export(self.context, self.volume)
        self.assertIsNone(self._entry())

    def test_limit_of_a_managed_image_follows_from_its_size(self) -> None:
        """Cinder saves the size only after the driver has returned."""
        former = self.made_volume(size=3)
        kind = self.make_type(rbd_iops_limit_per_gib='100')
        volume = self.new_volume(volume_type=kind, size=0)
        self.driver.manage_existing(volume, {'source-name': former.name})
        stored = self.cluster.stored(volume.name).metadata
        self.assertEqual('300', stored['conf_rbd_qos_iops_limit'])

    def test_limit_of_a_key_stays_if_the_stock_driver_sets_qos_specs(
        self,
    ) -> None:
        """As it does at the end of a re-image, since Cinder 29."""
        kind = self.qos_type(
            total_iops_sec='500',
            total_iops_sec_max='900',
            read_bytes_sec='1000000',
        )
        volume = self.made_volume({'rbd:iops_limit': '200'}, kind)
        limits = {
            'conf_rbd_qos_iops_limit': '200',
            'conf_rbd_qos_read_bps_limit': '1000000',
        }
        self.driver._setup_volume(volume)
        stored = self.cluster.stored(volume.name).metadata
        self.assertEqual(
            limits, {k: v for k, v in stored.items() if 'qos' in k}
        )

    def test_limits_of_qos_specs_are_shown_and_those_of_keys_first(
        self,
    ) -> None:
        kind = self.qos_type(
            total_iops_sec='70',
            read_bytes_sec='5000000',
            read_bytes_sec_max='6000000',
        )
        for metadata, iops in (({}, 70), ({'rbd:iops_limit': '50'}, 50)):
            volume = self.made_volume(metadata, kind)
            shown = attributes.of_volume(record.stored_volume(volume.id))
            self.assertEqual(
                {
                    'iops_limit': iops,
                    'read_bps_limit': 5000000,
                    'read_bps_burst': 6000000,
                },
                shown[definitions.ATTRIBUTE_LIMITS],
            )
        self.driver.delete_rbd_image_qos_keys(volume, ['read_bytes_sec'])
        self.assertNotIn('rbd:qos_', str(record.items_of(volume.id)))

    def test_tenant_does_not_lift_the_limit_of_qos_specs(self) -> None:
        """An API node without the extension has not checked the key."""
        kind = self.qos_type(total_iops_sec='70')
        volume = self.made_volume(volume_type=kind)
        for value, wanted in (('100000000', '70'), ('50', '50')):
            volume.metadata = {'rbd:iops_limit': value}
            volume.save()
            record.accepted(volume.id, volume.metadata)
            self.driver.remove_export(self.context, volume)
            stored = self.cluster.stored(volume.name).metadata
            self.assertEqual(wanted, stored['conf_rbd_qos_iops_limit'])
        error = self.raised(self.made_volume, {'rbd:iops_limit': '71'}, kind)
        self.assertIn('more than the volume type allows', str(error))

    def test_unmanaged_image_has_no_limit_that_nobody_knows_of(self) -> None:
        self._set('compressible')
        self.driver.remove_export(self.context, self.volume)
        self.cluster.stored(self.volume.name).metadata['conf_other'] = '1'
        with mock.patch.object(self.driver.images, 'release', autospec=True):
            self.driver.unmanage(self.volume)
        self.assertIsNone(self._entry())
        stored = self.cluster.stored(self.volume.name).metadata
        self.assertEqual('1', stored['conf_other'])

    def test_volume_that_could_not_be_unmanaged_gets_its_entries_again(
        self,
    ) -> None:
        self._set('compressible')
        self.driver.remove_export(self.context, self.volume)
        with mock.patch.object(
            self.driver.images, 'release', autospec=True, side_effect=OSError
        ):
            self.assertRaises(OSError, self.driver.unmanage, self.volume)
        self.assertIsNone(self._entry())
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('compressible', self._entry())

    def test_limit_of_the_new_size_is_kept_until_the_size_is_saved(
        self,
    ) -> None:
        self.volume.volume_type_id = self.make_type(
            rbd_iops_limit_per_gib='100'
        ).id
        self.volume.status = 'extending'
        self.volume.save()
        self.driver.extend_volume(self.volume, 3)
        self.driver.remove_export(self.context, self.volume)
        stored = self.cluster.stored(self.volume.name).metadata
        self.assertEqual('300', stored['conf_rbd_qos_iops_limit'])

    def test_key_that_changes_during_an_extension_is_in_force_afterwards(
        self,
    ) -> None:
        self.volume.status = 'extending'
        self.volume.save()
        extend = stock.RBDDriver.extend_volume

        def extended(*args: Any) -> None:
            extend(*args)
            self._set('compressible')
            self.driver.remove_export(self.context, self.volume)
            self.assertIsNone(self._entry())

        with mock.patch.object(stock.RBDDriver, 'extend_volume', extended):
            self.driver.extend_volume(self.volume, 2)
        self.assertEqual('compressible', self._entry())

    def test_former_image_of_a_migrated_volume_is_left_alone(self) -> None:
        """The record of the new one would say that it has the entry."""
        self.driver.host = self.volume.host
        self._set('compressible')
        self.volume.host = 'there@ceph2#ceph2'
        self.volume.save()
        self.driver.remove_export(self.context, self.volume)
        self.assertIsNone(self._entry())
        self.assertNotIn(keys.COMPRESSION_HINT, self.recorded(self.volume))

    def test_image_that_another_service_changes_is_left_alone(self) -> None:
        """The lock applies to all services of a cluster."""
        self._set('compressible')
        with self.name_locked(f'{self.volume.name}.configuration'):
            began = time.monotonic()
            self.driver.remove_export(self.context, self.volume)
            # A thread of the service does not wait for the lock.
            self.assertLess(time.monotonic() - began, reconfiguration._WAIT)
        self.assertIsNone(self._entry())
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('compressible', self._entry())

    def test_only_one_request_changes_an_image_at_a_time(self) -> None:
        self._set('compressible')
        change = image_configuration.change
        begun: list[bool] = []

        def changed(*args: Any) -> None:
            begun.append(True)
            # Others may run here.
            time.sleep(0.2)
            self.assertEqual(1, len(begun))
            change(*args)
            begun.pop()

        self.useFixture(
            fixtures.MockPatchObject(image_configuration, 'change', changed)
        )
        with futures.ThreadPoolExecutor() as pool:
            requests = [
                pool.submit(
                    self.driver.remove_export, self.context, self.volume
                )
                for _ in range(2)
            ]
        for request in requests:
            request.result()
        self.assertEqual('compressible', self._entry())
        self.assertNotIn('Could not change', self.log.output)
