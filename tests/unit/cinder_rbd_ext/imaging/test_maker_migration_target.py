# SPDX-License-Identifier: Apache-2.0

"""Volumes that Cinder creates as migration targets."""

from typing import Any

from cinder import objects
import ddt

from cinder_rbd_ext.imaging import maker
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests import feature_bits
from tests.unit.cinder_rbd_ext import base

_HERE = 'host@volumes2#volumes2'


@ddt.ddt
class ArrivalsTest(base.DriverTestCase):
    """Images that the target's driver creates."""

    def setUp(self) -> None:
        super().setUp()
        self.strict = self.make_driver(
            rbd_pool='volumes2',
            rbd_tenant_options='',
            rbd_max_stripe_count=4,
            rbd_volume_data_pool='data',
        )

    def _arrived(
        self,
        source: Any,
        metadata: dict[str, str],
        volume_type: Any,
        status: str = 'target:',
    ) -> Any:
        if status == 'target:':
            status += source.id
        target = self.new_volume(
            metadata, volume_type, migration_status=status, host=_HERE
        )
        self.update(target, self.strict.create_volume(target))
        return objects.Volume.get_by_id(self.admin, target.id)

    def test_as_it_is(self) -> None:
        same = self.make_type()
        source = self.made_volume(base.ASKED, same)
        target = self._arrived(source, base.ASKED, same)
        self.assertEqual(base.MADE, self.layout_of(target.name, 'volumes2'))
        self.assertEqual(base.ASKED, target.metadata)
        self.assertEqual(
            'host@volumes2', self.recorded(target)['rbd:recorded_by']
        )
        self.assertEqual('data', self.recorded(target)[keys.DATA_POOL])

    def test_values_are_accepted_as_they_were_on_the_source(self) -> None:
        """One of them was set past the API extension."""
        same = self.make_type()
        source = self.made_volume({keys.CACHE_MODE: 'none'}, same)
        metadata = {
            keys.CACHE_MODE: 'none',
            keys.COMPRESSION_HINT: 'compressible',
        }
        target = self._arrived(source, metadata, same)
        self.assertEqual(metadata, target.metadata)
        self.assertEqual(
            {keys.CACHE_MODE: 'none'},
            volume_items.values_accepted(self.recorded(target)),
        )

    def test_source_is_read_once(self) -> None:
        same = self.make_type()
        source = self.made_volume(base.ASKED, same)
        read = self.mock_object(
            maker,
            'arrival_of',
            autospec=True,
            side_effect=maker.arrival_of,
        )
        self._arrived(source, base.ASKED, same)
        self.assertEqual(1, read.call_count)

    def test_layout_and_features_without_keys(self) -> None:
        same = self.make_type()
        source = self.made_volume(
            {**base.ASKED, keys.FEATURES: 'layering'}, same
        )
        clone = self.new_volume(None, same)
        self.update(clone, self.driver.create_cloned_volume(clone, source))
        target = self._arrived(clone, {}, same)
        self.assertEqual(base.MADE, self.layout_of(target.name, 'volumes2'))
        stored = self.cluster.stored(target.name, 'volumes2')
        self.assertEqual(
            feature_bits.LAYERING
            | feature_bits.STRIPING
            | feature_bits.DATA_POOL,
            stored.mask,
        )

    def test_features_that_multiattach_took(self) -> None:
        shared = self.make_type(multiattach='<is> True')
        source = self.made_volume(None, shared)
        target = self._arrived(source, {}, shared)
        self.assertIn('saved_features', target.provider_location)
        stored = self.cluster.stored(target.name, 'volumes2')
        self.assertEqual(
            feature_bits.LAYERING
            | feature_bits.DEEP_FLATTEN
            | feature_bits.DATA_POOL,
            stored.mask,
        )

    def test_record_of_another_back_end(self) -> None:
        same = self.make_type()
        source = self.made_volume(base.ASKED, same)
        source.host = 'host@stock#stock'
        source.save()
        target = self._arrived(source, {}, same)
        self.assertEqual(
            (22, 1 << 22, 1), self.layout_of(target.name, 'volumes2')
        )

    def test_other_type(self) -> None:
        """Keys that the type does not allow are removed and not applied."""
        source = self.made_volume(base.ASKED, self.make_type())
        target = self._arrived(
            source, {**base.ASKED, 'a': 'b'}, self.make_type()
        )
        self.assertEqual({'a': 'b'}, target.metadata)
        self.assertEqual(
            (22, 1 << 22, 1), self.layout_of(target.name, 'volumes2')
        )
        self.assertIn('removed keys that its volume type', self.log.output)

    @ddt.data('', 'migrating', 'success')
    def test_no_target(self, status: str) -> None:
        error = self.raised(
            self._arrived, None, base.ASKED, self.make_type(), status
        )
        self.assertIn('tenants may not set this key', str(error))
