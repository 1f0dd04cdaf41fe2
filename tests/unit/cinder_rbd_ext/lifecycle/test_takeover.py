# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder.volume.drivers import rbd as stock
import ddt
import fixtures
import testtools

from cinder_rbd_ext import locks
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import marker
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests import feature_bits
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base

_LOCK, _MAP = feature_bits.LOCK, feature_bits.MAP


@ddt.ddt
class ManageTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().create(
                ioctx,
                'found',
                base.GIB,
                order=20,
                features=feature_bits.LAYERING | feature_bits.LOCK,
            )

    def _manage(self, volume: Any) -> Any:
        return self.driver.manage_existing(volume, {'source-name': 'found'})

    def test_origins_are_those_of_the_keys(self) -> None:
        volume = self.new_volume({keys.OBJECT_SIZE: '1M'})
        self._manage(volume)
        self.assertEqual(
            {
                keys.OBJECT_SIZE: errors.Origin.VOLUME_METADATA,
                keys.STRIPING: errors.Origin.CLUSTER,
                keys.FEATURES: errors.Origin.CLUSTER,
            },
            image_record.origins(record.stored(volume.id)),
        )

    def test_origin_of_a_key_of_the_type_is_the_type(self) -> None:
        volume = self.new_volume(
            volume_type=self.make_type(**{keys.OBJECT_SIZE: '1M'})
        )
        self._manage(volume)
        origins = image_record.origins(record.stored(volume.id)) or {}
        self.assertEqual(errors.Origin.VOLUME_TYPE, origins[keys.OBJECT_SIZE])

    def test_cache_override_stays(self) -> None:
        """The setting of an existing image is kept."""
        self.cluster.stored('found').metadata['conf_rbd_cache'] = 'false'
        volume = self.new_volume()
        self._manage(volume)
        metadata = self.cluster.stored(volume.name).metadata
        self.assertEqual('false', metadata['conf_rbd_cache'])

    def test_list_for_tenants_does_not_apply(self) -> None:
        """Only operators manage volumes."""
        volume = self.new_volume(
            {keys.OBJECT_SIZE: '1M'},
            volume_type=self.make_type(**{keys.TENANT_OPTIONS: ''}),
        )
        self._manage(volume)
        self.assertEqual([volume.name], self.cluster.names())

    @testtools.skipUnless(
        hasattr(stock.RBDDriver, '_is_valid_type'),
        'this Cinder sets up no volume that it manages',
    )
    def test_failed_set_up_restores_the_name(self) -> None:
        volume = self.new_volume(
            volume_type=self.make_type(multiattach='<is> True')
        )
        fault = fake_images.OSError('made to fail')
        self.cluster.fail('Image.update_features', fault)
        self.assertIs(fault, self.raised(self._manage, volume))
        self.assertEqual(['found'], self.cluster.names())

    def test_undo_fails(self) -> None:
        volume = self.new_volume()

        def lose_connection(*args: object) -> None:
            self.cluster.fail(
                'RBD.rename', fake_images.OSError('made to fail')
            )
            raise RuntimeError('first')

        with mock.patch.object(
            record,
            'change',
            autospec=True,
            side_effect=lose_connection,
        ):
            error = self.raised(self._manage, volume)
        self.assertEqual('first', str(error))
        self.assertEqual([volume.name], self.cluster.names())
        self.assertIn('Could not rename', self.log.output)


class NamesTest(base.DriverTestCase):
    """Images whose names are not made of the ids of their volumes."""

    def setUp(self) -> None:
        super().setUp()
        self.driver.host = 'test_host'
        self.volume = self.made_volume()
        self.copy = 'volume-00000000-1111-4222-8333-444444444444'
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().create(ioctx, self.copy, base.GIB)

    def _safe(self) -> dict[str, Any]:
        """Return which images can be managed, and the volumes of others."""
        listed = self.driver.get_manageable_volumes(
            [objects.Volume.get_by_id(self.admin, self.volume.id)],
            *(None, 1000, 0, ['reference'], ['asc']),
        )
        return {
            each['reference']['source-name']: (
                each['safe_to_manage'] or each['cinder_id']
            )
            for each in listed
        }

    def _check_not_managed(self) -> None:
        self.assertEqual(self.volume.id, self._safe()[self.copy])
        self.assertRaises(
            exception.ManageExistingAlreadyManaged,
            self.driver.manage_existing,
            self.new_volume(),
            {'source-name': self.copy},
        )
        self.assertIn(self.copy, self.cluster.names())

    def test_image_that_no_volume_has_can_be_managed(self) -> None:
        self.assertIs(True, self._safe()[self.copy])
        self.driver.manage_existing(
            self.new_volume(), {'source-name': self.copy}
        )

    def test_image_that_a_row_names_is_not_managed(self) -> None:
        self.update(
            self.volume, {'_name_id': self.copy.removeprefix('volume-')}
        )
        self._check_not_managed()

    def test_copy_of_an_unfinished_retype_is_not_managed(self) -> None:
        image = self.copy.removeprefix('volume-')
        marker.write(self.volume.id, marker.Marker(image))
        self._check_not_managed()


class MigratedTest(base.DriverTestCase):
    """The RBD image that a host-assisted migration created."""

    def _completed(self, volume: Any, target: Any, status: str) -> None:
        """Complete a migration as Cinder's manager does."""
        update = self._taken_over(volume, target, status)
        volume.update(update)
        volume.save()
        volume.finish_volume_migration(target)
        volume.refresh()

    def test_recorded_for_the_volume_itself(self) -> None:
        volume = self.made_volume()
        target = self.made_volume(base.ASKED)
        self.driver.delete_volume(volume)
        self._completed(volume, target, 'available')
        self.assertEqual([volume.name], self.cluster.names())
        self.assertEqual('8', self.recorded(volume)[keys.STRIPE_COUNT])

    def test_acceptances_are_those_of_the_new_volume(self) -> None:
        volume = self.made_volume({keys.CACHE_MODE: 'none'})
        target = self.made_volume({keys.COMPRESSION_HINT: 'none'})
        self.driver.update_migrated_volume(
            self.admin, volume, target, 'in-use'
        )
        self.assertEqual(
            {keys.COMPRESSION_HINT: 'none'},
            volume_items.values_accepted(self.recorded(volume)),
        )

    def test_limits_are_those_of_the_image_when_cinder_has_swapped_columns(
        self,
    ) -> None:
        volume = self.made_volume({'rbd:iops_limit': '700'})
        target = self.made_volume({'rbd:iops_limit': '500'})
        # Loaded before its image was recorded, as in the manager.
        volume = objects.Volume.get_by_id(self.admin, volume.id)
        self.driver.delete_volume(volume)
        self._completed(volume, target, 'available')
        recorded = self.recorded(volume)
        self.assertEqual('500', recorded['rbd:iops_limit'])
        accepted = volume_items.values_accepted(recorded)
        self.assertEqual('500', accepted.get('rbd:iops_limit'))

    def test_in_use(self) -> None:
        """The image of a volume in use keeps the name of the target."""
        volume = self.made_volume()
        target = self.made_volume(base.ASKED)
        self._completed(volume, target, 'in-use')
        self.assertEqual(target.id, volume.name_id)
        self.assertEqual('8', self.recorded(volume)[keys.STRIPE_COUNT])

    def _taken_over(self, volume: Any, target: Any, status: str) -> Any:
        return self.driver.update_migrated_volume(
            self.admin, volume, target, status
        )

    def test_only_the_image_of_a_volume_in_use_is_taken_over_without_the_lock(
        self,
    ) -> None:
        """Nova has already connected the servers to it."""
        volume = self.new_volume(base.ASKED)
        target = self.made_volume(base.ASKED)
        lock = self.useFixture(
            fixtures.MockPatchObject(
                locks,
                'exclusive',
                autospec=True,
                side_effect=locks.VolumeLocked(volume_id=volume.id),
            )
        ).mock
        update = self._taken_over(volume, target, 'in-use')
        self.assertEqual(target.id, update['_name_id'])
        lock.assert_not_called()
        self.assertRaises(
            locks.VolumeLocked,
            self._taken_over,
            *(volume, target, 'available'),
        )
        self.assertEqual([target.name], self.cluster.names())
        # Cinder's manager waits for 60 seconds by default.
        self.assertGreater(60, lock.call_args.args[2])

    def test_name_is_not_taken_while_a_former_image_is_deleted(self) -> None:
        """Its deletion would remove the image that gets the name."""
        volume = self.new_volume(base.ASKED)
        target = self.made_volume(base.ASKED)
        with mock.patch.object(
            locks,
            'name',
            autospec=True,
            side_effect=locks.VolumeLocked(volume_id=volume.id),
        ):
            self.assertRaises(
                locks.VolumeLocked,
                self._taken_over,
                *(volume, target, 'available'),
            )
        self.assertEqual([target.name], self.cluster.names())

    def test_only_the_record_of_a_volume_in_use_may_fail(self) -> None:
        volume = self.new_volume(base.ASKED)
        target = self.made_volume(base.ASKED)
        slow = fake_images.Timeout('slow')
        self.cluster.fail('Image.features', slow)
        update = self._taken_over(volume, target, 'in-use')
        self.assertEqual(target.id, update['_name_id'])
        self.cluster.fail('Image.features', slow)
        error = self.raised(self._taken_over, volume, target, 'available')
        self.assertIs(slow, error)
        self.assertEqual([target.name], self.cluster.names())
