# SPDX-License-Identifier: Apache-2.0

import contextlib
import types
from typing import Any

import ddt
import hypothesis

from rbd_volume_options import image_configuration
from tests.unit import untrusted
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

    @hypothesis.given(untrusted.BYTES, untrusted.BYTES)
    @hypothesis.example(b'\xff', b'\xff')
    def test_any_bytes_in_a_pool_are_a_setting(
        self, ident: bytes, value: bytes
    ) -> None:
        """They decide on an attachment, which must not fail for them."""
        values = [('metadata_conf_rbd_cache', value)]
        ioctx: Any = types.SimpleNamespace(
            read=lambda key: b'\x04\0\0\0' + ident,
            get_omap_vals_by_keys=lambda operation, names: (values, 0),
            operate_read_op=lambda operation, key: None,
        )
        rados = types.SimpleNamespace(ReadOpCtx=contextlib.nullcontext)
        stored = image_configuration.stored_cache(rados, ioctx, 'a')
        self.assertIsInstance(stored, bool)

    def test_found_on_the_pool(self) -> None:
        self.cluster.pools['volumes'].config['rbd_cache'] = 'false'
        image = self.image()
        self.assertIs(False, image_configuration.cache_of_image(image))
        image.metadata_set('conf_rbd_cache', 'true')
        self.assertIs(True, image_configuration.cache_of_image(image))
