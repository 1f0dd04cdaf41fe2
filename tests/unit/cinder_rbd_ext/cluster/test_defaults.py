# SPDX-License-Identifier: Apache-2.0

from cinder_rbd_ext.cluster import defaults
from rbd_volume_options import layout
from tests.unit.cinder_rbd_ext import base


class DefaultsTest(base.DriverTestCase):
    def test_of_a_back_end(self) -> None:
        found = defaults.of_back_end(self.driver)
        self.assertIn('layering', found.image_features or ())
        self.assertIsNone(found.striping)

    def test_striping_of_the_cluster(self) -> None:
        config = self.cluster.pools['volumes'].config
        config['rbd_default_stripe_unit'] = '65536'
        config['rbd_default_stripe_count'] = '8'
        striping = layout.Striping(65536, 8)
        self.assertEqual(striping, defaults.of_back_end(self.driver).striping)
        found = defaults.of_back_end(self.driver, with_striping=False)
        self.assertIsNone(found.striping)

    def test_unknown_defaults_have_no_features(self) -> None:
        found = defaults.of_back_end(self.driver).image(1 << 20)
        self.assertEqual(1 << 20, found.layout.object_size)
        self.assertEqual(
            frozenset(), defaults.UNKNOWN.image(1 << 20).image_features
        )
