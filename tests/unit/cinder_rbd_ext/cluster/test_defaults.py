# SPDX-License-Identifier: Apache-2.0

from cinder.volume.drivers import rbd

from cinder_rbd_ext.cluster import defaults
from rbd_volume_options import layout
from tests.unit.cinder_rbd_ext import base


class DefaultsTest(base.DriverTestCase):
    def _defaults(self, with_striping: bool = True) -> defaults.Defaults:
        with rbd.RADOSClient(self.driver) as client:
            return defaults.of_client(self.driver, client, with_striping)

    def test_of_a_back_end(self) -> None:
        ceph = self._defaults()
        self.assertIn('layering', ceph.image_features or ())
        self.assertIsNone(ceph.striping)

    def test_striping_of_the_cluster(self) -> None:
        config = self.cluster.pools['volumes'].config
        config['rbd_default_stripe_unit'] = '65536'
        config['rbd_default_stripe_count'] = '8'
        striping = layout.Striping(65536, 8)
        self.assertEqual(striping, self._defaults().striping)
        self.assertIsNone(self._defaults(with_striping=False).striping)
