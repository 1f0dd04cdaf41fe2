# SPDX-License-Identifier: Apache-2.0

from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.unit import base


class KeysTestCase(base.TestCase):
    def test_each_key_has_the_prefix_and_fits_in_the_database(self) -> None:
        for key in (keys.TENANT_OPTIONS, *registry.OPTIONS):
            self.assertTrue(key.startswith(keys.PREFIX), key)
            self.assertLess(len(key), keys.MAX_NAME)
