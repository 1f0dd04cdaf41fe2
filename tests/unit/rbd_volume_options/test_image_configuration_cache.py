# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import image_configuration
from tests.unit.rbd_volume_options import test_image_handles


@ddt.ddt
class CacheOverrideTest(test_image_handles.ImagesTestCase):
    @ddt.data(
        ('true', True),
        ('FALSE', False),
        ('1', True),
        ('0', False),
        ('10', True),
        ('-1', True),
    )
    @ddt.unpack
    def test_reads_setting_of_image(self, value: str, cached: bool) -> None:
        image = self.image()
        self.assertIsNone(image_configuration.cache_of_image(image))
        image.metadata_set('conf_rbd_cache', value)
        self.assertIs(cached, image_configuration.cache_of_image(image))

    def test_found_on_the_pool(self) -> None:
        self.cluster.pools['volumes'].config['rbd_cache'] = 'false'
        image = self.image()
        self.assertIs(False, image_configuration.cache_of_image(image))
        image.metadata_set('conf_rbd_cache', 'true')
        self.assertIs(True, image_configuration.cache_of_image(image))
