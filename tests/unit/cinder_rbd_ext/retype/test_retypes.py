# SPDX-License-Identifier: Apache-2.0

"""Retypes on a fake cluster: features in place, and refusals.

Copies are tested on real Ceph (:mod:`tests.functional`).
"""

from typing import Any
from unittest import mock

from cinder import exception
from cinder.db import api as db
from cinder.tests.unit import utils as cinder_utils
import ddt

from cinder_rbd_ext import admission
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from rbd_volume_options import errors
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests import feature_bits
from tests.unit import recorded
from tests.unit.cinder_rbd_ext import base

_LOCK, _MAP = feature_bits.LOCK, feature_bits.MAP


@ddt.ddt
class RetypeTest(base.DriverTestCase):
    def _retype(self, volume: Any, **specs: str) -> Any:
        new_type = self.make_type(**specs)
        with self.retyping(volume):
            moved, update = self.driver.retype(
                self.context, volume, new_type, {}, None
            )
        self.update(volume, update)
        return moved

    def _mask(self, volume: Any) -> int:
        return int(self.cluster.stored(volume.name).mask)

    def test_volume_with_an_attachment_is_not_converted_after_a_reset(
        self,
    ) -> None:
        """Its server may start at any moment."""
        volume = self.made_volume()
        cinder_utils.attach_volume(
            self.admin, volume, volume.id, 'compute', '/dev/vdb'
        )
        self.update(volume, {'status': 'available'})
        moved = self._retype(
            volume, rbd_stripe_unit='64K', rbd_stripe_count='8'
        )
        self.assertFalse(moved)
        self.assertEqual(
            image_handles.IN_USE,
            recorded.refused(record.items_of(volume.id), 'change of layout'),
        )

    def test_layout_that_does_not_fit_the_size_is_refused(self) -> None:
        """The layout of the type does not fit the size of the volume."""
        volume = self.made_volume({keys.OBJECT_MAP: 'true'})
        self.assertRaises(
            exceptions.VolumeOptionRefused,
            self._retype,
            volume,
            rbd_stripe_unit='64K',
            rbd_stripe_count='3',
        )
        self.assertNotEqual(0, self._mask(volume) & _MAP)

    def test_key_that_multiattach_excludes(self) -> None:
        volume = self.made_volume({keys.OBJECT_MAP: 'true', 'a': 'b'})
        self.assertTrue(self._retype(volume, multiattach='<is> True'))
        self.assertEqual(0, self._mask(volume) & (_LOCK | _MAP))
        self.assertEqual({'a': 'b'}, self._metadata(volume))
        self.assertIn('removed keys that its volume type', self.log.output)

    def _metadata(self, volume: Any) -> dict[str, str]:
        return dict(db.volume_metadata_get(self.admin, volume.id))

    def test_keys_that_are_not_for_tenants(self) -> None:
        locked = {'rbd_tenant_options': ''}
        volume = self.made_volume({keys.CACHE_MODE: 'none'})
        self.assertTrue(self._retype(volume, **locked))
        self.assertEqual({}, self._metadata(volume))

    def test_value_of_a_key_that_was_removed_is_not_accepted_later(
        self,
    ) -> None:
        """Also if an API node without the extension removed the key."""
        mode = {keys.CACHE_MODE: 'none'}
        volume = self.made_volume({**mode, keys.COMPRESSION_HINT: 'none'})
        db.volume_metadata_delete(self.admin, volume.id, keys.CACHE_MODE)
        self.assertTrue(
            self._retype(volume, rbd_tenant_options=keys.COMPRESSION_HINT)
        )
        self.assertEqual(
            {keys.COMPRESSION_HINT: 'none'},
            volume_items.values_accepted(record.items_of(volume.id)),
        )

    @ddt.data(False, True)
    def test_retype_of_a_volume_that_was_given_back_ends(
        self, is_marked: bool
    ) -> None:
        """It was waiting, and the volume may be in use.

        Cinder's manager would migrate the volume after an ``Exception``.
        """
        volume = self.made_volume()
        before = self._mask(volume)
        alone = replacement.alone

        def given_back(*args: Any) -> Any:
            if not is_marked:
                # Another service has settled the marker.
                record.write(volume.id, {}, image_record.MARKER_RECORDS)
            status = {'status': 'in-use'}
            db.volume_update(self.admin, volume.id, status)
            return alone(*args)

        with mock.patch.object(replacement, 'alone', given_back):
            self.assertRaises(
                exception.VolumeBackendAPIException,
                self._retype,
                volume,
                rbd_object_map='false',
            )
        self.assertEqual(before, self._mask(volume))
        self.assertIsNone(marker.of_volume(volume.id))

    def test_limit_that_the_stock_driver_cannot_set_is_found_before_a_copy(
        self,
    ) -> None:
        volume = self.made_volume()
        kind = self.make_type(rbd_stripe_unit='64K', rbd_stripe_count='8')
        kind = self.qos_type(kind, total_iops_sec='1e3')
        with self.retyping(volume):
            done = self.driver.retype(self.admin, volume, kind, {}, None)
        self.assertEqual((False, None), done)
        self.assertIn(
            "total_iops_sec = '1e3', which is not a whole number",
            recorded.refused(record.items_of(volume.id), 'change of layout')
            or '',
        )

    def test_refused_copy_is_not_made_by_cinder_either(self) -> None:
        volume = self.made_volume()
        self.driver._replacements.places._places = admission.Places(1, 1)
        self.driver._replacements.places._places._free.take('b')
        self.driver._replacements.places._places._waiting.take('b')
        self.assertFalse(self._retype(volume, rbd_object_size='1M'))
        target = self.new_volume(migration_status=f'target:{volume.id}')
        # The request of its migration, with the same object.
        error = self.assertRaises(
            commit.CopyFailed,
            self.driver.before_volume_copy,
            self.admin,
            volume,
            target,
        )
        self.assertEqual(admission.TOO_MANY, str(error))

    @ddt.data(None, '{}')
    def test_nothing_saved(self, location: str | None) -> None:
        volume = self.made_volume(
            volume_type=self.make_type(rbd_features='layering')
        )
        volume.provider_location = location
        self.assertEqual(
            {'provider_location': None},
            self.driver._disable_multiattach(volume),
        )
        self.assertEqual(feature_bits.LAYERING, self._mask(volume))


class DefaultFeaturesTest(base.DriverTestCase):
    def test_recorded_as_requested_by_nobody(self) -> None:
        """The former type requested fewer features than the default."""
        volume = self.made_volume(
            volume_type=self.make_type(rbd_features='layering')
        )
        locked = self.make_type(rbd_tenant_options='')
        with self.retyping(volume):
            done, _ = self.driver.retype(
                self.context, volume, locked, {}, None
            )
        self.assertTrue(done)
        stored = self.cluster.stored(volume.name)
        self.assertEqual(_MAP, int(stored.mask) & _MAP)
        self.assertEqual([0], [stored.flags])
        origins = image_record.origins(record.stored(volume.id)) or {}
        self.assertEqual(errors.Origin.CLUSTER, origins[keys.FEATURES])


class LimitsTest(base.DriverTestCase):
    """The stock driver removes each limit that the former QoS specs set."""

    def test_key_that_replaces_qos_specs_does_not_prevent_a_retype(
        self,
    ) -> None:
        """The burst of the QoS specs is not in the image, so cannot go."""
        limits = {'total_iops_sec': '500', 'total_iops_sec_max': '900'}
        volume = self.made_volume(
            {'rbd:iops_limit': '200'}, self.qos_type(**limits)
        )
        self.update(volume, {'status': 'retyping'})
        changed: dict[str, Any] = {
            name: (value, None) for name, value in limits.items()
        }
        changed['consumer'] = ('back-end', 'front-end')
        retyped, _ = self.driver.retype(
            self.context,
            volume,
            self.make_type(),
            {'qos_specs': changed},
            None,
        )
        self.assertTrue(retyped)
        stored = self.cluster.stored(volume.name).metadata
        self.assertEqual(
            {'conf_rbd_qos_iops_limit': '200'},
            {k: v for k, v in stored.items() if 'qos' in k},
        )
